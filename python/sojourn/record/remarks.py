"""Remarks below the summary table: repeats, ECN, receive windows, timing of live runs."""

from sojourn.record.formatting import counted
from sojourn.record.record_types import FlowSummary, LiveSummary, RunSummary
from sojourn.record.summary import Summary

# Maximum number of remarks below a table.
_MOST_REMARKS = 8
# Share of a run from which a limit by the receive window is reported.
_NOTICEABLE = 0.01
# Share of a flow's samples without a round-trip time from which its percentiles may mislead.
_MISSING = 0.05


def identical_runs(summary: Summary) -> list[str]:
    """List controllers with identical runs: their intervals are narrower than the data justify."""
    lines = []
    for entry in summary.get("medians") or []:
        runs, distinct = entry["runs"], entry.get("distinct", entry["runs"])
        if runs > 1 and distinct == 1:
            why = "nothing in this scenario is random for it"
            lines.append(f"{entry['control']}: {runs} runs, 1 distinct outcome: {why}")
        elif distinct < runs:
            why = f"an interval is worth no more than one of {distinct} runs"
            lines.append(f"{entry['control']}: {runs} runs, {distinct} distinct outcomes: {why}")
    return _shortened(lines)


def unequal_runs(summary: Summary) -> list[str]:
    """Warn if figures of many runs stand beside figures of few."""
    by_count: dict[int, list[str]] = {}
    for entry in summary.get("medians") or []:
        by_count.setdefault(entry["runs"], []).append(entry["control"])
    if len(by_count) < 2:
        return []
    each = "; ".join(
        f"{count} {'run' if count == 1 else 'runs'} of {', '.join(names)}"
        for count, names in sorted(by_count.items())
    )
    return [
        f"unequal numbers of runs: {each}; a median of few varies more: give all the same seeds"
    ]


def timing(summary: Summary) -> list[str]:
    """Report how late the packets of live runs were, and which runs are not to be trusted."""
    return _shortened(
        [
            f"{run['control']}, seed {run['seed']}: {_lateness(run['live'])}"
            for run in summary["runs"]
            if "live" in run
        ]
    )


_TRANSPORTS = {
    "tcp": "the kernel's TCP",
    "udp": "Sojourn's transport over UDP",
    "icmp": "echo requests",
    "simulated": "simulated hosts",
}


def _transports(live: LiveSummary) -> str:
    """Name the transports of the flows; earlier versions did not record them."""
    names = dict.fromkeys(live.get("transports", {}).values())
    words = [_TRANSPORTS.get(name, f"{name} over UDP") for name in names]
    return f" with {' and '.join(words)}" if words else ""


def _lateness(live: LiveSummary) -> str:
    carried = _transports(live)
    if live["lateness_p99_s"] is None:
        return f"live{carried}, and no packet passed the bottleneck"
    shares = {
        "p50": live["lateness_p50_s"],
        "p99": live["lateness_p99_s"],
        "p99.9": live["lateness_p999_s"],
    }
    late = ", ".join(f"{name} {_brief(s or 0.0)}" for name, s in shares.items())
    faults = [*filter(None, [live["warning"]]), *_lost(live)]
    note = live.get("timing_note")
    trust = f"; {note}" if note else ""
    trust += f"; do not trust it: {'; '.join(faults)}" if faults else ""
    if _is_kernel(live):
        drops = ", as are the drops of each flow" if live["flow_drops"] == "estimated" else ""
        return (
            f"live{carried} over the kernel's queues, whose delays are estimates{drops}; "
            f"read late by {late}{trust}"
        )
    missed = live.get("uncaptured_packets")
    gaps = f"; the capture lacks {counted(missed, 'packet')}: use a faster disk" if missed else ""
    unread = live.get("missed_ack_rows")
    gaps += f"; the trace lacks {counted(unread, 'acknowledgement')}" if unread else ""
    over = " over veth pairs" if _is_veth(live) else ""
    return f"live{carried}{over}; packets left late by {late}{trust}{gaps}"


