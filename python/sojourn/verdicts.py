"""The verdict on each change of capacity: the decisions as data, and one text from them."""

from collections.abc import Container, Iterable, Sequence
from itertools import groupby

from sojourn.formatting import rate_text
from sojourn.remarks import PACKET_BITS, is_slower, is_windowed
from sojourn.run_summary import (
    AvoidableDelay,
    Cause,
    ControllerVerdict,
    Item,
    LinkUnavoidable,
    Outcome,
    Summary,
    Verdict,
    entries,
    value_of,
)

# Texts with more changes or controllers than this are not readable.
MOST_CHANGES = 5
_MOST_CONTROLLERS = 12
# A spike is a packet's delay, and the bound is fluid: a smaller difference, or that of two packets,
# meets the bound.
_SAME_S = 1e-3
_SAME = 0.02
# A load from here on fills the link.
_FULL = 0.98
# A receive window explains a spike if it limited a flow for this share of every run.
_MOSTLY = 0.5

_CAUSES = {
    "queue": "from its queue before the change",
    "faster": "by sending faster before it could know of the change",
    "late": "by reacting late",
}


def of(summary: Summary) -> list[Verdict]:
    """Return the verdict on each change of capacity, in the order of the first run's changes."""
    first = summary["runs"][0]["spikes"]
    each = {entry["control"]: entry["spikes"] for entry in entries(summary)}
    windowed = {entry["control"] for entry in entries(summary)}
    for run in summary["runs"]:
        if not any(is_windowed(run, flow, _MOSTLY) for flow in run["flows"]):
            windowed.discard(run["control"])
    found = []
    for place, change in enumerate(first):
        # With a spread, a change may move past the end of a run, which then lacks it.
        own = {
            name: spikes[place]
            for name, spikes in each.items()
            if place < len(spikes) and _is_same(change, spikes[place])
        }
        found.append(_verdict(change, own, windowed))
    return found


def _is_same(one: Item, other: Item) -> bool:
    """Whether two runs have the same change; runs of several scenarios may have other ones."""
    return all(one[key] == other[key] for key in ("link", "from_bps", "to_bps"))


def sentences(summary: Summary) -> list[str]:
    """Return one sentence for each link with a trace, and for the greatest changes of capacity."""
    traces = [one["text"] for one in summary.get("unavoidable") or []]
    every = of(summary)
    falls = [one for one in every if one["to_bps"] < one["from_bps"]]
    if len(every) <= MOST_CHANGES:
        return [*traces, *(one["text"] for one in every)]
    greatest = sorted(falls, key=lambda one: -_largest(one))[:MOST_CHANGES]
    shown = [one["text"] for one in sorted(greatest, key=lambda one: one["at_s"])]
    rest = f"{len(every) - len(shown)} more changes of capacity are in summary.json."
    return [*traces, *shown, rest]


def _largest(verdict: Verdict) -> float:
    """Return the greatest spike of any controller."""
    return max((one["spike_s"] or 0.0 for one in verdict["controllers"]), default=0.0)


def _verdict(change: Item, spikes: dict[str, Item], windowed: Container[str]) -> Verdict:
    bounds = [value_of(spike["bound_s"]) for spike in spikes.values()]
    known = [bound for bound in bounds if bound is not None]
    verdict: Verdict = {
        "link": change["link"],
        "at_s": change["at_s"],
        "complete_at_s": change.get("complete_at_s"),
        "from_bps": change["from_bps"],
        "to_bps": change["to_bps"],
        "unavoidable_s": max(known, default=None),
        "controllers": [
            _of_controller(name, spike, name in windowed) for name, spike in spikes.items()
        ],
        "text": "",
    }
    verdict["text"] = _text(verdict, moves=len(set(_times(spikes))) > 1)
    return verdict


def _times(spikes: dict[str, Item]) -> Iterable[float]:
    for spike in spikes.values():
        at = spike["at_s"]
        yield from (at["p5"], at["p95"]) if isinstance(at, dict) else (at,)


