"""`sojourn theory trace`."""

import argparse
import json
from pathlib import Path

from sojourn import theory
from sojourn.cli.options import positive, settings_of, whole
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.picture import TraceFigure, require_free_picture
from sojourn.record.formatting import ms_text, rate_text
from sojourn.terminal import one_line
from sojourn.theory import Fitted, Percentiles, TraceTheory


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn theory trace`."""
    add = parser.add_argument
    add(
        "file",
        metavar="FILE",
        nargs="?",
        help="a mahimahi trace, or a table of times and rates: 0,60Mbit, or seconds and Mbit/s",
    )
    add(
        "--process",
        metavar="NAME[,PARAM=VALUE]",
        help="a random link instead of a file: wifi or cellular, such as wifi,snr=15",
    )
    add(
        "--fit",
        action="store_true",
        help="fit a chain of rates to the file, and use the capacity that it generates",
    )
    add("--levels", metavar="N", type=positive, help="greatest number of its rates (default: 8)")
    add("--seed", metavar="N", type=whole, help="seed of the random capacity (default: 1)")
    add("--duration", metavar="DURATION", help="duration of the random capacity (default: 60s)")
    add(
        "--delay",
        metavar="DURATION",
        required=True,
        help="loop delay, the time until the sender knows plus the time in flight: 40ms",
    )
    add(
        "--stretch",
        metavar="DURATION",
        default="10ms",
        help="averaging time of a mahimahi trace (default: 10ms)",
    )
    add("--plot", metavar="FILE", help="draw capacity and delays, as .html, .svg, .png or .pdf")
    add("--json", action="store_true", help="print the figures as one JSON object")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Show the unavoidable delay of a varying capacity: percentiles, worst times, by loop delay."""
    _require_one_source(args)
    if args.plot is not None:
        require_free_picture(args.plot)
    try:
        found = _found(args)
    except (ValueError, OverflowError) as error:
        raise UsageError(str(error)) from error
    plots = Plots()
    if args.plot is not None:
        plots.plot(TraceFigure(found, _title(args)), args.plot)
        del found["series"]
    print(json.dumps(found) if args.json else "\n".join(map(one_line, _lines(args, found))))
    return plots.status()


def _require_one_source(args: argparse.Namespace) -> None:
    if args.file is not None and args.process is not None:
        raise UsageError("FILE and --process both give a capacity over time; use one of them")
    if args.file is None and args.process is None:
        raise UsageError("give a FILE, or --process wifi or cellular: the capacity over time")
    if args.fit and args.file is None:
        raise UsageError("--fit needs a FILE; a process needs no fit")
    for name in ("seed", "duration"):
        if getattr(args, name) is not None and args.process is None and not args.fit:
            raise UsageError(f"--{name} needs --process or --fit")
    if args.levels is not None and not args.fit:
        raise UsageError("--levels needs --fit")


def _found(args: argparse.Namespace) -> TraceTheory:
    series = args.plot is not None
    seed = 1 if args.seed is None else args.seed
    duration = args.duration or "60s"
    if args.process is not None:
        name, _, params = args.process.partition(",")
        return theory.process(
            name,
            args.delay,
            params=settings_of(params) if params else {},
            seed=seed,
            duration=duration,
            series=series,
        )
    if args.fit:
        return theory.fit(
            args.file,
            args.delay,
            levels=args.levels or 8,
            stretch=args.stretch,
            seed=seed,
            duration=duration,
            series=series,
        )
    return theory.trace(args.file, args.delay, args.stretch, series=series)


def _title(args: argparse.Namespace) -> str:
    if args.process is not None:
        return f"the process {args.process}"
    name = Path(args.file).name
    return f"a chain fitted to {name}" if args.fit else name


def _lines(args: argparse.Namespace, found: TraceTheory) -> list[str]:
    head = [f"link           {_title(args)}"] if args.process is not None or args.fit else []
    if "fitted" in found:
        head += _fitted_lines(found["fitted"])
    return head + _trace_lines(found)


def _fitted_lines(fitted: Fitted) -> list[str]:
    """List each rate with its share of the time and its mean dwell time, and the moments."""
    lines = [f"{'rates':15}{'':>12}{'time':>10}{'stay':>11}"]
    for place, (rate, share) in enumerate(zip(fitted["rates_bps"], fitted["shares"], strict=True)):
        stays = fitted["moves"][place][place]
        stay = ms_text(fitted["stretch_s"] / (1 - stays)) if stays < 1 else "for ever"
        lines.append(f"{'':15}{rate_text(rate):>12}{100 * share:>8.3g} %{stay:>11}")
    lines.append(f"{'':15}{'mean':>12}{'deviation':>16}  like itself one loop later")
    for name, moments in (("file", fitted["measured"]), ("chain", fitted["made"])):
        mean, deviation = rate_text(moments["mean_rate_bps"]), rate_text(moments["deviation_bps"])
        lines.append(f"{name:15}{mean:>12}{deviation:>16}  {moments['autocorrelation']:.3f}")
    delay = fitted["measured_delay"]
    lines.append(
        f"{'the file itself':14} {'sender':9}" + "".join(f"{name:>11}" for name in _SHARES)
    )
    lines.append(_shares_line("", "matching", delay))
    return [*lines, _shares_line("", "draining", delay["drained"])]


def _trace_lines(found: TraceTheory) -> list[str]:
    mean = rate_text(found["mean_rate_bps"])
    lines = [
        f"capacity       {mean} on average over {found['duration_s']:g} s",
        "minimum queueing delay of traffic that fills the link, over all arrivals:",
        f"{'loop delay':14} {'sender':9}" + "".join(f"{name:>11}" for name in _SHARES),
    ]
    for one in found["by_delay"]:
        lines.append(_shares_line(ms_text(one["delay_s"]), "matching", one))
        lines.append(_shares_line("", "draining", one["drained"]))
    for worst in found["worst"]:
        lines.append(
            f"worst          {ms_text(worst['delay_s'])} for arrivals at {worst['at_s']:.4g} s"
        )
    return [
        *lines,
        "matching: sends at the last known capacity; draining: also pauses until the queue that "
        "it caused is empty",
    ]


_SHARES = ("p50", "p95", "p99", "max")


def _shares_line(first: str, sender: str, delays: Percentiles) -> str:
    values = (delays["p50_s"], delays["p95_s"], delays["p99_s"], delays["max_s"])
    return f"{first:14} {sender:9}" + "".join(f"{ms_text(value):>11}" for value in values)
