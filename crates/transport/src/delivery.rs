//! Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation-02).

use sojourn_cc::RateSample;
use sojourn_units::{Bytes, Duration, Instant};

use crate::newly::Newest;

/// The connection's delivery state.
#[derive(Debug, Default)]
pub struct Delivery {
    /// `C.delivered`.
    pub delivered: u64,
    /// `C.delivered_time`.
    delivered_at: Instant,
    /// `C.first_sent_time`.
    first_sent_at: Instant,
    /// `C.app_limited`: application-limited until this many bytes are delivered; 0 if not limited.
    app_limited_until: u64,
}

/// The delivery state when a packet left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// `P.delivered`.
    pub delivered: u64,
    /// `P.delivered_time`.
    pub delivered_at: Instant,
    /// `P.first_sent_time`.
    pub first_sent_at: Instant,
    /// `C.app_limited` at that time; `P.is_app_limited` if not zero. A whole word, like the other
    /// fields: a struct without padding is cheaper to copy.
    pub app_limited: u64,
}

impl Delivery {
    /// Section 3.2: a packet leaves. `idle`: SND.NXT = SND.UNA before it.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, idle: bool) -> Stamp {
        if idle {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until,
        }
    }

    /// Section 3.3: `bytes` were newly delivered.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, bytes: u64) {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }

    /// The sample of the newest delivered packet. `None` if its interval is shorter than the
    /// minimum round-trip time, which happens only if the acknowledgement of the original is taken
    /// for that of a retransmission (section 3.3).
    #[inline]
    pub fn sample(&mut self, newest: &Newest, min: Duration) -> Option<RateSample> {
        let Newest { number, sent_at, .. } = *newest;
        let stamp = newest.stamp?;
        let send_elapsed = sent_at.since(stamp.first_sent_at);
        let ack_elapsed = self.delivered_at.since(stamp.delivered_at);
        self.first_sent_at = sent_at;
        let interval = send_elapsed.max(ack_elapsed);
        if interval < min && min < Duration::MAX {
            return None;
        }
        Some(RateSample {
            delivered: Bytes(self.delivered - stamp.delivered),
            number,
            interval,
            prior_delivered: Bytes(stamp.delivered),
            app_limited: stamp.app_limited > 0,
        })
    }

    /// Section 3.4: the application has no data to send although the window has room.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }
}