def _of_controller(control: str, spike: Item, is_limited: bool) -> ControllerVerdict:
    excess = _value(spike, "excess_s")
    load = _load(spike)
    outcome = _outcome(spike, excess)
    cause, part = None, None
    if outcome == "above":
        cause, part = _cause_above(spike, excess or 0.0)
    elif outcome == "below":
        cause = _cause_below(spike, load)
        if cause == "load" and is_limited:
            cause = "window"
    return {
        "control": control,
        "outcome": outcome,
        "bound_s": _value(spike, "bound_s"),
        "spike_s": _value(spike, "spike_s"),
        "excess_s": excess,
        "recovery_s": _value(spike, "duration_s"),
        "load": load,
        "utilisation_after": _value(spike, "utilisation_after"),
        "cause": cause,
        "cause_s": part,
    }


def _outcome(spike: Item, excess: float | None) -> Outcome:
    if spike["to_bps"] >= spike["from_bps"]:
        return "rise"
    if excess is None:
        return "unknown"
    bound, new = _value(spike, "bound_s") or 0.0, spike["to_bps"]
    packets = 2 * PACKET_BITS / new if new else 0.0
    same = max(_SAME_S, _SAME * bound, packets)
    return "at" if abs(excess) <= same else "above" if excess > 0 else "below"


def _load(spike: Item) -> float | None:
    """Return the share of the old capacity that the link carried in the loop delay before."""
    carried = _value(spike, "carried_loop_bps")
    return None if carried is None or not spike["from_bps"] else carried / spike["from_bps"]


def _cause_above(spike: Item, excess: float) -> tuple[Cause | None, float | None]:
    """Return the largest part of the excess over the bound.

    The queue at the change waits at the new rate. Arrivals above the old capacity in the loop delay
    after the change come before any sender can know of it. Late reactions cause the rest.
    """
    old, new = spike["from_bps"], spike["to_bps"]
    before, loop_s = _value(spike, "queue_delay_before_s"), _value(spike, "loop_s")
    if before is None or loop_s is None or not new:
        return None, None
    offered = _value(spike, "offered_loop_bps")
    queue = min(before * old / new, excess)
    faster = min(max((offered or 0.0) - old, 0.0) * loop_s / new, excess - queue)
    parts: list[tuple[Cause, float]] = [("queue", queue), ("faster", faster)]
    parts.append(("late", excess - queue - faster))
    return max(parts, key=lambda part: part[1])


def _cause_below(spike: Item, load: float | None) -> Cause | None:
    """Return the reason for a spike below the bound of a full link.

    Senders that slowed down, as after a drop before the change, and lost few packets after it are
    below the bound because they slowed down.
    """
    corrected = _value(spike, "excess_corrected_s")
    if load is not None and load < _FULL and (corrected is None or corrected >= -_SAME_S):
        return "load"
    slower, dropped = is_slower(spike), _value(spike, "dropped_to_peak_packets") or 0.0
    if dropped and not (slower and _waited_s(spike, dropped) < -(corrected or 0.0) / 2):
        return "drops"
    if slower:
        return "slower"
    return "load" if load is not None and load < _FULL else None


def _waited_s(spike: Item, packets: float) -> float:
    """Return the time for which packets occupy the link after the change."""
    new = spike["to_bps"]
    return packets * PACKET_BITS / new if new else float("inf")


def _value(spike: Item, key: str) -> float | None:
    """Return the figure of one run, or the median of several; None if unknown."""
    return value_of(spike.get(key))


