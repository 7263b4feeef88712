//! Bursts of segmentation offload. TCP's are sized and deferred as in Linux (6.12,
//! `net/ipv4/tcp_output.c`); QUIC's are batches of UDP GSO.

use sojourn_cc::{Controller, Pacing};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::write_queue::{Queued, WriteQueue};
use super::{Poll, Sender};
use crate::choices::{Profile, TsoDefer};

/// `sk_pacing_shift`: a burst lasts 2^-10 s at the pacing rate.
const PACING_SHIFT: u32 = 10;
/// `tcp_tso_rtt_log`: the allowance of a near peer halves with every 2^9 us.
const NEAR: Duration = Duration::from_micros(1 << 9);
/// `tcp_min_tso_segs`.
const LEAST: u64 = 2;
/// `bbr_min_tso_rate`: a controller that paces below this rate sends single packets.
const SINGLE_BELOW: Rate = Rate(1_200_000);
/// `tcp_tso_win_divisor`: a burst leaves once this part of the window is free.
const WIN_DIVISOR: u64 = 3;
/// A burst waits for more room only if the last packet left this recently (`tcp_tso_should_defer`).
const RECENT: Duration = Duration::from_millis(1);
/// Greatest distance of an acknowledgement for which a burst waits in Linux 6.18.
const SOON: Duration = Duration::from_millis(1);

/// The burst under way.
#[derive(Debug)]
pub(super) struct Tso {
    /// Greatest burst, in bytes of payload; zero disables bursts.
    greatest: Bytes,
    /// Size of the last burst in packets; zero before the first, and if bursts are off.
    packets: u64,
    /// Packets of the current burst that have not left.
    left: u64,
    /// Outside recovery no burst has data of two of its buffers.
    queue: WriteQueue,
}

impl Tso {
    pub(super) fn new(greatest: Bytes) -> Tso {
        Tso { greatest, packets: 0, left: 0, queue: WriteQueue::default() }
    }

    /// Whether the next packet belongs to a burst that has started.
    #[inline]
    pub(super) fn is_under_way(&self) -> bool {
        self.left > 0
    }

    /// Returns whether the packet was the last one of a burst of several.
    #[inline]
    pub(super) fn on_sent(&mut self) -> bool {
        let is_end = self.left == 1 && self.packets > 1;
        self.left = self.left.saturating_sub(1);
        is_end
    }

    /// Ends a burst for lack of data or window.
    #[inline]
    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// The unit that the pacer spaces: the last burst, or a packet.
    #[inline]
    pub(super) fn spaced(&self, mss: Bytes) -> Bytes {
        mss * self.packets.max(1)
    }
}

impl<C: Controller> Sender<C> {
    /// Why the next burst waits although the pacer lets it go.
    #[inline]
    pub(super) fn begin_burst(&mut self, now: Instant) -> Option<Poll> {
        if self.tso.greatest == Bytes::ZERO {
            return None;
        }
        let goal = self.burst_goal().min(self.buffered_packets());
        if self.should_defer(now, goal) {
            if self.window_room() < self.receive_room() {
                self.usage.fill(self.next_number);
            } else {
                self.note_use();
            }
            return Some(Poll::Blocked);
        }
        let packets = goal.min(self.burst_quota());
        (self.tso.packets, self.tso.left) = (packets, packets);
        None
    }

    /// Whether a burst keeps its departure time when the rate rises, as in Linux (`tcp_wstamp_ns`
    /// never moves back), which BBR relies on. A batch of QUIC at a low rate takes too long for
    /// this; at rate zero it would wait for ever.
    #[inline]
    pub(super) fn burst_has_its_time(&self) -> bool {
        self.tso.greatest > Bytes::ZERO
            && self.config.profile == Profile::Tcp
            && self.pacer.next() < Instant::MAX
    }

    /// Packets left in the write queue's first buffer. Linux fills each with as much as the greatest
    /// burst, and at most half of the greatest receive window (`tcp_xmit_size_goal`,
    /// `tcp_bound_to_half_wnd`), which is that of the handshake at first: its field has 16 bits (RFC
    /// 7323 section 2.2). The rest of a buffer leaves as a burst of its own, often of one packet,
    /// after which acknowledgements no longer cover whole bursts.
    fn buffered_packets(&mut self) -> u64 {
        if self.config.profile == Profile::Quic || self.scoreboard.lost_bytes() > 0 {
            return u64::MAX;
        }
        let mss = self.config.mss.0;
        let from = self.scoreboard.base_offset().unwrap_or(self.offset);
        let window = self.config.window_limit();
        let window = if from == 0 { window.min(u64::from(u16::MAX)) } else { window };
        let most = (self.tso.greatest.0.min(window / 2) / mss).max(1) * mss;
        let queued = Queued { from, sent: self.offset, cwnd: self.cwnd().0, mss };
        self.tso.queue.fill(queued, most, self.written);
        match self.tso.queue.first(self.offset).div_ceil(mss) {
            0 => u64::MAX,
            packets => packets,
        }
    }

    /// Target size of a burst in packets (`tcp_tso_segs`). A QUIC stack fills its batch at any
    /// rate. A controller that sets a gap for each packet has no bursts.
    ///
    /// Deviation (Linux 6.12 `tcp_tso_segs`): every controller that sets a rate sends single
    /// packets below 1.2 Mbit/s; in Linux only BBR does.
    fn burst_goal(&self) -> u64 {
        let mss = self.config.mss.0;
        let greatest = (self.tso.greatest.0 / mss).max(1);
        if matches!(self.limits.pacing, Pacing::Gap(_)) {
            return 1;
        }
        let Some(rate) = self.sizing_rate().filter(|_| self.config.profile == Profile::Tcp) else {
            return greatest;
        };
        let paces = matches!(self.limits.pacing, Pacing::Rate(_));
        let least = if paces && rate < SINGLE_BELOW { 1 } else { LEAST };
        let bytes = ((rate.0 / 8) >> PACING_SHIFT) + self.near_allowance();
        (bytes / mss).max(least).min(greatest)
    }

