"""The figures of a qlog file by Sojourn and by the second reader."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import readers_drafts
from sojourn import qlog
from sojourn.errors import UsageError

Row = dict[str, Any]

# A calendar time in a double has steps of 0.24 us.
TOLERANCE_S = 1e-6
RTTS = ("rtt_min_s", "rtt_p50_s", "rtt_p99_s", "rtt_max_s", "rtt_mean_s")


def compare(file: Path) -> Row:
    """Compare the flows of a file; `kind` says why they differ."""
    counts = ("flows", "sent", "lost", "resent_bytes", "rtts", "reported", "confirmed")
    found: Row = {**dict.fromkeys(counts, 0), "differs": None}
    try:
        traces = readers_drafts.read(file)
    except (ValueError, KeyError):
        return {**found, "kind": "neither reads it" if is_refused(file) else "one refuses it"}
    try:
        run, damages = qlog.read(file)
    except UsageError:
        return {**found, "kind": "one refuses it"}
    theirs = [paths[path] for paths in traces for path in sorted(paths)]
    flows: Sequence[Row] = cast(Any, run.summary["runs"][0]["flows"])
    found |= {
        "flows": len(theirs),
        "sent": sum(one.sent for one in theirs),
        "lost": sum(one.lost for one in theirs),
        "resent_bytes": sum(sum(one.resent_bytes.values()) for one in theirs),
        "rtts": sum(len(one.rtts_s) for one in theirs),
        "reported": sum(len(one.reported) for one in theirs),
        "confirmed": sum(one.confirmed() for one in theirs),
    }
    differs = ["damage"] if damages else []
    differs += ["flows"] if len(flows) != len(theirs) else []
    last = run.flows.group_by("flow").last().to_dicts()
    ends = {row["flow"]: row for row in last}
    delivered = bytes_delivered(traces)
    for flow, one, data in zip(flows, theirs, delivered, strict=False):
        end = ends.get(flow["name"], {})
        pairs = {
            "packets sent": (flow["sent_packets"], one.sent),
            "packets sent again": (flow["retransmitted_packets"], one.resent_packets),
            "packets lost": (end.get("lost_packets"), one.lost),
            "bytes delivered": (end.get("delivered_bytes"), data),
        }
        differs += [name for name, (left, right) in pairs.items() if left != right]
        if not same([flow[name] for name in RTTS], one.samples_s()):
            differs.append("RTTs")
    return {**found, "differs": ", ".join(dict.fromkeys(differs)) or None, "kind": None}


def is_refused(file: Path) -> bool:
    """Return whether Sojourn finds damage in a file too."""
    try:
        return bool(qlog.read(file)[1])
    except UsageError:
        return True


def bytes_delivered(traces: Sequence[dict[int, readers_drafts.Found]]) -> list[int]:
    """Return the data delivered on each path: acknowledged if the trace sends more than it gets."""
    found = []
    for paths in traces:
        sends = sum(one.sent_bytes for one in paths.values())
        gets = sum(one.received_bytes for one in paths.values())
        found += [
            paths[path].acked_bytes if sends >= gets else paths[path].received_bytes
            for path in sorted(paths)
        ]
    return found


def same(figures: Sequence[float | None], rtts_s: Sequence[float]) -> bool:
    """Return whether the figures are those of these samples, with percentiles by nearest rank."""
    if not rtts_s:
        return all(one is None for one in figures)
    samples = sorted(rtts_s)
    places = [min(int(share * len(samples)), len(samples) - 1) for share in (0, 0.5, 0.99)]
    wanted = [*(samples[place] for place in places), samples[-1], sum(samples) / len(samples)]
    return all(
        left is not None and abs(left - right) <= TOLERANCE_S
        for left, right in zip(figures, wanted, strict=True)
    )
