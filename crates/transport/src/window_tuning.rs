//! Receive windows that the receiver raises (setting `initial_receive_window`).
//!
//! TCP follows Linux up to 6.15 (`tcp_rcv_space_adjust`, dynamic right-sizing: Fisk and Feng 2001), or
//! 6.18 ([`crate::receive_buffer`]); QUIC the rule of Chromium and quic-go: RFC 9000 section 4.2 leaves
//! the rule to the receiver.

use std::collections::VecDeque;

use sojourn_units::{Bytes, Duration, Instant};

use crate::choices::{Profile, WindowTuning};
use crate::config::Config;
use crate::reassembly::{Arrival, Reassembly};
use crate::receive_buffer::Buffer;
use crate::wire::{Data, WindowUpdate};

/// `TCP_INIT_CWND`: packets that Linux expects in the first round trip.
pub(crate) const FIRST_ROUND: u64 = 10;
/// Packets that Linux adds to the window of two round trips.
const CUSHION: u64 = 16;
/// Linux replaces a sample of zero by its unit.
const LEAST_RTT: Duration = Duration::from_micros(1);

/// The receiver's window.
#[derive(Debug)]
pub(crate) enum Tuner {
    /// It grows when acknowledgements leave.
    ByAcks(ByAcks),
    /// It grows when packets arrive.
    ByPackets(Buffer),
}

impl Tuner {
    /// The state of a receiver that raises its window; `None` if the window is fixed.
    pub(crate) fn new(config: &Config) -> Option<Box<Tuner>> {
        let window = config.tuned_window()?.0;
        Some(Box::new(match (config.profile, config.window_tuning) {
            (Profile::Tcp, WindowTuning::Linux618) => Tuner::ByPackets(Buffer::new(config, window)),
            _ => Tuner::ByAcks(ByAcks::new(config, window)),
        }))
    }

    /// Whether [`Tuner::on_data`] has work for each packet.
    pub(crate) fn is_by_packets(&self) -> bool {
        matches!(self, Tuner::ByPackets(_))
    }

    /// See [`crate::Receiver::on_established`].
    pub(crate) fn on_established(&mut self, now: Instant, rtt: Duration) {
        if let Tuner::ByPackets(buffer) = self {
            buffer.on_established(now, rtt);
        }
    }

    /// A packet arrives whose sender had last received an acknowledgement that left at `echo`.
    pub(crate) fn on_echo(&mut self, now: Instant, echo: Instant, len: u32) {
        match self {
            Tuner::ByAcks(window) => window.on_echo(now, echo, len),
            Tuner::ByPackets(buffer) => buffer.on_echo(now, echo, len),
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
        match self {
            Tuner::ByAcks(_) => false,
            Tuner::ByPackets(buffer) => buffer.on_data(now, data, arrival, all),
        }
    }

    /// The window that an acknowledgement at `now` announces. `read`: bytes in order so far, which
    /// the application has read.
    pub(crate) fn announce(&mut self, now: Instant, read: u64) -> WindowUpdate {
        let window = match self {
            Tuner::ByAcks(window) => window.announce(now, read),
            Tuner::ByPackets(buffer) => buffer.announced(),
        };
        WindowUpdate { window, sent_at: now }
    }
}

/// A window that grows when acknowledgements leave.
///
/// Deviation (Linux 6.15 `tcp_rcv_space_adjust`): TCP's window counts bytes of payload, and
/// decisions fall when an acknowledgement leaves, with timestamps of nanoseconds. Linux counts
/// memory, of which headers take a part.
/// Deviation (quic-go `maybeAdjustWindowSize`): QUIC's limit is renewed by each acknowledgement,
/// whose frames take no bytes, and each data packet gives a sample of the round-trip time. Stacks
/// send MAX_DATA after a quarter of the window or more, and again if it is lost, and measure by
/// acknowledgements of their own packets.
#[derive(Debug)]
pub(crate) struct ByAcks {
    /// The announced window, and its maximum, in bytes.
    window: u64,
    most: u64,
    /// Smoothed round-trip time as the receiver measures it; `None` before the first sample.
    rtt: Option<Duration>,
    /// The last echo (`rcv_rtt_last_tsecr`).
    echo: Option<Instant>,
    /// Start of the measurement of read bytes, and the bytes read before; `None` before the first
    /// data.
    epoch: Option<(Instant, u64)>,
    /// Bytes read up to the last acknowledgement.
    read: u64,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    /// Linux.
    RightSizing(RightSizing),
    /// Chromium's `QuicFlowController::MaybeIncreaseMaxWindowSize`, quic-go's
    /// `maybeAdjustWindowSize`: a window of which more than half is read in two round trips
    /// doubles.
    Doubling,
}

#[derive(Debug)]
struct RightSizing {
    /// Payload of a full packet.
    mss: u64,
    /// `window_clamp`: the window that the buffer allows.
    clamp: u64,
    /// `rcvq_space.space`: bytes read in the greatest round trip so far.
    space: u64,
    probe: WindowProbe,
}

/// Measurement of the round-trip time without timestamps: the position up to which a whole window has
/// arrived, and the start (`tcp_rcv_rtt_measure`).
#[derive(Debug, Default)]
pub(crate) struct WindowProbe(Option<(u64, Instant)>);

impl WindowProbe {
    /// So many bytes have `arrived`. A whole window takes a round trip or longer, so its time may only
    /// lower the estimate.
    pub(crate) fn on_arrival(
        &mut self,
        now: Instant,
        arrived: u64,
        window: u64,
        rtt: &mut Option<Duration>,
    ) {
        let (end, began) = *self.0.get_or_insert((arrived.saturating_add(window), now));
        if arrived < end {
            return;
        }
        let sample = now.since(began).max(LEAST_RTT);
        *rtt = Some(rtt.map_or(sample, |rtt| rtt.min(sample)));
        self.0 = Some((arrived.saturating_add(window), now));
    }
}

impl ByAcks {
    fn new(config: &Config, window: u64) -> ByAcks {
        let mss = config.mss.0;
        let rule = match config.profile {
            // `tcp_init_buffer_space`.
            Profile::Tcp => Rule::RightSizing(RightSizing {
                mss,
                clamp: window,
                space: window.min(FIRST_ROUND * mss),
                probe: WindowProbe::default(),
            }),
            Profile::Quic => Rule::Doubling,
        };
        let most = config.window_limit();
        ByAcks { window, most, rtt: None, echo: None, epoch: None, read: 0, rule }
    }

