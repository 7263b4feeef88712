//! The parts of the kernel that a plan uses, each with a command that tries it.

use crate::machine::IpVersion;

use super::link::KernelLink;
use super::places::Place;
use super::step::Step;

/// A module of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Its name for `modprobe`.
    pub(crate) module: String,
    /// A command that uses it in an empty namespace.
    pub(crate) attempt: Step,
}

/// The needs of these links.
pub(crate) fn of(links: &[KernelLink], version: IpVersion) -> Vec<Need> {
    let ip = |module, arguments: &str| need(module, Step::ip(Place::Router, arguments));
    let tc = |module, arguments: String| need(module, Step::tc(Place::Router, arguments));
    let mut needs = vec![ip("veth", "link add veth0 type veth peer name veth1")];
    if links.iter().any(KernelLink::is_shaped) {
        let protocol = if version == IpVersion::V4 { "ip" } else { "ipv6" };
        let mirror = format!(
            "filter add dev lo ingress protocol {protocol} u32 match u32 0 0 \
             action mirred egress mirror dev lo drop"
        );
        needs.push(tc("sch_ingress", "qdisc add dev lo ingress".to_owned()));
        needs.push(tc("cls_u32 or act_mirred", mirror));
        needs.push(tc("sch_htb", "qdisc replace dev lo root htb".to_owned()));
    }
    for queue in links.iter().filter_map(KernelLink::queue_at_start) {
        let kind = queue.split(' ').next().unwrap_or_default();
        let module = if kind.contains("fifo") { "fifo" } else { kind };
        let found = need(&format!("sch_{module}"), attempt(&queue));
        if !needs.iter().any(|need| need.module == found.module) {
            needs.push(found);
        }
    }
    if links.iter().any(KernelLink::has_wire) {
        needs.push(need("sch_netem", attempt("netem delay 1ms")));
    }
    needs
}

fn attempt(queue: &str) -> Step {
    Step::tc(Place::Router, format!("qdisc replace dev lo root {queue}"))
}

fn need(module: &str, attempt: Step) -> Need {
    Need { module: module.to_owned(), attempt }
}