    /// Extra burst size for near peers, whose losses are repaired soon (`tcp_tso_autosize`, since
    /// Linux 5.18).
    fn near_allowance(&self) -> u64 {
        let halvings = self.rtt.min.0 / NEAR.0;
        if halvings < 64 { self.tso.greatest.0 >> halvings } else { 0 }
    }

    /// `sk_pacing_rate`, which sizes bursts even if it does not pace them
    /// (`tcp_update_pacing_rate`). It is twice the window a round trip in slow start, and 1.2 times
    /// from half the threshold on. The window is the current one, which a reduction may set, or the
    /// bytes in flight if these are more. `None` before the first sample.
    fn sizing_rate(&self) -> Option<Rate> {
        let measured = self.rtt.srtt > Duration::ZERO;
        self.pacing_rate().or_else(|| {
            let cwnd = self.cwnd();
            let ssthresh = self.controller.probe().ssthresh.unwrap_or(Bytes::MAX);
            let percent = if cwnd < ssthresh / 2 { 200 } else { 120 };
            let window = cwnd.max(Bytes(self.scoreboard.in_flight));
            measured.then(|| Rate::from_transfer(window * percent / 100, self.rtt.srtt))
        })
    }

    /// Whether a packet may leave while `queued` bytes of this connection wait in its host, in
    /// packets with headers (`tcp_small_queue_check`; setting `small_queues`, which is for flows that are
    /// not paced). A packet may always
    /// leave while at most one is outstanding. Retransmissions, which leave before new data, have
    /// twice the limit (`tcp_xmit_retransmit_queue`).
    ///
    /// Deviation (Linux `tcp_small_queue_check`): `small_queues` alone sets a limit.
    /// It counts IP packets with the link's overhead in the first link of the path, its ring and
    /// the packet in transmission included; Linux counts memory. A held flow sends again when a
    /// packet leaves the interface; Linux's tasklet may run later.
    pub fn may_queue(&self, queued: Bytes) -> bool {
        let Some(most) = self.config.small_queues else { return true };
        let header = self.config.header * self.tso.packets.max(1);
        let two_bursts = (self.tso.spaced(self.config.mss) + header) * 2;
        let span = self.sizing_rate().map_or(u64::MAX, |rate| (rate.0 / 8) >> PACING_SHIFT);
        let factor = if self.scoreboard.lost_bytes() > 0 { 2 } else { 1 };
        let limit = two_bursts.max(Bytes(span));
        let paces = self.limits.pacing != Pacing::Unpaced;
        let limit = if paces { limit } else { limit.min(most) } * factor;
        queued <= limit || self.scoreboard.len() <= 1 || self.tso.is_under_way()
    }

    /// Room in the congestion window, in bytes.
    fn window_room(&self) -> u64 {
        self.cwnd().0.saturating_sub(self.scoreboard.in_flight)
    }

    /// Room in the receive window, in bytes.
    pub(super) fn receive_room(&self) -> u64 {
        let base = self.scoreboard.base_offset().unwrap_or(self.offset);
        self.config.window_limit().saturating_sub(self.offset - base)
    }

    /// Packets of the window that one burst may use: the free part, in TCP at most half of the
    /// whole (`tcp_cwnd_test`).
    fn burst_quota(&self) -> u64 {
        let free = self.window_room();
        let bytes = match self.config.profile {
            Profile::Tcp => free.min(self.cwnd().0 / 2),
            Profile::Quic => free,
        };
        (bytes / self.config.mss.0).max(1)
    }

    /// Whether to wait for an acknowledgement that lets a whole burst go (`tcp_tso_should_defer`).
    /// Waiting is useless if all unsent data already fits.
    ///
    /// Deviation (Linux `tcp_tso_should_defer`): a partial burst does not wait if the sender has no
    /// other data, and a burst may hold new data behind retransmitted data. The
    /// acknowledgement must be due within half a round trip; releases since October 2025 also want
    /// it within 1 ms (`tso_defer` of `linux-6.18`).
    fn should_defer(&self, now: Instant, goal: u64) -> bool {
        let last = self.sent_at.max(self.pacer.next());
        let mends = self.episode.is_recovery() || self.scoreboard.lost_bytes() > 0;
        if self.config.profile == Profile::Quic || mends || now.since(last) > RECENT {
            return false;
        }
        let room = self.window_room().min(self.receive_room());
        let wanted = (goal * self.config.mss.0).min(self.written - self.offset);
        let chunk = self.cwnd().0.min(self.config.window_limit()) / WIN_DIVISOR;
        if room >= wanted || room >= chunk {
            return false;
        }
        let half = self.rtt.srtt / 2;
        let soon = match self.config.tso_defer {
            TsoDefer::Linux612 => half,
            TsoDefer::Linux618 => half.min(SOON),
        };
        // The next acknowledgement is for the oldest packet in flight.
        let oldest = self.scoreboard.base_sent_at();
        oldest.is_some_and(|sent_at| now.since(sent_at) + soon >= self.rtt.srtt)
    }
}