def _is_kernel(live: LiveSummary) -> bool:
    return live.get("bottleneck") == "tc"


def _is_veth(live: LiveSummary) -> bool:
    return live.get("device") == "veth"


def _brief(span_s: float) -> str:
    if span_s >= 1:
        return f"{span_s:.3g} s"
    return f"{1e3 * span_s:.3g} ms" if span_s >= 1e-3 else f"{1e6 * span_s:.0f} µs"


def _lost(live: LiveSummary) -> list[str]:
    if _is_kernel(live):
        missed = live["overflowed_packets"]
        packets = counted(missed, "packet")
        return [f"{packets} not counted; lower the rates"] if missed else []
    lost = live["overflowed_packets"] + live["refused_packets"]
    remedy = "lower the rates"
    if _is_veth(live):
        remedy += ", or raise the sysctls net.core.rmem_max and net.core.wmem_max"
    return [f"{counted(lost, 'packet')} lost outside the links; {remedy}"] if lost else []


# Controllers that are made for marks, by name; `prague g=0.1` is one.
_MARK_BASED = ("dctcp", "prague")


def ecn(summary: Summary) -> list[str]:
    """List flows whose ECN failed, and flows made for marks that met losses and not one mark."""
    lines = {}
    for run in summary["runs"]:
        for flow in run["flows"]:
            who = f"{flow['name']} ({flow['control']})"
            if failure := flow.get("ecn_failure"):
                lines[who] = f"its ECN failed ({failure}); it continued without"
            elif _is_unmarked(flow):
                lines[who] = "no queue marked its packets, so it responded to losses alone"
    return _shortened([f"{who}: {text}" for who, text in lines.items()])


def receive_windows(summary: Summary) -> list[str]:
    """List flows that their receive window limited for a noticeable part of their time."""
    lines = {}
    for run in summary["runs"]:
        for flow in run["flows"]:
            if _is_windowed(run, flow):
                limited = flow["rwnd_limited_s"]
                who = f"{flow['name']} ({flow['control']})"
                lines[who] = f"its receive window limited it for {_brief(limited)}"
    return _shortened([f"{who}: {text}" for who, text in lines.items()])


def missing_rtts(summary: Summary) -> list[str]:
    """List flows whose percentiles of round-trip times lack a noticeable part of the time."""
    lines = {}
    for run in summary["runs"]:
        for flow in run["flows"]:
            # Records of other programs lack it.
            missing = flow.get("rtt_missing_share") or 0.0
            if missing > _MISSING:
                who = f"{flow['name']} ({flow['control']})"
                lines[who] = f"no RTT sample in {100 * missing:.0f} % of the time"
    return _shortened([f"{who}: {text}" for who, text in lines.items()])


def _is_windowed(run: RunSummary, flow: FlowSummary) -> bool:
    """Whether a flow's receive window limited it for a noticeable part of a run."""
    # Records of other programs lack it.
    limited = flow.get("rwnd_limited_s") or 0.0
    return limited > _NOTICEABLE * (run["duration_s"] or 0.0)


def _is_unmarked(flow: FlowSummary) -> bool:
    named = flow["control"].split(" ")[0] in _MARK_BASED
    # Records of other programs may lack either.
    return named and flow.get("marked_packets") == 0 and bool(flow.get("dropped_packets"))


def links(summary: Summary) -> list[str]:
    """List the links whose delays are in doubt."""
    all_links = (link for run in summary["runs"] for link in run["links"])
    lines = {link["name"]: link["warning"] for link in all_links if link.get("warning")}
    return _shortened([f"link {name}: {warning}" for name, warning in lines.items()])


def _shortened(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_REMARKS
    return [*lines[:_MOST_REMARKS], f"{more} more like these"] if more > 0 else lines