def _text(verdict: Verdict, moves: bool) -> str:
    """Put a verdict into words."""
    head = _head(verdict, moves)
    every = verdict["controllers"]
    if verdict["to_bps"] >= verdict["from_bps"]:
        used = [
            f"{one['control']} used {_percent(one['utilisation_after'])}"
            for one in every
            if one["utilisation_after"] is not None
        ]
        after = f": {_listed(used)} of the capacity after it" if used else ""
        return f"{head} A rise builds up no queue{after}."
    groups = _by_bound(every)
    if len(groups) < 2:
        return f"{head} {'; '.join([_least(verdict['unavoidable_s']), *_clauses(every)])}."
    # Runs of several scenarios, such as a sweep of delays, have bounds of their own.
    each = [
        "; ".join([f"{_least(bound)} for {_names(own)}", *_clauses(own)])
        for bound, own in groups.items()
    ]
    return f"{head} {'. '.join(each)}."


def _least(bound: float | None) -> str:
    if bound is None:
        return "The capacity did not return, so every queueing delay was unavoidable"
    return f"{_brief(bound)} of queueing delay was unavoidable"


def _by_bound(every: Sequence[ControllerVerdict]) -> dict[float, list[ControllerVerdict]]:
    """Group controllers by about the same bound, the least first, if their bound is known."""
    groups: dict[float, list[ControllerVerdict]] = {}
    last = -1.0
    for one in sorted(every, key=lambda one: one["bound_s"] or 0.0):
        bound = one["bound_s"]
        if bound is None:
            continue
        if last < 0 or bound - last > max(_SAME_S, _SAME * bound):
            last = bound
        groups.setdefault(last, []).append(one)
    return groups


def _names(every: Sequence[ControllerVerdict]) -> str:
    more = len(every) - _MOST_CONTROLLERS
    names = [one["control"] for one in every[:_MOST_CONTROLLERS]]
    return _listed([*names, *([f"{more} more"] if more > 0 else [])])


def _head(verdict: Verdict, moves: bool) -> str:
    at, until = verdict["at_s"], verdict["complete_at_s"]
    when = f"At {at:.4g} s {verdict['link']}"
    if moves:
        when = f"The capacity of {verdict['link']}"
    elif until is not None and until > at:
        when = f"From {at:.4g} s to {until:.4g} s {verdict['link']}"
    verb = "fell" if verdict["to_bps"] < verdict["from_bps"] else "rose"
    return f"{when} {verb} from {_rates_text(verdict['from_bps'], verdict['to_bps'])}."


def _rates_text(old: float, new: float) -> str:
    """Format two rates: `60 to 20 Mbit/s`."""
    (a, unit), (b, same) = (rate_text(rate).rsplit(" ", 1) for rate in (old, new))
    return f"{a} to {b} {unit}" if unit == same else f"{a} {unit} to {b} {same}"


def _clauses(every: Sequence[ControllerVerdict]) -> list[str]:
    """Return one clause for each group of controllers with the same response."""
    shown = sorted(every[:_MOST_CONTROLLERS], key=_rank)
    clauses = []
    for _, group in groupby(shown, key=_kind):
        same = list(group)
        clauses.append(_clause(_listed([one["control"] for one in same]), same[0], len(same) == 1))
    more = len(every) - len(shown)
    return [*clauses, *([f"{more} more controllers are in the table"] if more else [])]


def _rank(one: ControllerVerdict) -> tuple[object, ...]:
    """Put the greatest excess first, and controllers with the same response together."""
    order = ("above", "at", "below", "rise", "unknown")
    kind = "" if one["outcome"] == "above" else str(_kind(one))
    return (order.index(one["outcome"]), kind, -(one["excess_s"] or 0.0), one["control"])


def _kind(one: ControllerVerdict) -> tuple[str | None, ...]:
    """Return what controllers must share to be named in one clause."""
    if one["outcome"] == "above":
        return ("above", one["control"])
    if one["outcome"] == "below" and one["cause"] in ("load", "window"):
        return ("below", one["cause"], _percent(one["load"]))
    return (one["outcome"], one["cause"])


def _clause(names: str, one: ControllerVerdict, is_one: bool) -> str:
    if one["outcome"] == "above":
        return f"{names} added {_added(one)}"
    if one["outcome"] == "at":
        return f"{names} met the bound"
    if one["outcome"] == "unknown":
        return f"no spike of {names} was measured"
    return f"{names} stayed below the bound{_reason(one, is_one)}"


