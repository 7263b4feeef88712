//! The coupled dual queue (RFC 9332): a queue for L4S traffic and one for
//! Classic traffic under one base probability.
//!
//! Both variants share this code: [`crate::dualpi2`] (the RFC's pseudocode) and
//! [`crate::dualpi2_linux`] (`net/sched/sch_dualpi2.c`). It holds the classifier, the
//! buffer, the PI controller ([`pi`]) and the scheduler ([`scheduler`]). Each variant
//! implements [`Judge`], which decides on a packet once the scheduler has chosen it.

use sojourn_units::{Ecn, Instant};

use crate::contract::{Backlog, DropReason, Drops, Limit, Packet, Queue, Setup};
use crate::fifo::Fifo;
use crate::slow_path::{SlowPath, drop_full};

pub(crate) mod declared;
pub(crate) mod pi;
mod scheduler;

use pi::{Law, Pi};
use scheduler::Scheduler;

/// The decision on a packet that the scheduler has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves unchanged.
    Pass,
    /// It leaves with CE.
    Mark,
    /// It is dropped, as a congestion signal.
    Drop,
}

/// The queue that a packet waited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Low latency: the L queue.
    L4s,
    /// The C queue.
    Classic,
}

/// The inputs of a judge: the controller's state and the backlog behind the chosen packet.
pub struct Case {
    /// The base probability p'.
    pub(crate) p: f64,
    /// The packet's sojourn time.
    pub(crate) sojourn: sojourn_units::Duration,
    /// Backlog of the packet's own queue, without it.
    pub(crate) behind: Backlog,
    /// Backlog of both queues, without it.
    pub(crate) behind_both: Backlog,
    /// The packet's ECN field.
    pub(crate) ecn: Ecn,
}

/// Decides at the dequeue whether a packet passes, is marked or is dropped.
pub trait Judge: Send {
    /// The law of the base probability.
    type Law: Law;
    /// Reads the queue's parameters.
    fn new(setup: &Setup) -> Self;
    /// Judges a packet of the L queue.
    fn l4s(&mut self, case: &Case) -> Verdict;
    /// Judges a packet of the C queue.
    fn classic(&mut self, case: &Case) -> Verdict;
}

/// Two FIFOs, coupled.
pub struct DualQ<P, J: Judge> {
    lq: Fifo<P>,
    cq: Fifo<P>,
    limit: Limit,
    pi: Pi<J::Law>,
    scheduler: Scheduler,
    judge: J,
}

impl<P: Packet, J: Judge> DualQ<P, J> {
    pub(crate) fn new(setup: &Setup) -> DualQ<P, J> {
        DualQ {
            lq: Fifo::new(),
            cq: Fifo::new(),
            limit: setup.limit,
            pi: Pi::new(&setup.params),
            scheduler: Scheduler::new(setup),
            judge: J::new(setup),
        }
    }

    fn total(&self) -> Backlog {
        let (l, c) = (self.lq.backlog(), self.cq.backlog());
        Backlog { packets: l.packets + c.packets, bytes: l.bytes + c.bytes }
    }

    /// Catches up on the updates of p' due by `now`. The queues have not changed since the
    /// last update.
    #[inline]
    fn update(&mut self, now: Instant) {
        if self.pi.is_due(now) {
            // The longer sojourn time of the two queues drives the controller, because L4S
            // traffic alone can be overload too (RFC 9332 appendix A.2, and Linux's
            // calculate_probability).
            let oldest = [&self.lq, &self.cq].into_iter().filter_map(Fifo::first);
            self.pi.update(now, oldest.map(P::enqueued_at).min());
        }
    }

    /// Judges a packet that was taken from the queue of `class`.
    fn judge(&mut self, now: Instant, class: Class, packet: &P) -> Verdict {
        let own = if class == Class::L4s { &self.lq } else { &self.cq };
        let case = Case {
            p: self.pi.p(),
            sojourn: now.since(packet.enqueued_at()),
            behind: own.backlog(),
            behind_both: self.total(),
            ecn: packet.ecn(),
        };
        match class {
            Class::L4s => self.judge.l4s(&case),
            Class::Classic => self.judge.classic(&case),
        }
    }

    /// `dualpi2_dequeue` of RFC 9332 appendix A.
    #[inline(never)]
    fn take(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        while let Some(class) = self.scheduler.choose(&self.lq, &self.cq) {
            let both_wait = self.lq.first().is_some() && self.cq.first().is_some();
            let own = if class == Class::L4s { &mut self.lq } else { &mut self.cq };
            let mut packet = own.pop()?;
            match self.judge(now, class, &packet) {
                Verdict::Drop => {
                    drops(packet, DropReason::Aqm);
                    continue;
                }
                Verdict::Mark => packet.mark_ce(),
                Verdict::Pass => {}
            }
            if both_wait {
                self.scheduler.sent(class, packet.size());
            }
            return Some(packet);
        }
        None
    }
}

impl<P: Packet + Send, J: Judge> Queue<P> for DualQ<P, J> {
    /// `dualpi2_enqueue` of RFC 9332 appendix A.1.
    ///
    /// Deviation (RFC 9332 appendix A.1): the limit counts the packet's own size, and not the MTU.
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
        self.update(now);
        if !self.limit.admits(self.total(), packet.size()) {
            return drop_full(&SlowPath(packet), drops);
        }
        // RFC 9331 section 5.1: ECT(1) and CE are L4S.
        match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.lq.push(now, packet),
            Ecn::NotEct | Ecn::Ect0 => self.cq.push(now, packet),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        self.update(now);
        self.take(now, drops)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.total()
    }
}
