//! The punctuality of a run's links, and their counts.

use sojourn_trace::Histogram;
use sojourn_units::Duration;

/// The punctuality of a run.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Time from each packet's ideal time of arrival until the write of its group has returned: the
    /// receiving host has processed the packet by then. With the kernel's links, the delay of each
    /// reading of their queues, and the time from each change's due time until `tc` has made it.
    pub lateness: Histogram,
    /// Time from each packet's ideal time of arrival until the write of its group has begun, without
    /// the receiving host's work. Empty with the kernel's links.
    pub departure: Histogram,
    /// Whether the links were the kernel's.
    pub is_kernel: bool,
    /// Whether the dropped packets of each flow are estimates: the kernel's links copied packets, of
    /// several flows, and count all copies together.
    pub estimates_flow_drops: bool,
    /// The reason why veth pairs replaced TUN devices; `None` with TUN devices, and with the
    /// kernel's links.
    pub no_tun: Option<String>,
    /// Whether the thread had real-time priority.
    pub is_realtime: bool,
    /// Whether the memory of the process was locked.
    pub is_locked: bool,
    /// Processor time that the machine's hypervisor gave to others during the run (steal time).
    pub stolen: Duration,
    /// Time that the thread spent spinning for the next event.
    pub spun: Duration,
}

impl Timing {
    /// The reasons why punctuality is not to be expected on this machine, if there are any.
    pub fn note(&self) -> Option<String> {
        let no_tun = self.no_tun.as_ref().map(|fault| format!("no TUN device ({fault})"));
        let no_priority = (!self.is_realtime).then(|| "no real-time priority".to_owned());
        let reasons: Vec<String> = no_tun.into_iter().chain(no_priority).collect();
        let reasons = reasons.join(", ");
        (!reasons.is_empty()).then(|| format!("the timing is not guaranteed: {reasons}"))
    }

    /// A message with the fault and a remedy if more than 1 % of the packets were late by more than
    /// `tolerance`.
    pub fn warning(&self, tolerance: Duration) -> Option<String> {
        let late = Duration(self.lateness.quantile(0.99)?);
        let rounded = Duration(late.0.next_multiple_of(100_000));
        if late <= tolerance {
            return None;
        }
        let stolen = format!(
            "the hypervisor gave {} of processor time to other machines; repeat the run",
            Duration(self.stolen.0.next_multiple_of(10_000_000))
        );
        let remedy = match (self.is_realtime, self.stolen) {
            (false, _) => "run as root, for real-time priority",
            (true, Duration::ZERO) => "run with less load on the machine, or at a lower rate",
            (true, _) => stolen.as_str(),
        };
        let events = if self.is_kernel { "readings of the queues" } else { "packets" };
        Some(format!("1 % of the {events} were about {rounded} late or more: {remedy}"))
    }
}

/// Counts of packets beside those of the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// IP packets that hosts sent into the links.
    pub entered: u64,
    /// IP packets written to hosts.
    pub delivered: u64,
    /// Writes to hosts: fewer than packets, because neighbours of one flow are written together.
    pub writes: u64,
    /// Packets of hosts that belong to no flow, such as those of IPv6's neighbour discovery, or
    /// that the links cannot carry.
    pub foreign: u64,
    /// Packets that the kernel dropped because this process did not read in time.
    pub overflowed: u64,
    /// Packets that a host's device refused.
    pub refused: u64,
    /// Packets on the links at the end of the run.
    pub inside: u64,
    /// Bytes of the IP packets that arrived for the senders' and the receivers' hosts.
    pub arrived_bytes: [u64; 2],
}