def _added(one: ControllerVerdict) -> str:
    """Describe an excess: its size, its largest part, and the time until it was over."""
    excess, cause, part = one["excess_s"] or 0.0, one["cause"], one["cause_s"]
    text = _brief(excess)
    if cause is not None and part is not None:
        share = "" if part >= 0.95 * excess else f", {_brief(part)} of it"
        text += f"{share} {_CAUSES[cause]},"
    if one["recovery_s"] is None:
        return f"{text} and did not recover{_lock(one)}"
    return f"{text} and took {_brief(one['recovery_s'])} to recover"


def _lock(one: ControllerVerdict) -> str:
    """Explain a queue that BBR v3 never drains (`sojourn controllers bbr3`, max_bw_filter)."""
    if one["control"] == "bbr3" and (one["utilisation_after"] or 0.0) >= _FULL:
        why = "each ProbeRTT may keep its old estimate of the bandwidth"
        return f": {why}, unless max_bw_filter is repaired"
    return ""


def _reason(one: ControllerVerdict, is_one: bool) -> str:
    used = "it used" if is_one else "they used"
    if one["cause"] == "load":
        return f" because {used} {_percent(one['load'])} of the link just before it"
    if one["cause"] == "window":
        whom = "it" if is_one else "them"
        share = _percent(one["load"])
        return f" because the receive window let {whom} use only {share} of the link just before it"
    if one["cause"] == "drops":
        return " because the queue dropped packets"
    if one["cause"] == "slower":
        return " because senders slowed before they could know of the change"
    return ", for a reason that was not measured"


def _brief(seconds: float) -> str:
    """Format a time with three digits."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds < 0.9995 else "1 s"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.0f} %"


def _listed(names: Sequence[str]) -> str:
    """Join names as in a sentence: `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def judge_traces(found: Sequence[LinkUnavoidable], summary: Summary) -> list[LinkUnavoidable]:
    """Compare the controllers with the unavoidable delay of each link."""
    judged = []
    for one in found:
        verdict = one.copy()
        verdict["controllers"] = _avoidable(one, summary)
        verdict["text"] = _trace_text(verdict)
        judged.append(verdict)
    return judged


def _avoidable(one: LinkUnavoidable, summary: Summary) -> list[AvoidableDelay]:
    each: list[AvoidableDelay] = []
    for entry in entries(summary):
        link = next((link for link in entry["links"] if link["name"] == one["link"]), None)
        measured = value_of(link["queue_delay_p99_s"]) if link else None
        if link is not None and measured:
            share = max(0.0, 1 - one["queue_delay_p99_s"] / measured)
            each.append(
                {
                    "control": entry["control"],
                    "queue_delay_p99_s": measured,
                    "avoidable_share": share,
                    "utilisation": value_of(link["utilisation"]),
                }
            )
    return each


def _trace_text(one: LinkUnavoidable) -> str:
    """Put the unavoidable delay of a trace, and each controller's avoidable share, into words."""
    least = one["queue_delay_p99_s"]
    clauses = [
        f"{own['control']} had {_against(own, least)}"
        for own in one["controllers"][:_MOST_CONTROLLERS]
    ]
    unavoidable = f"a 99th percentile of {_brief(least)} of queueing delay was unavoidable"
    return (
        f"The capacity of {one['link']} follows a trace, {rate_text(one['mean_rate_bps'])} on "
        f"average. With a loop delay of {_brief(one['loop_s'])}, "
        f"{'; '.join([unavoidable, *clauses])}."
    )


def _against(own: AvoidableDelay, least_s: float) -> str:
    measured, used = own["queue_delay_p99_s"], own["utilisation"]
    if measured >= least_s:
        return f"{_brief(measured)}, {_percent(own['avoidable_share'])} of it avoidable"
    load = "" if used is None else f" because it used {_percent(used)} of the link"
    return f"{_brief(measured)}, less than that{load}"
