"""`sojourn compare`."""

import argparse
import sys
from pathlib import Path
from typing import Literal

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn import api, combined, output, results
from sojourn.cli.console import console, name, show
from sojourn.cli.figures import Figures
from sojourn.cli.options import add_report_options, file_name, name_list, report_formats
from sojourn.cli.written import write_and_show
from sojourn.comparison import result, text_tables
from sojourn.comparison.result import Comparison
from sojourn.errors import UsageError
from sojourn.pictures import Pictures
from sojourn.report import require_free_figure

# The first columns, which may wrap: controllers, and flows or links.
_FOLDED = 2


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn compare`."""
    parser.description = (
        "Compare two run directories, of Sojourn or another program (docs/run-directory.md), in "
        "steps of the longer of their intervals. A series has the greatest value in each step. "
        "Percentiles of peaks (`_peak_` in --json) are over these values: they depend on the "
        "step, and are usually above those over all packets. The latter are shown beside them, "
        "for whole runs, if both summaries have them. With more than two directories, one "
        "table and one report show all of their runs, named after the directories."
    )
    add = parser.add_argument
    add("a", metavar="A", type=file_name, help="the reference run directory")
    add("b", metavar="B", type=file_name, help="the other run directory")
    add("more", metavar="C", type=file_name, nargs="*", help="further run directories")
    for kind in ("flow", "link"):
        add(f"--{kind}", metavar="X,Y", type=name_list, help=f"compare only these {kind}s")
    add(
        "--control",
        metavar="X,Y",
        type=name_list,
        help="compare only the runs of these controllers",
    )
    add(
        "--shift-b",
        metavar="SECONDS",
        type=float,
        default=0.0,
        help="add this to the times of B, whose clock may have another origin",
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--out",
        metavar="DIR",
        help="folder to write to (default: runs/A-vs-B, -2, -3, ... if taken)",
    )
    place.add_argument(
        "--plot", metavar="FILE", help="write only the figure, as .html, .svg or .png"
    )
    add(
        "--json",
        action="store_true",
        help='prints {"version", "a", "b", "shift_b_s", "only_in_a", "only_in_b", '
        '"not_compared", "flows", "links"} and nothing else on standard output; writes files '
        "only with --out or --plot",
    )
    add_report_options(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Compare two or more runs, write the report, show the table."""
    if args.more:
        return _execute_many(args)
    a, b = (Path(name).resolve().name for name in (args.a, args.b))
    out = output.choose(args.out, Path("runs") / f"{a}-vs-{b}")
    if args.plot is not None:
        require_free_figure(args.plot)
    comparison = api.compare(
        args.a,
        args.b,
        flow=args.flow,
        link=args.link,
        control=args.control,
        shift_b=args.shift_b,
    )
    figures = Figures()
    written = _write(comparison, args, out, figures)
    if args.json:
        sys.stdout.write(results.summary_text(comparison.summary))
    else:
        _show(comparison, written)
    return figures.status()


def _execute_many(args: argparse.Namespace) -> int:
    """Show the runs of three or more directories side by side."""
    if args.flow or args.link or args.control or args.shift_b:
        raise UsageError(
            "--flow, --link, --control and --shift-b compare two directories; leave them out"
        )
    directories = [args.a, args.b, *args.more]
    names = [Path(one).resolve().name for one in directories]
    labels = names if len(set(names)) == len(names) else directories
    if len(set(labels)) < len(labels):
        raise UsageError("a directory is named twice; name each once")
    out = output.choose(args.out, Path("runs") / "-vs-".join(names))
    if args.plot is not None:
        require_free_figure(args.plot)
    run = combined.combine(dict(zip(labels, directories, strict=True)))
    figures = Figures()
    if args.plot is not None:
        is_drawn = figures.plot(run.plot(), args.plot)
        if args.json:
            sys.stdout.write(results.summary_text(run.summary))
        else:
            show(run, output.announced("Figure", Path(args.plot)) if is_drawn else None)
        return figures.status()
    if args.json and args.out is None:
        sys.stdout.write(results.summary_text(run.summary))
        return 0
    drawn = Pictures(figures.report_missing, report_formats(args))
    return write_and_show(run, out, drawn, figures, args.json)


def _write(
    comparison: Comparison, args: argparse.Namespace, out: output.Choice, figures: Figures
) -> tuple[str, Path, str] | None:
    """Write the requested files; return their kind, their location and a hint."""
    if args.plot is not None:
        drawn_alone = figures.plot(comparison.plot(), args.plot)
        return ("Figure", Path(args.plot), "") if drawn_alone else None
    if args.json and args.out is None:
        return None
    drawn = Pictures(figures.report_missing, report_formats(args))
    with out.opened() as opened:
        result.fill(comparison, opened.place, drawn)
    drawn.finish(opened.target)
    return "Comparison", opened.target, drawn.hint


def _show(comparison: Comparison, written: tuple[str, Path, str] | None) -> None:
    out = console()
    summary = comparison.summary
    for line in text_tables.about(summary):
        out.print(name(line, "bold"), soft_wrap=True)
    for one in text_tables.build_all(summary):
        out.print(name(one.caption, "dim"))
        out.print(_table(one))
    for line in text_tables.gaps(summary):
        out.print(name(line))
    for line in text_tables.NOTES:
        out.print(Text(line, style="dim"))
    if written:
        out.print(name(output.announced(*written)), soft_wrap=True)


def _table(grid: text_tables.TextTable) -> Table:
    part = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(grid.heads):
        justify: Literal["left", "right"] = "left" if place < grid.names else "right"
        # The user's names may be long and wrap; figures and their names do not.
        if place < _FOLDED:
            part.add_column(head, overflow="fold")
        else:
            part.add_column(head, justify=justify, no_wrap=True)
    for place, row in enumerate(grid.rows):
        part.add_row(*map(name, row), end_section=place + 1 in grid.starts)
    return part
