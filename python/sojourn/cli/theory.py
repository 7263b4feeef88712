"""`sojourn theory`."""

import argparse
import json
from pathlib import Path

from sojourn import theory
from sojourn.contract import Percentiles, RapidTheory, SpikeTheory, TraceTheory
from sojourn.errors import UsageError
from sojourn.report import require_free_figure
from sojourn.report.theory import RapidFigure, TraceFigure
from sojourn.table import rate_text


def spike(args: argparse.Namespace) -> int:
    """The bound on a latency spike, with the equation's numbers."""
    try:
        found = theory.spike(args.before, args.after, args.delay, args.max_queue)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(found) if args.json else "\n".join(_lines(args, found)))
    return 0


def rapid(args: argparse.Namespace) -> int:
    """The fluid model of Rapid under bursts, with the case and its rates."""
    if args.plot is not None:
        require_free_figure(Path(args.plot))
    try:
        found = theory.rapid(args.capacity, args.load, args.on, args.off, args.tau, args.eta)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if args.plot is not None:
        RapidFigure(found).save(args.plot)
    print(json.dumps(found) if args.json else "\n".join(_rapid_lines(args, found)))
    return 0


def _rapid_lines(args: argparse.Namespace, found: RapidTheory) -> list[str]:
    least, most = found["rtt_remainder_s"], found["rtt_remainder_max_s"]
    phase = _ms(least) if most - least < 1e-9 else f"{_ms(least)} to {_ms(most)}"
    lines = [
        f"case           {found['case']}: {_CASES[found['case']]}",
        f"D              {_ms(found['D_s'])}, by which news of a burst's end is late",
        f"queue          at most {found['queue_max_bytes']:,} bytes",
        f"rate           {rate_text(found['rate_low_bps'])} to {rate_text(found['rate_high_bps'])}",
    ]
    if found["rate_middle_bps"] is not None:
        middle = rate_text(found["rate_middle_bps"])
        lines.append(f"               {middle} at both ends of the worst burst")
    return [
        *lines,
        f"throughput     {rate_text(found['throughput_bps'])} on average",
        f"utilisation    {found['utilisation']:.4f} with the cross traffic of {args.load}",
        f"worst phase    RTT modulo (T_on + T_off) = {phase}",
    ]


def trace(args: argparse.Namespace) -> int:
    """The unavoidable delay of a capacity over time: percentiles, worst instants, by loop delay."""
    if args.plot is not None:
        require_free_figure(Path(args.plot))
    try:
        found = theory.trace(args.file, args.delay, args.stretch, series=args.plot is not None)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if args.plot is not None:
        TraceFigure(found, Path(args.file).name).save(args.plot)
        del found["series"]
    print(json.dumps(found) if args.json else "\n".join(_trace_lines(found)))
    return 0


def _trace_lines(found: TraceTheory) -> list[str]:
    mean = rate_text(found["mean_rate_bps"])
    lines = [
        f"capacity       {mean} on average over {found['duration_s']:g} s",
        "least queueing delay of traffic that fills the link, over all that arrives:",
        f"{'loop delay':14} {'sender':9}" + "".join(f"{name:>11}" for name in _SHARES),
    ]
    for one in found["by_delay"]:
        lines.append(_shares_line(_ms(one["delay_s"]), "matching", one))
        lines.append(_shares_line("", "draining", one["drained"]))
    for worst in found["worst"]:
        lines.append(
            f"worst          {_ms(worst['delay_s'])} for what arrives at {worst['at_s']:.4g} s"
        )
    return [
        *lines,
        "matching: sends at the capacity it last heard of; draining: falls silent as well until "
        "the queue that it caused is gone",
    ]


_SHARES = ("p50", "p95", "p99", "max")


def _shares_line(first: str, sender: str, of: Percentiles) -> str:
    values = (of["p50_s"], of["p95_s"], of["p99_s"], of["max_s"])
    return f"{first:14} {sender:9}" + "".join(f"{_ms(value):>11}" for value in values)


_CASES = {
    "L1": "rise and fall are complete; Rapid sends at C throughout the worst burst",
    "L2": "rise and fall are complete; all that exceeds C - R_on falls into the worst burst",
    "L3": "rise and fall are complete; the worst burst lies across both",
    "S1": "the fall is cut short; Rapid sends at C throughout the worst burst",
    "S2": "the fall is cut short; the worst burst lies across rise and fall",
    "S3": "the rise is cut short; all that exceeds C - R_on falls into the worst burst",
    "S4": "the rise is cut short; the worst burst lies across rise and fall",
    "S5": "rise and fall are cut short",
}


def _lines(args: argparse.Namespace, found: SpikeTheory) -> list[str]:
    r, delay = found["r"], found["delay_s"]
    whole = (r - 1) * delay
    lines = [
        f"capacity       {args.before} -> {args.after}, r = {r:.4g}",
        f"delay          d = {_ms(delay)} (until the sender knows, plus in flight)",
    ]
    if r <= 1:
        change = "rises" if r < 1 else "stays as it is"
        return [*lines, f"bound          capacity {change}: no spike"]
    lines.append(f"bound          Q = (r - 1) d = ({r:.4g} - 1) x {_ms(delay)} = {_ms(whole)}")
    if args.max_queue is not None:
        lines += _capped(args.max_queue, found, whole)
    lines.append(_peak(found))
    return lines


def _capped(cap: str, found: SpikeTheory, whole: float) -> list[str]:
    shown = _ms(found["spike_s"])
    which = "q" if found["lost_fraction"] > 0 else "Q"
    return [
        f"cap            q = {cap}, the longest that a packet can wait in the queue",
        f"spike          {shown}, the lesser of Q and q: {which}",
        _lost(found, whole),
    ]


def _peak(found: SpikeTheory) -> str:
    peak, spike = _ms(found["time_to_peak_s"]), _ms(found["spike_s"])
    return (
        f"time to peak   {peak} after the drop: then the packet that waits longest arrives; "
        f"it leaves the queue {spike} later"
    )


def _lost(found: SpikeTheory, whole: float) -> str:
    share = f"{100 * found['lost_fraction']:.4g} %"
    if found["lost_fraction"] == 0:
        return f"lost           {share}: the cap is above the bound"
    numbers = f"({_ms(whole)} - {_ms(found['spike_s'])}) / {_ms(whole)}"
    return f"lost           (Q - q) / Q = {numbers} = {share} of what arrives in excess during d"


def _ms(seconds: float) -> str:
    # Four digits, but never as a power of ten.
    return f"{1000 * seconds:.4g} ms" if seconds < 9.9995 else f"{seconds:.5g} s"
