"""`sojourn sweep show` and `sojourn sweep query`."""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn import extras, output, terminal
from sojourn.cli.console import console, name
from sojourn.cli.options import file_name, name_list
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.picture import require_free_picture
from sojourn.record import stats
from sojourn.record.formatting import MISSING
from sojourn.sweep import figures, queries
from sojourn.sweep.figures import Metric
from sojourn.sweep.result import Dataset

# Longer tables are not readable.
_MOST_ROWS = 60
_MOST_QUERIED = 1000


def declare_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn sweep show`."""
    parser.description = (
        "Print medians over the seeds for each point of a sweep, with 95 % confidence intervals "
        "from 6 seeds on, and draw one figure over its axes: a heat map over --x and --y, or lines "
        "over --x."
    )
    add = parser.add_argument
    add("directory", metavar="DIR", type=file_name, help="the folder of the dataset")
    add(
        "--metric",
        metavar="TABLE.COLUMN",
        action="append",
        default=[],
        help="show this figure, such as links.queue_delay_p99_s; may be repeated",
    )
    add(
        "--name",
        metavar="A,B",
        type=name_list,
        default=[],
        help="only these flows and links; by default all flows, and the bottleneck",
    )
    add("--where", metavar="CONDITION", help="only these points, such as 'rate >= 10Mbit'")
    add("--x", metavar="AXIS", help="horizontal axis of the picture")
    add("--y", metavar="AXIS", help="vertical axis of a heat map")
    add("--by", metavar="AXIS", help="one line for each value (default: control)")
    add("--facet", metavar="AXIS", help="one small picture for each value")
    add("--plot", metavar="FILE", help="draw a picture, as .html, .svg, .png or .pdf")
    add("--json", action="store_true", help="print the rows of the table as JSON")
    parser.set_defaults(execute=show)


def declare_query(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn sweep query`."""
    parser.description = (
        "Query the tables points, runs, flows, links and spikes of a sweep in SQL: one SELECT, "
        "which opens no other file and writes none. Needs: "
        f"{extras.installation('sweep')}."
    )
    parser.add_argument(
        "directory", metavar="DIR", type=file_name, help="the folder of the dataset"
    )
    parser.add_argument("sql", metavar="SQL", help="such as 'select run, error from runs'")
    parser.add_argument("--csv", action="store_true", help="print the rows as CSV")
    parser.set_defaults(execute=query)


def show(args: argparse.Namespace) -> int:
    """Print the table, and draw the picture if asked."""
    dataset = Dataset(args.directory)
    if args.where is not None:
        dataset = figures.where(dataset, args.where)
    metrics = [figures.parse(text) for text in args.metric]
    if args.plot is None and (args.x or args.y or args.facet):
        raise UsageError("--x, --y and --facet choose the axes of a picture; name it with --plot")
    if args.json:
        rows = figures.table(dataset, metrics or list(figures.DEFAULTS), args.name)
        print(json.dumps(rows.to_dicts(), indent=1))
        _say_missing(dataset)
    else:
        show_table(dataset, metrics, args.name)
    return _draw(dataset, metrics, args) if args.plot is not None else 0


def show_table(dataset: Dataset, metrics: Sequence[Metric] = (), names: Sequence[str] = ()) -> None:
    """Print one row for each point, and the failures."""
    chosen = list(metrics) or list(figures.DEFAULTS)
    rows = figures.table(dataset, chosen, names)
    axes = figures.axes_of(dataset)
    shown = [one for one in chosen if figures.label(one) in rows.columns]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    # A derived value repeats the axes that it follows from.
    columns = [axis for axis in axes if axis not in dataset.derived]
    for axis in columns:
        table.add_column(figures.words(axis), no_wrap=True)
    table.add_column("runs", justify="right")
    for metric in shown:
        table.add_column(f"{metric.head}\n{metric.unit[0]}", justify="right")
    for row in rows.head(_MOST_ROWS).iter_rows(named=True):
        cells = [_cell(row, metric) for metric in shown]
        texts = [name(figures.axis_text(axis, row[axis])) for axis in columns]
        table.add_row(*texts, f"{row['n']:,}" if row["n"] else MISSING, *cells)
    out = console()
    out.print(table)
    if missing := _missing(dataset):
        out.print(missing)
    if about := _about_seeds(max(rows["n"].to_list(), default=0)):
        out.print(about, style="dim")
    subjects = [(metric, figures.subject(dataset, metric, names)) for metric in shown]
    said = [f"{metric.head}: {subject}" for metric, subject in subjects if subject]
    if said:
        out.print(name("; ".join(said)), style="dim")
    if derived := ", ".join(figures.words(axis) for axis in axes if axis in dataset.derived):
        out.print(name(f"derived from these axes, and in --json: {derived}"), style="dim")
    if rows.height > _MOST_ROWS:
        out.print(f"{_MOST_ROWS} of {rows.height:,} points; --json has the others", style="dim")
    errors = dataset.runs["error"].drop_nulls()
    if not errors.is_empty():
        out.print(name(f"{len(errors):,} runs failed, the first with: {errors[0]}"))
    out.print(name(f"Dataset: {dataset.folder}"), soft_wrap=True)


def _cell(row: Mapping[str, Any], metric: Metric) -> Text:
    """Format a median, with its interval below as in the table of `run`."""
    keys = (figures.label(metric, end) for end in ("", "_low", "_high"))
    median, low, high = (_number(row[key], metric) for key in keys)
    text = Text(median)
    return text if low == high else text.append(f"\n{low}–{high}", style="dim")


def _number(value: float | None, metric: Metric) -> str:
    return MISSING if value is None else f"{value * metric.unit[1]:,.4g}"


def _about_seeds(most: int) -> str:
    """Say what the table has for points of up to `most` runs."""
    if most < 2:
        return ""
    if stats.interval_ranks(most) is None:
        return "medians over the seeds; from 6 runs of a point on, with confidence intervals"
    return "medians over the seeds, with their 95 % confidence intervals"


def _draw(dataset: Dataset, metrics: Sequence[Metric], args: argparse.Namespace) -> int:
    """Draw the first figure."""
    from sojourn.sweep import pictures

    metric = next(iter(metrics), pictures.DEFAULT)
    view = pictures.View(metric, args.x, args.y, args.by, args.facet, args.name)
    require_free_picture(args.plot)
    own = Plots()
    if own.plot(pictures.DatasetFigure(dataset, view), args.plot):
        terminal.say(output.announced("Picture", args.plot))
    return own.status()


def query(args: argparse.Namespace) -> int:
    """Run a query and print its rows."""
    dataset = Dataset(args.directory)
    columns, rows = queries.query(dataset, args.sql)
    _print_rows(columns, rows, args.csv)
    _say_missing(dataset)
    return 0


def _missing(dataset: Dataset) -> str:
    """Say how many runs an interrupted sweep lacks, or nothing."""
    planned = dataset.points.height
    missing = dataset.missing.height
    ran = f"{planned - missing:,} of {planned:,} runs"
    return f"{ran}; the same command continues" if missing else ""


def _say_missing(dataset: Dataset) -> None:
    """Say it beside rows for programs."""
    if missing := _missing(dataset):
        terminal.say(f"note: {dataset.folder}: {missing}")


def _print_rows(columns: Sequence[str], rows: Iterator[Sequence[object]], as_csv: bool) -> None:
    if as_csv:
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(name(column))
    for row in itertools.islice(rows, _MOST_QUERIED):
        table.add_row(*(name("–" if cell is None else str(cell)) for cell in row))
    out = console()
    out.print(table)
    if next(rows, None) is not None:
        out.print(f"the first {_MOST_QUERIED:,} rows; --csv has the others", style="dim")
