//! The receive buffer of Linux 6.18 (`window_tuning = "linux-6.18"`), in bytes of payload.
//!
//! Each packet may open the window (`tcp_grow_window`), and is then acknowledged at once. After each
//! round trip, the bytes read in it size the buffer (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`). The
//! application reads data in order at once, so that only data beyond a gap stay in the buffer.
//!
//! Deviation (Linux 6.18 `tcp_rcvbuf_grow`): the buffer counts payload. A packet's memory is that
//! of one from a TUN device: headers, 64 bytes of headroom and 320 of `skb_shared_info`, rounded up
//! to a power of two, and 256 of `sk_buff`. Drivers with pages use less.
//! Deviation (Linux 6.18): memory pressure is absent, the window is not rounded to its scale, and
//! immediate acknowledgements do not end while less than half of the buffer is free.

use sojourn_units::{Bytes, Duration, Instant};

use crate::config::Config;
use crate::reassembly::{Arrival, Reassembly};
use crate::window_tuning::{FIRST_ROUND, WindowProbe};
use crate::wire::Data;

/// A smaller packet does not open the window (`tcp_event_data_recv`).
const LEAST_LEN: u32 = 128;
/// The tick of TCP's timestamps (`TCP_TS_HZ`), in nanoseconds.
const TICK: u64 = 1_000_000;

/// `TCP_DEFAULT_SCALING_RATIO`: the part of the memory that counts as payload before the first data
/// packet, and its unit (`TCP_RMEM_TO_WIN_SCALE`).
const FIRST_RATIO: u64 = 128;
const RATIO_UNIT: u64 = 256;
/// Memory of a packet besides its bytes: headroom (`NET_SKB_PAD`), `skb_shared_info` and `sk_buff`.
const HEADROOM: u64 = 64;
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;

/// The receiver's buffer and window.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Payload of a full packet.
    mss: u32,
    /// `rcv_ssthresh`: the window.
    window: u64,
    /// `window_clamp`: the size of the buffer, and its maximum.
    size: u64,
    most: u64,
    /// `rcvq_space.space`: bytes read in the greatest round trip so far.
    space: u64,
    /// The round-trip time as the receiver measures it; `None` before the first sample.
    rtt: Option<Duration>,
    /// The last echo (`rcv_rtt_last_tsecr`).
    echo: Option<Instant>,
    /// Departure of the handshake's answer, which the first data echo; `None` after them.
    answered_at: Option<Instant>,
    probe: WindowProbe,
    /// Start of the measurement of read bytes, and the bytes read before; `None` before the connection
    /// is established.
    epoch: Option<(Instant, u64)>,
    /// Bytes read.
    read: u64,
    /// Bytes beyond a gap, and the end of the segments received.
    held: u64,
    end: u64,
}

impl Buffer {
    pub(crate) fn new(config: &Config, window: u64) -> Buffer {
        let mss = config.mss.0;
        // `tcp_select_initial_window`: whole packets.
        let window = if window > mss { window - window % mss } else { window };
        let most = config.window_limit();
        let size = (window.saturating_mul(ratio(config)) / FIRST_RATIO).min(most);
        Buffer {
            mss: mss as u32,
            window: window.min(size),
            size,
            most,
            space: window.min(FIRST_ROUND * mss).max(1),
            rtt: None,
            echo: None,
            answered_at: None,
            probe: WindowProbe::default(),
            epoch: None,
            read: 0,
            held: 0,
            end: 0,
        }
    }

    /// The handshake ends at `now`, this time after its answer left.
    pub(crate) fn on_established(&mut self, now: Instant, rtt: Duration) {
        self.answered_at = Some(Instant(now.0.saturating_sub(rtt.0)));
        self.epoch = Some((now, 0));
    }

    /// A packet arrives with the timestamp echo of an acknowledgement that left at `echo`. Only the
    /// first packet with an echo gives a sample (`tcp_rcv_rtt_measure_ts`).
    pub(crate) fn on_echo(&mut self, now: Instant, echo: Instant, len: u32) {
        if self.echo.replace(echo) != Some(echo) && len >= self.mss {
            self.measure(now, echo);
        }
    }

