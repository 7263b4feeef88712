//! QUIC's acknowledgement frequency (draft-ietf-quic-ack-frequency): requests of a sender, and
//! their effect on the receiver.

use sojourn_units::{Bytes, Duration};

use crate::config::Config;
use crate::ranges::RangeSet;

/// Greatest delay that a frame may request: 2^14 ms is invalid (section 4).
const MOST_DELAY: Duration = Duration::from_millis((1 << 14) - 1);
/// `kPacketThreshold` (RFC 9002 section 6.1.1).
const LOSS_THRESHOLD: u64 = 3;
/// An update is due if a value has changed by more than one part in this many. Section 8.1 leaves
/// the rule to implementations.
const RELEVANT: u64 = 4;

/// An ACK_FREQUENCY frame (section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    /// Its sequence number.
    pub sequence: u64,
    /// Packets received without an acknowledgement, at most.
    pub threshold: u64,
    /// Requested `max_ack_delay`.
    pub max_delay: Duration,
    /// Reordering that causes an acknowledgement at once; zero turns it off.
    pub reordering: u64,
}

/// The frames of a packet that ask for acknowledgements.
///
/// Deviation (draft-ietf-quic-ack-frequency): ACK_FREQUENCY and IMMEDIATE_ACK take no bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFrames {
    /// ACK_FREQUENCY.
    pub request: Option<AckRequest>,
    /// IMMEDIATE_ACK (section 5).
    pub immediate: bool,
}

/// The requests of a sender.
#[derive(Debug)]
pub(crate) struct Requester {
    acks_per_rtt: u64,
    reordering: u64,
    min_ack_delay: Duration,
    /// Whether probes ask for an acknowledgement at once.
    is_immediate: bool,
    next_sequence: u64,
    /// The last request that was decided on.
    wanted: Option<AckRequest>,
    /// The `max_ack_delay` that the receiver has confirmed.
    confirmed: Duration,
    is_due: bool,
    /// The frames in flight, by the number of their packet.
    in_flight: Vec<(u64, AckFrames)>,
}

impl Requester {
    /// The state of a sender with requests; `None` without.
    pub(crate) fn new(config: &Config) -> Option<Box<Requester>> {
        let asks = config.ack_frequency > 0 || config.immediate_ack;
        asks.then(|| {
            Box::new(Requester {
                acks_per_rtt: config.ack_frequency,
                reordering: config.ack_reordering,
                min_ack_delay: config.min_ack_delay,
                is_immediate: config.immediate_ack,
                next_sequence: 0,
                wanted: None,
                confirmed: config.ack_delay,
                is_due: false,
                in_flight: Vec::new(),
            })
        })
    }

    /// A round trip has ended. Decides on a request by the window and the smoothed round-trip time
    /// (section 8.1).
    pub(crate) fn on_round(&mut self, cwnd: Bytes, mss: Bytes, srtt: Duration) {
        if self.acks_per_rtt == 0 || srtt == Duration::ZERO {
            return;
        }
        let packets = cwnd.0 / mss.0.max(1) / self.acks_per_rtt;
        // A threshold of n lets n packets arrive, and the next one causes an acknowledgement.
        let threshold = packets.saturating_sub(1).max(1);
        let max_delay = (srtt / self.acks_per_rtt).max(self.min_ack_delay).min(MOST_DELAY);
        let is_same = self.wanted.is_some_and(|last| {
            is_close(threshold, last.threshold) && is_close(max_delay.0, last.max_delay.0)
        });
        if is_same {
            return;
        }
        let (sequence, reordering) = (self.next_sequence, self.reordering);
        self.wanted = Some(AckRequest { sequence, threshold, max_delay, reordering });
        self.is_due = true;
    }

    /// Packet `number` leaves, as a probe if `is_probe`, with the frames that are due.
    pub(crate) fn on_sent(&mut self, number: u64, is_probe: bool) {
        let is_due = std::mem::take(&mut self.is_due);
        let request = self.wanted.filter(|_| is_due);
        let request = request.map(|wanted| AckRequest { sequence: self.next_sequence, ..wanted });
        self.next_sequence += u64::from(request.is_some());
        let frames = AckFrames { request, immediate: is_probe && self.is_immediate };
        if frames != AckFrames::default() {
            self.in_flight.push((number, frames));
        }
    }

    /// The frames of packet `number`.
    pub(crate) fn frames(&self, number: u64) -> Option<AckFrames> {
        self.in_flight.iter().find(|(packet, _)| *packet == number).map(|(_, frames)| *frames)
    }

    /// Packet `number` was acknowledged.
    pub(crate) fn on_acked(&mut self, number: u64) {
        let Some(place) = self.in_flight.iter().position(|(packet, _)| *packet == number) else {
            return;
        };
        let (_, frames) = self.in_flight.remove(place);
        if let Some(request) = frames.request {
            self.confirmed = request.max_delay;
        }
    }

