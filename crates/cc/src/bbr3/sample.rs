//! Information from one acknowledgement, in the draft's terms (sections 2.2 and 2.3).

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::Bbr3;
use super::ecn::Marks;
use crate::contract::Feedback;

/// The rate sample RS, and state of the connection C.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Instant,
    /// `RS.newly_acked`.
    pub(super) newly_acked: Bytes,
    /// `RS.rtt`.
    pub(super) rtt: Option<Duration>,
    /// `RS.delivery_rate`; zero without a reliable sample.
    pub(super) delivery_rate: Rate,
    /// `RS.delivered`.
    pub(super) delivered: Bytes,
    /// `RS.prior_delivered`; `None` without a sample.
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.5.1): an acknowledgement without a delivery-rate
    /// sample does not end a round trip, as in Linux (`bbr_update_congestion_signals`). The draft
    /// sets the value even then.
    pub(super) prior_delivered: Option<Bytes>,
    /// Data in flight and losses since the sampled packet was sent.
    pub(super) loss: LossSample,
    /// Whether the application limited the sampled packet; `RS.is_app_limited` also has the marks of a
    /// ProbeRTT.
    pub(super) is_limited_by_app: bool,
    /// `C.inflight`, before this acknowledgement and after it.
    pub(super) in_flight_before: Bytes,
    pub(super) in_flight: Bytes,
    /// Delivered and marked packets when the sampled packet left.
    pub(super) marks: Option<Marks>,
    /// `C.is_cwnd_limited`.
    pub(super) is_cwnd_limited: bool,
    /// Number of the next packet to leave.
    pub(super) next_number: u64,
}

/// The part of RS that determines the loss rate, for the newest acknowledged packet or for
/// a lost one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossSample {
    /// `RS.tx_in_flight`.
    pub(super) tx_in_flight: Bytes,
    /// `RS.lost`.
    pub(super) lost: Bytes,
    /// `RS.is_app_limited`.
    pub(super) is_app_limited: bool,
}

impl Bbr3 {
    /// `GenerateRateSample`, from the transport's rate sample (section 4.1.2.3) and the
    /// packet's recorded state.
    pub(super) fn sample(&self, now: Instant, feedback: &Feedback<'_>) -> Sample {
        let rate = feedback.rate.filter(|rate| rate.interval > Duration::ZERO);
        let (mut loss, mut marks) = (LossSample::default(), None);
        if let Some(rate) = feedback.rate {
            let packet = self.packets.get(rate.number).unwrap_or_default();
            loss.tx_in_flight = packet.tx_in_flight;
            loss.lost = self.lost.saturating_sub(packet.lost);
            loss.is_app_limited = rate.app_limited || packet.is_app_limited;
            marks = (packet.size > 0).then_some(packet.marks);
            if packet.size == 0 {
                // The packet is no longer recorded, so its losses are unknown.
                loss.lost = Bytes::ZERO;
            }
        }
        Sample {
            now,
            newly_acked: feedback.acked,
            rtt: feedback.rtt,
            delivery_rate: rate.map_or(Rate::ZERO, |rate| rate.rate()),
            delivered: feedback.rate.map_or(Bytes::ZERO, |rate| rate.delivered),
            prior_delivered: feedback.rate.map(|rate| rate.prior_delivered),
            loss,
            is_limited_by_app: feedback.rate.is_some_and(|rate| rate.app_limited),
            marks,
            in_flight_before: feedback.in_flight_before,
            in_flight: feedback.in_flight,
            is_cwnd_limited: feedback.cwnd_filled,
            next_number: feedback.next_number,
        }
    }
}
