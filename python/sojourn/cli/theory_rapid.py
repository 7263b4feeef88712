"""`sojourn theory rapid`."""

import argparse
import json

from sojourn import theory
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.picture import RapidFigure, require_free_picture
from sojourn.record.formatting import ms_text, rate_text
from sojourn.terminal import one_line
from sojourn.theory import RapidTheory


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn theory rapid`."""
    add = parser.add_argument
    for name, metavar, what in (
        ("capacity", "RATE", "C, of the bottleneck: 1Gbit"),
        ("load", "RATE", "R_avg, mean rate of the cross traffic: 111Mbit"),
        ("on", "DURATION", "T_on, length of a burst: 100ms"),
        ("off", "DURATION", "T_off, pause between two: 350ms"),
        ("tau", "DURATION", "time in which Rapid's rate rises: 150ms"),
        ("eta", "DURATION", "time in which Rapid's rate falls: 75ms"),
    ):
        add(f"--{name}", metavar=metavar, required=True, help=what)
    add("--plot", metavar="FILE", help="draw rate and queue, as .html, .svg, .png or .pdf")
    add("--json", action="store_true", help="print the figures as one JSON object")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Show the fluid model of Rapid under bursts, with the case and its rates."""
    if args.plot is not None:
        require_free_picture(args.plot)
    try:
        found = theory.rapid(args.capacity, args.load, args.on, args.off, args.tau, args.eta)
    except ValueError as error:
        raise UsageError(str(error)) from error
    plots = Plots()
    if args.plot is not None:
        plots.plot(RapidFigure(found), args.plot)
    print(json.dumps(found) if args.json else "\n".join(map(one_line, _rapid_lines(args, found))))
    return plots.status()


def _rapid_lines(args: argparse.Namespace, found: RapidTheory) -> list[str]:
    least, most = found["rtt_remainder_s"], found["rtt_remainder_max_s"]
    phase = ms_text(least) if most - least < 1e-9 else f"{ms_text(least)} to {ms_text(most)}"
    lines = [
        f"case           {found['case']}: {_CASES[found['case']]}",
        f"D              {ms_text(found['D_s'])}, delay of the signal of a burst's end",
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


_CASES = {
    "L1": "rise and fall are complete; Rapid sends at C throughout the worst burst",
    "L2": "rise and fall are complete; all traffic above C - R_on is in the worst burst",
    "L3": "rise and fall are complete; the worst burst lies across both",
    "S1": "the fall is cut short; Rapid sends at C throughout the worst burst",
    "S2": "the fall is cut short; the worst burst lies across rise and fall",
    "S3": "the rise is cut short; all traffic above C - R_on is in the worst burst",
    "S4": "the rise is cut short; the worst burst lies across rise and fall",
    "S5": "rise and fall are cut short",
}
