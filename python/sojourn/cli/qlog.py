"""`sojourn qlog`."""

import argparse
import sys
from pathlib import Path

from sojourn import output, terminal
from sojourn.capture import qlog
from sojourn.cli.options import add_explain, add_report_options, file_name, is_dark, pictures_of
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.picture import require_free_picture
from sojourn.run import results


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn qlog`."""
    add = parser.add_argument
    help_text = "a .qlog or .sqlog file, plain or packed (.gz, .zst)"
    add("files", metavar="FILE", type=file_name, nargs="+", help=help_text)
    add(
        "--interval",
        metavar="SECONDS",
        type=float,
        default=None,
        help="time between samples (default: a 500th of the time, at least 1 ms)",
    )
    add(
        "--control",
        metavar="NAME",
        default="qlog",
        help="name of its controller, by which `sojourn compare` matches runs (default: qlog)",
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--out", metavar="DIR", help="write a run directory, for `sojourn compare`")
    place.add_argument(
        "--plot", metavar="FILE", help="write only the picture, as .html, .svg, .png or .pdf"
    )
    add("--json", action="store_true", help="print the JSON object of `sojourn run --json`")
    add_explain(parser)
    add_report_options(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Read the files, write the requested output, show the table; report damaged files."""
    if args.out is not None:
        output.require_free(args.out)
    if args.plot is not None:
        require_free_picture(args.plot)
    if args.interval is not None and not args.interval > 0:
        raise UsageError(f"--interval is {args.interval:g}; it must be more than 0 seconds")
    run, damages = qlog.read(args.files, args.control, args.interval)
    written: tuple[str, Path, str] | None = None
    plots = Plots()
    if args.out is not None:
        drawn = pictures_of(args, plots.report_missing)
        target = results.write(run, Path(args.out), drawn)
        written = "Run directory", target, drawn.hint
    elif args.plot is not None and plots.plot(run.plot(), args.plot, is_dark(args)):
        written = "Figure", Path(args.plot), ""
    if args.json:
        sys.stdout.write(results.summary_text(run.summary))
    else:
        from sojourn.cli import console

        console.show(run, output.announced(*written) if written else None, args.explain)
    for damage in damages:
        terminal.say(f"sojourn: {damage}")
    return plots.status(1 if damages else 0)
