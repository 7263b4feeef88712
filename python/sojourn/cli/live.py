"""`sojourn live`."""

import argparse
import sys
from pathlib import Path

from sojourn import api, experiment, output, results
from sojourn.cli.figures import Figures
from sojourn.cli.options import add_scenario_options
from sojourn.cli.scenarios import read
from sojourn.exports import Captures
from sojourn.pictures import Pictures
from sojourn.progress import Bar
from sojourn.real_time import Live
from sojourn.results import Run


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn live`."""
    parser.description = (
        "Run a scenario in real time: real network stacks in network namespaces of this process, "
        "over the scenario's links (docs/live.md). The record is that of `sojourn run`, so "
        "`sojourn compare` takes both."
    )
    add_scenario_options(parser)
    parser.add_argument(
        "--stack",
        choices=("kernel", "udp"),
        default="kernel",
        help="hosts of the flows: the kernel's TCP with its controllers, or Sojourn's transport "
        "over UDP with all of Sojourn's (default: kernel)",
    )
    parser.add_argument("--ipv6", action="store_true", help="use IPv6 instead of IPv4")
    parser.add_argument(
        "--pcapng",
        metavar="DIR",
        help="write the packets to this folder, in two capture files a run: at the senders, and at "
        "the receivers (docs/live.md)",
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Run a scenario live, write the run directory, and show the table."""
    name = "stdin" if args.file == "-" else Path(args.file).stem
    out = output.choose(args.out, Path("runs") / f"{name}-live")
    captures = Captures.to(args.pcapng, None)
    captures.require_free()
    captures.require_apart_from(out.path)
    core = experiment.prepare(
        read(args.file),
        assignments=args.set,
        control=args.control,
        seed=args.seed,
        spread=args.spread,
    )
    captures.require_possible(core)
    live = Live(args.stack, args.ipv6)
    figures = Figures()
    if args.json and args.out is None:
        with Bar() as bar, captures.opened() as files:
            run = api.record_live(core, args.file, args.runs, live, bar.simulating, files)
        return _shown(args, figures, run)
    drawn = Pictures(figures.report_missing)
    with Bar() as bar, captures.opened() as files, out.opened() as opened:
        run = api.record_live(core, args.file, args.runs, live, bar.simulating, files)
        bar.writing()
        results.fill(run, opened.place, drawn)
    drawn.finish(opened.target, results.REDRAW)
    return _shown(args, figures, run, opened.target)


def _shown(args: argparse.Namespace, figures: Figures, run: Run, target: Path | None = None) -> int:
    if args.json or target is None:
        sys.stdout.write(results.summary_text(run.summary))
        return figures.status()
    from sojourn.cli import console

    console.show(run, target)
    return figures.status()
