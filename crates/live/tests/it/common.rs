//! Scenarios run live.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use sojourn_live::{Error, IpVersion, Options, Report};
use sojourn_scenario::{Document, Scenario};
use sojourn_sim::RunSummary;
use sojourn_units::Duration;

use crate::left_out::assert_refusal;

/// One run at a time: the bottlenecks of two would delay each other.
pub(crate) static ONE: Mutex<()> = Mutex::new(());

/// The scenario of a document, whose hosts ask for ECN and also suit Sojourn's transport.
pub(crate) fn scenario(text: &str) -> Scenario {
    let document =
        Document::from_toml("live.toml", &format!("host = \"rfc\"\n{text}")).expect("it is TOML");
    document.resolve(&|_| Err(std::io::Error::other("no files"))).expect("it is sound")
}

/// Runs a scenario over the kernel's TCP; `None` where this machine does not allow it.
pub(crate) fn live(text: &str, version: IpVersion) -> Option<Report> {
    live_with(text, &Options { version, ..Options::default() })
}

/// Runs a scenario; `None` where this machine does not allow it.
pub(crate) fn live_with(text: &str, options: &Options) -> Option<Report> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let scenario = scenario(text);
    let stop = AtomicBool::new(false);
    match sojourn_live::run(&scenario, scenario.controls.first(), 1, options, &stop) {
        Ok(report) => Some(report),
        Err(error) => leave_out(&error),
    }
}

/// Reports a run that this machine refuses. Any other error is a fault.
pub(crate) fn leave_out<T>(error: &Error) -> Option<T> {
    assert_refusal(error);
    eprintln!("not run here: {error}");
    None
}

/// Whether the run kept its time, so that its figures can be judged. The bottleneck's lateness does
/// not show that the hosts lacked the processor, so that the hypervisor may have taken 50 ms: a few
/// round-trip times.
pub(crate) fn is_punctual(report: &Report) -> bool {
    let stolen = report.timing.stolen;
    let is_taken = stolen > Duration::from_millis(50);
    let warning = report.timing.warning(Duration::from_millis(1));
    let warning = warning.or_else(|| is_taken.then(|| format!("{stolen} stolen")));
    warning.inspect(|warning| eprintln!("figures not judged here: {warning}")).is_none()
}

/// A run whose figures hold, or were not to be judged, of at most three: other work on the machine
/// delays the hosts. `None` where this machine does not allow it.
pub(crate) fn judged(
    text: &str,
    version: IpVersion,
    hold: impl Fn(&RunSummary) -> bool,
) -> Option<Report> {
    judged_of(|| live(text, version), hold)
}

/// As [`judged`], of the runs that `run` makes.
pub(crate) fn judged_of(
    run: impl Fn() -> Option<Report>,
    hold: impl Fn(&RunSummary) -> bool,
) -> Option<Report> {
    for _ in 0..3 {
        let report = run()?;
        let summary = &report.outcome.summary;
        if hold(summary) || !is_punctual(&report) {
            return Some(report);
        }
        eprintln!("the figures do not hold: {:?} {:?}", summary.flows, summary.links);
    }
    panic!("the figures of three runs do not hold")
}

/// A bulk flow over one bottleneck with these keys, and a way back of 10 ms.
pub(crate) fn one_flow(seconds: u32, control: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{seconds}s\"\n[link.bottleneck]\ndelay = \"10ms\"\n{link}\n[link.back]\n\
         delay = \"10ms\"\n[flow.bulk]\npath = [\"bottleneck\"]\nback = [\"back\"]\n\
         control = \"{control}\"\n{flow}\n"
    )
}

/// The accounts of a run over Sojourn's links, whatever its timing. Every packet that entered was
/// delivered, dropped by a link, refused by a device, or is still inside. No device lost a packet, if
/// its buffer has the size that the run asked for.
pub(crate) fn assert_conserved(report: &Report) {
    let (accounts, links) = (&report.accounts, &report.outcome.summary.links);
    let dropped: u64 = links.iter().map(|link| link.dropped_packets).sum();
    let copied: u64 = links.iter().map(|link| link.duplicated_packets).sum();
    if report.timing.no_tun.is_none() || is_outside_user_namespaces() {
        assert_eq!((accounts.overflowed, accounts.refused), (0, 0));
    }
    // Packets inside that share their bytes with a copy count once.
    let missing = accounts.entered + copied - accounts.delivered - accounts.refused - dropped;
    let shared = missing - accounts.inside;
    assert!(shared <= copied, "{accounts:?}, {dropped} dropped, {copied} copied");
    assert!(copied > 0 || shared == 0, "{accounts:?}, {dropped} dropped");
    assert_marks_counted(report);
}

/// The links marked every packet that arrived with CE, or copied it. CoDel may drop a packet that it
/// has marked.
pub(crate) fn assert_marks_counted(report: &Report) {
    let summary = &report.outcome.summary;
    let arrived: u64 = summary.flows.iter().map(|flow| flow.marked_packets).sum();
    let links = summary.links.iter();
    let marked: u64 = links.map(|link| link.marked_packets + link.duplicated_packets).sum();
    assert!(arrived <= marked, "{arrived} arrived with CE, {marked} marked");
}

/// In a user namespace, sysctls of the machine limit the buffers of packet sockets. The first one
/// maps all users to themselves (user_namespaces(7)).
fn is_outside_user_namespaces() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}