    /// An echo: TCP's of a timestamp (`tcp_rcv_rtt_measure_ts`), QUIC's acknowledgement of MAX_DATA.
    /// Only the first packet with an echo measures a round trip: later ones may have waited for the
    /// application or the pacer. Linux ignores packets that are not full (`rcv_mss`), too. `len`:
    /// payload in bytes.
    fn on_echo(&mut self, now: Instant, echo: Instant, len: u32) {
        let is_short = matches!(&self.rule, Rule::RightSizing(rule) if u64::from(len) < rule.mss);
        if self.echo.replace(echo) == Some(echo) || is_short {
            return;
        }
        let sample = now.since(echo).max(LEAST_RTT);
        self.rtt = Some(self.rtt.map_or(sample, |rtt| Duration((7 * rtt.0 + sample.0) / 8)));
    }

    fn announce(&mut self, now: Instant, read: u64) -> Bytes {
        let new = read - std::mem::replace(&mut self.read, read);
        if new > 0 {
            let epoch = *self.epoch.get_or_insert((now, 0));
            match &mut self.rule {
                Rule::RightSizing(rule) => {
                    rule.probe.on_arrival(now, read, self.window, &mut self.rtt);
                    // Deviation (Linux 6.15 `tcp_grow_window`): the window grows by two bytes for
                    // each byte in order; Linux's by two packets for each that arrives.
                    self.window = (self.window.saturating_add(2 * new)).min(rule.clamp);
                    if self.rtt.is_some_and(|rtt| now.since(epoch.0) >= rtt) {
                        rule.adjust(read - epoch.1, self.most);
                        self.epoch = Some((now, read));
                    }
                }
                Rule::Doubling => self.double(now, read, epoch),
            }
        }
        Bytes(self.window)
    }

    fn double(&mut self, now: Instant, read: u64, (began, before): (Instant, u64)) {
        let (read_now, Some(rtt)) = (read - before, self.rtt) else { return };
        if read_now <= self.window / 2 {
            return;
        }
        let elapsed = u128::from(now.since(began).0) * u128::from(self.window);
        if elapsed < 4 * u128::from(read_now) * u128::from(rtt.0) {
            self.window = self.window.saturating_mul(2).min(self.most);
        }
        self.epoch = Some((now, read));
    }
}

impl RightSizing {
    /// Sizes the buffer after a round trip in which the application read `copied` bytes: twice as
    /// much for losses, 16 packets for variation, and twice the relative growth since the last
    /// greatest round trip for a sender in slow start.
    fn adjust(&mut self, copied: u64, most: u64) {
        if copied <= self.space {
            return;
        }
        let (copied_wide, space) = (u128::from(copied), u128::from(self.space));
        let base = 2 * copied_wide + u128::from(CUSHION * self.mss);
        let target = base + 2 * (base * (copied_wide - space) / space.max(1));
        let target = u64::try_from(target).unwrap_or(u64::MAX).min(most);
        self.clamp = self.clamp.max(target);
        self.space = copied;
    }
}

/// The sender's record of announced windows, and of the acknowledgements that its packets echo.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// Departure of the newest acknowledgement received (`TS.Recent`, RFC 7323 section 4.3).
    recent: Option<Instant>,
    /// First packet number with each echo.
    echoes: VecDeque<(u64, Instant)>,
    /// Place of the last echo asked for: packets arrive in order but for a few.
    place: usize,
}

impl Announced {
    /// An acknowledgement arrives, before packet `next`; `largest`: the greatest packet number
    /// acknowledged.
    pub(crate) fn on_ack(&mut self, update: &WindowUpdate, next: u64, largest: u64) {
        let sent_at = update.sent_at;
        if self.recent.is_some_and(|recent| recent >= sent_at) {
            return;
        }
        self.recent = Some(sent_at);
        if self.echoes.back().is_some_and(|(first, _)| *first == next) {
            self.echoes.pop_back();
        }
        self.echoes.push_back((next, sent_at));
        while self.echoes.get(1).is_some_and(|(first, _)| *first <= largest) {
            self.echoes.pop_front();
            self.place = self.place.saturating_sub(1);
        }
    }

    /// Departure of the acknowledgement that packet `number` echoes. `None` before the first
    /// acknowledgement, and for packets far below the greatest acknowledged number.
    #[inline]
    pub(crate) fn echo(&mut self, number: u64) -> Option<Instant> {
        let begins =
            |place: usize| self.echoes.get(place).is_some_and(|(first, _)| *first <= number);
        let mut place = self.place;
        while begins(place + 1) {
            place += 1;
        }
        if !begins(place) {
            place = self.echoes.partition_point(|(first, _)| *first <= number).checked_sub(1)?;
        }
        self.place = place;
        self.echoes.get(place).map(|(_, at)| *at)
    }
}
