//! The room that the flows of a run need on this machine.

use sojourn_scenario::Flow;
use sojourn_scenario::source::Carrier;
use sojourn_units::Bytes;

use crate::error::Error;
use crate::machine::addresses::HOSTS;
use crate::machine::limits::{Left, left};
use crate::order::{Links, Order, Stack};

/// The need of a flow while it runs, measured as the growth from 10 to 50 flows of one kind: of the
/// peak of memory, by `/usr/bin/time -v sojourn live SCENARIO.toml [--stack udp]`, of the files in
/// `/proc/PID/fd` and of the threads in `/proc/PID/status`.
#[derive(Clone, Copy)]
struct Need {
    /// Memory without the stacks of threads.
    memory: Bytes,
    /// Open files.
    files: u64,
    threads: u64,
}

/// The need of a run without flows, by the same commands.
const RUN: Need = Need { memory: Bytes(24_000_000), files: 16, threads: 8 };
const TCP: Need = Need { memory: Bytes(350_000), files: 3, threads: 2 };
const TCP_REQUESTS: Need = Need { memory: Bytes(650_000), files: 3, threads: 3 };
const ECHO: Need = Need { memory: Bytes(1_200_000), files: 1, threads: 2 };
const UDP: Need = Need { memory: Bytes(1_500_000), files: 4, threads: 2 };
/// Files and frames, whose source waits for their delivery.
const UDP_TRANSFERS: Need = Need { memory: Bytes(1_500_000), files: 5, threads: 3 };
const UDP_REQUESTS: Need = Need { memory: Bytes(1_800_000), files: 10, threads: 5 };
const QUIC: Need = Need { memory: Bytes(650_000), files: 6, threads: 3 };
/// The stack of a thread, whose pages all are in memory if this process locks it.
const STACK: Bytes = Bytes(2 << 20);

/// Refuses a run whose flows need more than this machine has left, before anything is changed.
pub(crate) fn require(order: &Order<'_>) -> Result<(), Error> {
    refuse(order, left())
}

fn refuse(order: &Order<'_>, left: Left) -> Result<(), Error> {
    let flows = order.scenario.flows.len();
    let each = order.flows().enumerate();
    let each = each.map(|(index, (flow, control))| of(order, index, flow, control.is_some()));
    let all = each.fold(RUN, Need::with);
    let stacks =
        if order.options.links == Links::Sojourn { STACK * all.threads } else { Bytes::ZERO };
    let memory = all.memory + stacks + sojourn_sim::kept(order.scenario, true);
    let no_room =
        |need: String, limit: String, remedy| Err(Error::NoRoom { flows, need, limit, remedy });
    if flows > HOSTS {
        let limit = format!("a network of a run has {HOSTS}");
        return no_room(format!("{flows} addresses"), limit, "use fewer flows");
    }
    if memory > left.memory {
        let limit = format!("{} are available", rounded(left.memory));
        return no_room(format!("{} of memory", rounded(memory)), limit, "use fewer flows");
    }
    if all.files > left.files {
        let limit = format!("the limit leaves {}", left.files);
        return no_room(format!("{} open files", all.files), limit, "raise it (ulimit -n)");
    }
    if all.threads > left.threads {
        let limit = format!("the kernel leaves {}", left.threads);
        let remedy = "raise the sysctl kernel.pid_max or kernel.threads-max";
        return no_room(format!("{} threads", all.threads), limit, remedy);
    }
    Ok(())
}

impl Need {
    fn with(self, flow: Need) -> Need {
        Need {
            memory: self.memory + flow.memory,
            files: self.files + flow.files,
            threads: self.threads + flow.threads,
        }
    }
}

/// The need of a flow on its stack.
fn of(order: &Order<'_>, index: usize, flow: &Flow, has_controller: bool) -> Need {
    let carrier = flow.source.carrier();
    match order.options.stack {
        _ if flow.stack.is_some() => QUIC,
        _ if carrier == Carrier::Echo => ECHO,
        // Its hosts are simulated.
        _ if !has_controller => Need { memory: Bytes::ZERO, files: 0, threads: 0 },
        Stack::Kernel if carrier == Carrier::Requests => TCP_REQUESTS,
        Stack::Kernel => TCP,
        Stack::Udp if carrier == Carrier::Requests => UDP_REQUESTS,
        Stack::Udp if order.source(index).target().is_some() => UDP_TRANSFERS,
        Stack::Udp => UDP,
    }
}

/// Three digits are enough for an estimate.
fn rounded(bytes: Bytes) -> Bytes {
    let unit = 10_u64.pow(bytes.0.max(1).ilog10().saturating_sub(2));
    Bytes(bytes.0.next_multiple_of(unit))
}

#[cfg(test)]
mod tests {
    use sojourn_scenario::Document;

    use super::*;
    use crate::order::options::Options;

    const PLENTY: Left = Left { memory: Bytes::MAX, files: u64::MAX, threads: u64::MAX };

    fn refusal(flows: u32, left: Left, options: &Options) -> Option<String> {
        let text = format!(
            "duration = \"1s\"\n[link.there]\ndelay = \"1ms\"\n[flow.bulk]\npath = [\"there\"]\n\
             control = \"cubic\"\ncount = {flows}\n"
        );
        let document = Document::from_toml("flows.toml", &text).expect("it is TOML");
        let none = |_: &str| Err(std::io::Error::other("no files"));
        let scenario = document.resolve(&none).expect("it is sound");
        let order = Order::new(&scenario, None, 1, options);
        refuse(&order, left).err().map(|error| error.to_string())
    }

    #[test]
    fn each_limit_is_named_with_the_need_and_a_remedy() {
        let memory = Left { memory: Bytes(1_534_000_000), ..PLENTY };
        let files = Left { files: 1_020, ..PLENTY };
        let threads = Left { threads: 900, ..PLENTY };
        for (left, named) in [
            (memory, "GB of memory and 1.54GB are available; use fewer flows"),
            (files, "1516 open files and the limit leaves 1020; raise it (ulimit -n)"),
            (threads, "1008 threads and the kernel leaves 900; raise the sysctl kernel.pid_max"),
        ] {
            let text = refusal(500, left, &Options::default()).expect("it is refused");
            assert!(text.starts_with("500 flows need about ") && text.contains(named), "{text}");
        }
        assert_eq!(refusal(500, PLENTY, &Options::default()), None);
        let text = refusal(70_000, PLENTY, &Options::default()).expect("it is refused");
        assert!(text.contains("70000 addresses"), "{text}");
    }

    /// Only the links of this process lock the stacks of threads.
    #[test]
    fn the_kernels_links_need_less_memory() {
        let left = Left { memory: Bytes(500_000_000), ..PLENTY };
        let kernel = Options { links: Links::Kernel, ..Options::default() };
        assert!(refusal(500, left, &Options::default()).is_some());
        assert_eq!(refusal(500, left, &kernel), None);
    }
}