    /// Packets up to `largest` were acknowledged or are likely lost. Sends the newest request again
    /// if its packet is lost (section 4).
    pub(crate) fn on_feedback(&mut self, largest: u64) {
        let newest = self.next_sequence.saturating_sub(1);
        let mut is_lost = false;
        self.in_flight.retain(|(packet, frames)| {
            let stays = packet + LOSS_THRESHOLD > largest;
            is_lost |= !stays && frames.request.is_some_and(|r| r.sequence == newest);
            stays
        });
        self.is_due |= is_lost;
    }

    /// The receiver's `max_ack_delay` for the probe timeout: the greatest of the one in effect and
    /// those in flight (section 7).
    pub(crate) fn max_ack_delay(&self) -> Duration {
        let asked = self.in_flight.iter().filter_map(|(_, frames)| frames.request);
        asked.map(|request| request.max_delay).fold(self.confirmed, Duration::max)
    }
}

/// Whether two values differ by so little that no update is due.
fn is_close(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= other / RELEVANT
}

/// The state of a receiver that has received a request.
#[derive(Debug)]
pub(crate) struct Responder {
    request: AckRequest,
    /// Packet numbers received that may still show a gap to report.
    received: RangeSet,
    /// Greatest number received, and greatest number acknowledged.
    largest: u64,
    largest_acked: u64,
}

impl Responder {
    /// The state from the first request on. `largest`: greatest packet number before it;
    /// packets below count as reported.
    pub(crate) fn new(request: AckRequest, largest: u64) -> Responder {
        let mut received = RangeSet::default();
        received.insert(0, largest + 1, |_, _| {});
        Responder { request, received, largest, largest_acked: largest }
    }

    /// A further request arrives. An older one has no effect (section 4).
    pub(crate) fn update(&mut self, request: AckRequest) {
        if request.sequence > self.request.sequence {
            self.request = request;
        }
    }

    /// The request in effect.
    pub(crate) fn request(&self) -> &AckRequest {
        &self.request
    }

    /// Packet `number` arrives. Returns whether reordering demands an acknowledgement at once
    /// (section 6.2).
    pub(crate) fn on_packet(&mut self, number: u64) -> bool {
        let is_out_of_order = number != self.largest + 1;
        self.received.insert(number, number + 1, |_, _| {});
        self.largest = self.largest.max(number);
        match self.request.reordering {
            0 => false,
            1 => is_out_of_order,
            reordering => {
                // Largest Reported: up to it, packets may already count as lost.
                let reported = (self.largest_acked + 1).saturating_sub(reordering);
                // The sender may have declared it lost.
                let is_late = is_out_of_order && number < reported;
                let missing = self.smallest_missing(reported);
                is_late || missing.is_some_and(|missing| self.largest - missing >= reordering)
            }
        }
    }

    /// The smallest number from `floor` on that has not arrived, below the greatest that has.
    fn smallest_missing(&mut self, floor: u64) -> Option<u64> {
        self.received.trim_below(floor);
        let missing = match self.received.highest_first().last() {
            Some((start, end)) if start <= floor => end,
            _ => floor,
        };
        (missing < self.largest).then_some(missing)
    }

    /// An acknowledgement leaves.
    pub(crate) fn on_ack(&mut self) {
        self.largest_acked = self.largest;
    }
}

#[cfg(test)]
mod tests {
    use super::{AckRequest, Responder};
    use sojourn_units::Duration;

    fn responder(reordering: u64) -> Responder {
        let max_delay = Duration::from_millis(25);
        Responder::new(AckRequest { sequence: 0, threshold: 100, max_delay, reordering }, 0)
    }

    /// The packets of `order` that cause an acknowledgement at once.
    fn answered(reordering: u64, order: &[u64]) -> Vec<u64> {
        let mut responder = responder(reordering);
        let answers = order.iter().copied().filter(|number| {
            let answers = responder.on_packet(*number);
            if answers {
                responder.on_ack();
            }
            answers
        });
        answers.collect()
    }

    /// Section 6.2.1: with a threshold of 3, packets 3 and 4 leave 2 unreported, and 5 makes it three
    /// late; after that acknowledgement, 6 and 7 are missing until 9 arrives.
    #[test]
    fn a_gap_is_reported_once_it_reaches_the_threshold() {
        assert_eq!(answered(3, &[1, 3, 4, 5, 8, 9, 10]), [5, 9, 10]);
        assert_eq!(answered(5, &[1, 3, 5, 6, 7, 9]), [7, 9]);
    }

    /// Section 6.2: a threshold of 1 reports any packet out of order, and 0 turns reports off.
    #[test]
    fn thresholds_of_one_and_zero() {
        assert_eq!(answered(1, &[1, 3, 4, 2, 5]), [3, 2]);
        assert_eq!(answered(0, &[1, 3, 9, 2]), [0_u64; 0]);
    }
}
