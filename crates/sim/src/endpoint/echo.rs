//! ICMP echo requests, their replies (RFC 792), and their round-trip times.

use std::collections::VecDeque;

use sojourn_scenario::source::{Action, IP_HEADER, Source, Transfers};
use sojourn_trace::Histogram;
use sojourn_units::{Duration, Instant};

use super::counts::Counts;
use super::{Datagram, Endpoint, Report, Setup};
use crate::peak::Peak;

/// Greatest number of requests that wait for a reply; beyond it, the oldest is given up. The
/// sequence number of RFC 792 has 16 bits, so more could not be distinguished.
const MOST_WAITING: usize = 1 << 16;

/// The endpoint of a flow of echo requests.
pub(crate) struct Echo {
    source: Box<dyn Source>,
    counts: Counts,
    replies: Replies,
}

/// The requests of a sender, and the results of their replies.
#[derive(Debug, Default)]
struct Replies {
    /// Number and departure of the requests without a reply: the latest [`MOST_WAITING`].
    waiting: VecDeque<(u32, Instant)>,
    count: u64,
    rtts: Histogram,
    /// Greatest round-trip time since the last sample of the series.
    longest: Peak,
}

impl Echo {
    pub(crate) fn new(setup: &Setup<'_>) -> Echo {
        Echo {
            source: setup.source(),
            counts: Counts::new(setup, IP_HEADER.0 as u32),
            replies: Replies::default(),
        }
    }
}

impl Endpoint for Echo {
    fn next_at(&self) -> Instant {
        self.source.next_at()
    }

    fn act(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let (Action::Write(bytes)
        | Action::Request(bytes)
        | Action::Transfer(bytes)
        | Action::Frame { bytes, .. }) = self.source.act(now);
        let request = self.counts.send(bytes);
        self.replies.on_request(now, request.number);
        out.push(request);
    }

    /// The other end answers a request at once.
    fn receive(&mut self, now: Instant, datagram: &Datagram, out: &mut Vec<Datagram>) {
        if datagram.is_reply {
            return self.replies.on_reply(now, datagram.number);
        }
        self.counts.receive(datagram);
        out.push(Datagram { is_reply: true, ..*datagram });
    }

    fn on_dropped(&mut self, _: &Datagram) {
        self.counts.dropped += 1;
    }

    fn report(&self) -> Report<'_> {
        Report {
            transfers: Transfers { completed: self.replies.count, completed_at: None },
            rtts: Some(&self.replies.rtts),
            ..Report::of(&self.counts)
        }
    }

    fn take_longest_rtt(&mut self) -> Option<Duration> {
        self.replies.longest.take()
    }

    fn begin_measuring(&mut self) {
        self.replies.rtts = Histogram::default();
    }
}

impl Replies {
    /// Request `number` leaves.
    fn on_request(&mut self, now: Instant, number: u32) {
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((number, now));
    }

    /// Processes the reply to request `number`, which may have overtaken others. Ignores requests
    /// that were given up or already answered.
    fn on_reply(&mut self, now: Instant, number: u32) {
        let Some((first, _)) = self.waiting.front() else { return };
        // Numbers ascend from the first, modulo 2^32.
        let after = |n: u32| n.wrapping_sub(*first);
        let Ok(place) = self.waiting.binary_search_by_key(&after(number), |(n, _)| after(*n))
        else {
            return;
        };
        if let Some((_, sent_at)) = self.waiting.remove(place) {
            let rtt = now.since(sent_at);
            self.count += 1;
            self.rtts.record(rtt.0);
            self.longest.note(rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path without replies costs no more for a long run.
    #[test]
    fn the_oldest_of_many_requests_is_given_up() {
        let mut replies = Replies::default();
        let most = MOST_WAITING as u32;
        for number in 1..=3 * most {
            replies.on_request(Instant(u64::from(number)), number);
        }
        assert_eq!(replies.waiting.len(), MOST_WAITING);
        // The reply is too late, and removes no waiting request.
        replies.on_reply(Instant(u64::from(4 * most)), 2 * most);
        assert_eq!((replies.count, replies.waiting.len()), (0, MOST_WAITING));
        replies.on_reply(Instant(u64::from(4 * most)), 2 * most + 1);
        assert_eq!((replies.count, replies.waiting.len()), (1, MOST_WAITING - 1));
        assert_eq!(replies.longest.take().map(|rtt| rtt.0), Some(u64::from(2 * most - 1)));
    }
}
