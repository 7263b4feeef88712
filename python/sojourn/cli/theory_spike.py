"""`sojourn theory spike`."""

import argparse
import json

from sojourn import theory
from sojourn.cli.options import name_list, settings_of
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.picture import SpikeFigure, require_free_picture
from sojourn.record.formatting import ms_text
from sojourn.terminal import one_line
from sojourn.theory import MITIGATIONS, Mitigation, SpikeTheory


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn theory spike`."""
    add = parser.add_argument
    add("--from", dest="before", metavar="RATE", required=True, help="capacity before: 60Mbit")
    add("--to", dest="after", metavar="RATE", help="capacity after: 20Mbit")
    add(
        "--delay",
        metavar="DURATION[,DURATION]",
        type=name_list,
        required=True,
        help="loop delay, the time until the sender knows plus the time in flight: 50ms; one for "
        "each flow that shares the FIFO",
    )
    add(
        "--share",
        metavar="S,S",
        type=name_list,
        help="the flows' shares, or rates, before the drop: 3,1 (default: equal)",
    )
    add(
        "--users",
        metavar="N,N",
        type=name_list,
        help="users of a fair queue before and after: 1,2; --to is then optional",
    )
    add("--max-queue", metavar="DURATION", help="greatest delay that the queue allows: 20ms")
    add(
        "--mitigations",
        metavar="NAME=VALUE,...",
        type=settings_of,
        nargs="?",
        const={},
        help="show the effect of each mitigation; the settings are headroom, "
        "ramp, warning, near, back_queue, standing, users and node: "
        "headroom=0.2,ramp=80ms",
    )
    add("--plot", metavar="FILE", help="draw rates and queue, as .html, .svg, .png or .pdf")
    add("--json", action="store_true", help="print the figures as one JSON object")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Show the bound on a latency spike, with the values of the equation."""
    if args.plot is not None:
        require_free_picture(args.plot)
    if args.after is None:
        if args.users is None:
            raise UsageError(
                "--to is missing: the capacity after the drop (or --users, of a fair queue)"
            )
        args.after = args.before
    try:
        found = _found(args)
    except (ValueError, OverflowError) as error:
        raise UsageError(str(error)) from error
    plots = Plots()
    if args.plot is not None:
        plots.plot(SpikeFigure(found), args.plot)
        del found["arrivals"], found["queue"], found["capacity_bps"]
    print(json.dumps(found) if args.json else "\n".join(map(one_line, _lines(args, found))))
    return plots.status()


def _found(args: argparse.Namespace) -> SpikeTheory:
    shares = None if args.share is None else [_number("--share", share) for share in args.share]
    return theory.spike(
        args.before,
        args.after,
        args.delay,
        args.max_queue,
        shares=shares,
        users=None if args.users is None else _users(args.users),
        mitigations=False if args.mitigations is None else args.mitigations,
        course=args.plot is not None,
    )


def _number(option: str, text: str) -> float:
    """Parse a share: any number, relative to the others."""
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is not a number, such as 3 or 0.75") from None


def _users(given: list[str]) -> tuple[int, int]:
    if len(given) != 2 or not all(users.isdecimal() for users in given):
        raise UsageError(f"--users: {','.join(given)!r} is not two numbers of users, such as 1,2")
    return int(given[0]), int(given[1])


def _table(mitigations: list[Mitigation]) -> list[str]:
    lines = ["", f"{'mitigation':19}{'without':>10}{'with':>10}"]
    for one in mitigations:
        name, what = MITIGATIONS[one["name"]]
        figures = f"{ms_text(one['before_s']):>10}{ms_text(one['after_s']):>10}"
        lines.append(f"{name:19}{figures}  {what.format(one['setting'])}")
    return [*lines, "each alone, in a queue without a limit"]


def _lines(args: argparse.Namespace, found: SpikeTheory) -> list[str]:
    r, delay = found["r"], found["delay_s"]
    whole = (r - 1) * delay
    lines = [
        _capacity(args, r),
        f"delay          d = {ms_text(delay)} (until the sender knows, plus in flight)",
    ]
    if len(args.delay) > 1:
        shares = args.share or ["1"] * len(args.delay)
        flows = " + ".join(f"{share} x {d}" for share, d in zip(shares, args.delay, strict=True))
        lines.append(f"flows          d is the mean by shares of the capacity before: {flows}")
    if r <= 1:
        change = "rises" if r < 1 else "stays as it is"
        return [*lines, f"bound          capacity {change}: no spike"]
    lines.append(
        f"bound          Q = (r - 1) d = ({r:.4g} - 1) x {ms_text(delay)} = {ms_text(whole)}"
    )
    if args.max_queue is not None:
        lines += _capped(args.max_queue, found, whole)
    lines.append(_peak(found))
    if "mitigations" in found:
        lines += _table(found["mitigations"])
    return lines


def _capacity(args: argparse.Namespace, r: float) -> str:
    if args.users is None:
        return f"capacity       {args.before} -> {args.after}, r = {r:.4g}"
    before, after = args.users
    return (
        f"capacity       of a user {args.before} / {before} -> {args.after} / {after}, r = {r:.4g}"
    )


def _capped(cap: str, found: SpikeTheory, whole: float) -> list[str]:
    shown = ms_text(found["spike_s"])
    which = "q" if found["lost_fraction"] > 0 else "Q"
    return [
        f"cap            q = {cap}, the longest that a packet can wait in the queue",
        f"spike          {shown}, the lesser of Q and q: {which}",
        _lost(found, whole),
    ]


def _peak(found: SpikeTheory) -> str:
    peak, spike = ms_text(found["time_to_peak_s"]), ms_text(found["spike_s"])
    return (
        f"time to peak   {peak} after the drop: then the packet that waits longest arrives; "
        f"it leaves the queue {spike} later"
    )


def _lost(found: SpikeTheory, whole: float) -> str:
    share = f"{100 * found['lost_fraction']:.4g} %"
    if found["lost_fraction"] == 0:
        return f"lost           {share}: the cap is above the bound"
    numbers = f"({ms_text(whole)} - {ms_text(found['spike_s'])}) / {ms_text(whole)}"
    return f"lost           (Q - q) / Q = {numbers} = {share} of the excess that arrives during d"