    /// `tcp_rcv_rtt_update`: a smaller sample replaces the estimate.
    fn measure(&mut self, now: Instant, echo: Instant) {
        let sample = Duration((now.0 / TICK - echo.0 / TICK) * TICK);
        if sample > Duration::ZERO {
            self.rtt = Some(match self.rtt {
                Some(rtt) if sample >= rtt => Duration((7 * rtt.0 + sample.0) / 8),
                _ => sample,
            });
        }
    }

    /// `data` arrive, and `all` has them. Returns whether they open the window, and are therefore
    /// acknowledged at once.
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        data: &Data,
        arrival: Arrival,
        all: &Reassembly,
    ) -> bool {
        if arrival == Arrival::Duplicate {
            return false;
        }
        if let Some(echo) = self.answered_at.take() {
            self.measure(now, echo);
        }
        self.end = self.end.max(data.segment + 1);
        let (bytes, read) = (u64::from(data.len), all.in_order_bytes());
        let new = read - std::mem::replace(&mut self.read, read);
        if new == 0 {
            let opens = self.grow(data.len, self.held);
            self.held += bytes;
            // `tcp_data_queue_ofo`: room for a round trip of data, and up to the last one beyond the gap.
            let beyond = (self.end - all.next()) * u64::from(self.mss);
            self.resize(2 * self.space, beyond);
            return opens;
        }
        self.probe.on_arrival(now, read - new + bytes, self.window, &mut self.rtt);
        let opens = self.grow(data.len, self.held + bytes);
        self.held -= new - bytes;
        let beyond = (self.end - all.next()) * u64::from(self.mss);
        self.adjust(now, beyond);
        opens
    }

    /// `tcp_grow_window`: a packet opens the window by two, if the buffer has room beside `used`
    /// bytes.
    ///
    /// Deviation (Linux 6.18 `__tcp_grow_window`): all packets from 128 bytes on open the window;
    /// Linux also compares the memory of short ones with the window.
    fn grow(&mut self, len: u32, used: u64) -> bool {
        let room = self.size.saturating_sub(used).saturating_sub(self.window);
        if room == 0 || len < LEAST_LEN {
            return false;
        }
        self.window += room.min(2 * u64::from(self.mss));
        true
    }

    /// `tcp_rcv_space_adjust`: after a round trip in which the application read more than before, twice
    /// as much, and twice the relative growth for a sender in slow start.
    fn adjust(&mut self, now: Instant, beyond: u64) {
        let (began, before) = *self.epoch.get_or_insert((now, 0));
        if self.rtt.is_none_or(|rtt| now.since(began) < rtt) {
            return;
        }
        self.epoch = Some((now, self.read));
        let copied = self.read - before;
        if copied > self.space {
            let growth = u128::from(2 * copied) * u128::from(copied - self.space);
            let growth = u64::try_from(2 * (growth / u128::from(self.space))).unwrap_or(u64::MAX);
            self.space = copied;
            self.resize((2 * copied).saturating_add(growth), beyond);
        }
    }

    /// `tcp_rcvbuf_grow`: with the data up to the last one beyond a gap.
    fn resize(&mut self, window: u64, beyond: u64) {
        self.size = self.size.max(window.saturating_add(beyond).min(self.most));
    }

    /// The window of an acknowledgement (`__tcp_select_window`).
    pub(crate) fn announced(&self) -> Bytes {
        Bytes(self.window.min(self.size.saturating_sub(self.held)))
    }
}

/// `tcp_measure_rcv_mss`: the part of a packet's memory that is payload, in 1/256. The kernel
/// allocates a power of two.
fn ratio(config: &Config) -> u64 {
    let bytes = HEADROOM + config.header.0 + config.mss.0 + SHARED_INFO;
    (RATIO_UNIT * config.mss.0 / (bytes.next_power_of_two() + SK_BUFF)).max(1)
}
