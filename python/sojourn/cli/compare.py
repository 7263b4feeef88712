"""`sojourn compare`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn import output
from sojourn.cli.console import console, name, show, show_tables, show_verdict
from sojourn.cli.options import (
    add_report_options,
    add_selection_options,
    chosen_of,
    file_name,
    is_dark,
    name_list,
    pictures_of,
    settings_of,
)
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.picture import require_free_picture
from sojourn.record import parts, summary_table
from sojourn.record.comparison import renaming, scenarios, text_tables
from sojourn.run import api, results
from sojourn.run.comparison import Comparison, combine
from sojourn.run.comparison import fill as fill_comparison
from sojourn.run.results import Run

# The controller of observations without a run beside them.
_OBSERVED = "observed"
# The first columns, which may wrap: controllers, and flows or links.
_FOLDED = 2


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn compare`."""
    parser.description = (
        "Compare run directories, of Sojourn or another program (`sojourn columns`): one table "
        "of all runs, named after their directories. Of two directories, a second table has the "
        "differences, and a figure draws one run over the other, in steps of the longer of their "
        "intervals. A series has the greatest value in each step, so percentiles of peaks "
        "(`_peak_` in --json) depend on the step, and are usually above those over all packets."
    )
    add = parser.add_argument
    add(
        "a",
        metavar="A",
        type=file_name,
        help="the reference run directory, or a file that `sojourn explain` reads",
    )
    add("b", metavar="B", type=file_name, help="the other run directory")
    add("more", metavar="C", type=file_name, nargs="*", help="further run directories")
    add_selection_options(parser, "compare")
    add(
        "--control",
        metavar="X,Y",
        type=name_list,
        help="compare only the runs of these controllers",
    )
    add(
        "--rename",
        metavar="OLD=NEW",
        type=settings_of,
        action="append",
        default=[],
        help="give a flow another name before flows are matched, as those of other programs are "
        "named after connections; may be repeated (without it, flows without a name in common "
        "are matched by position)",
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
        "--plot", metavar="FILE", help="write only the picture, as .html, .svg, .png or .pdf"
    )
    add(
        "--json",
        action="store_true",
        help='print "runs", with the keys of `sojourn run --json`, and, of two directories, "a", '
        '"b", "shift_b_s", "by_position", "only_in_a", "only_in_b", "not_compared", "flows" and '
        '"links", and nothing else on standard output; write files only with --out or --plot',
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show each run's table, peaks of steps and windows too, and say what the columns are",
    )
    add_report_options(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Compare two or more runs, write the report, show the tables."""
    directories = [args.a, args.b, *args.more]
    if args.more and args.shift_b:
        raise UsageError("--shift-b moves the second of two directories; leave it out")
    stem = "-vs-".join(Path(one).resolve().name for one in directories)
    out = output.choose(args.out, Path("runs") / stem)
    if args.plot is not None:
        require_free_picture(args.plot)
    # Named once, although one directory may be compared with itself.
    loaded = _loaded(directories)
    chosen = chosen_of(args, args.control)
    names = {old: new for given in args.rename for old, new in given.items()}
    named = renaming.everywhere([loaded[one] for one in directories], names)
    runs = [
        (one, parts.select(run, chosen, one)) for one, run in zip(directories, named, strict=True)
    ]
    if args.more:
        differ = scenarios.differences([loaded[one].scenario for one in directories])
        labels = scenarios.run_names([run for _, run in runs], differ, directories)
        each = {own: run for own, (_, run) in zip(labels, runs, strict=True)}
        return _end(combine(each), args, out)
    a, b = runs
    return _end(api.compare_selected(a, b, args.shift_b), args, out)


def _loaded(places: list[str]) -> dict[str, Run]:
    """Load run directories, and the observed series of files that `sojourn explain` reads."""
    loaded = {one: results.load(one) for one in places if not Path(one).is_file()}
    # An observation has no run; it is matched with that of the first directory.
    first = next((run.runs[0]["control"] for run in loaded.values()), _OBSERVED)
    for one in dict.fromkeys(places):
        if one not in loaded:
            from sojourn.capture import explained, explanation

            found = json.loads(explanation.text(one, twin=None))
            loaded[one] = explained.as_run(found, Path(one).name, first)
    return loaded


def _end(compared: Comparison | Run, args: argparse.Namespace, out: output.Choice) -> int:
    """Write the requested files, and show the tables or print the summary."""
    plots = Plots()
    written = _write(compared, args, out, plots)
    if args.json:
        sys.stdout.write(results.summary_text(compared.summary))
    elif isinstance(compared, Comparison):
        _show(compared, written, args.explain)
    else:
        show(compared, written, args.explain)
    return plots.status()


def _write(
    compared: Comparison | Run, args: argparse.Namespace, out: output.Choice, plots: Plots
) -> str | None:
    """Write the requested files; return the line that names them."""
    if args.plot is not None:
        drawn_alone = plots.plot(compared.plot(), args.plot, is_dark(args))
        return output.announced("Figure", args.plot) if drawn_alone else None
    if args.json and args.out is None:
        return None
    drawn = pictures_of(args, plots.report_missing)
    with out.opened() as opened:
        if isinstance(compared, Comparison):
            fill_comparison(compared, opened.place, drawn)
        else:
            results.fill(compared, opened.place, drawn)
    drawn.finish(opened.target, None if isinstance(compared, Comparison) else results.REDRAW)
    return output.announced("Comparison", opened.target, drawn.hint)


def _show(comparison: Comparison, written: str | None, explains: bool) -> None:
    out = console()
    summary = comparison.summary
    for line in text_tables.about(summary):
        out.print(name(line, "bold"), soft_wrap=True)
    if explains:
        show_tables(summary, out, explains)
    else:
        show_verdict(summary, out)
        for table in summary_table.build_all(summary):
            for remark in table.remarks:
                out.print(name(remark))
    _show_differences(comparison, out, explains)
    if written:
        out.print(name(written), soft_wrap=True)


def _show_differences(comparison: Comparison, out: Console, explains: bool) -> None:
    summary = comparison.summary
    for one in text_tables.build_all(summary, whole=explains):
        out.print(name(one.caption, "dim"))
        out.print(_table(one))
    for line in text_tables.gaps(summary, whole=explains):
        out.print(name(line))
    for line in text_tables.NOTES if explains else ():
        out.print(Text(line, style="dim"))


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
