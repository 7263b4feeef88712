"""`sojourn matrix`."""

import argparse
import sys
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from sojourn import api, output
from sojourn.cli.console import console, name
from sojourn.cli.figures import Figures
from sojourn.cli.scenarios import load_controllers, prints_aside
from sojourn.matrix import matrix_tables, measure, plan
from sojourn.matrix.measure import MatrixSummary
from sojourn.progress import Bar

# With more rows, the terminal shows only single flows; the files also have the pairs.
_MOST_ROWS = 100


def matrix(args: argparse.Namespace) -> int:
    """Simulate every combination, show the table, and write the files on request."""
    if args.out is not None:
        output.require_free(args.out)
    axes = plan.choose_axes(
        args.controls,
        args.queues,
        load_controllers(args.controller),
        rtts=args.rtts,
        rate=args.rate,
        buffer=args.buffer,
        duration=args.duration,
        seed=args.seed,
        runs=args.runs,
    )
    figures = Figures()
    with Bar() as bar, prints_aside():
        found = measure.measure(axes, api.threads_of(args.jobs), bar.simulating)
        if args.out is not None:
            bar.writing()
            matrix_tables.write(found, Path(args.out), figures.tell)
    if args.json:
        sys.stdout.write(matrix_tables.json_text(found))
    elif args.markdown:
        sys.stdout.write(matrix_tables.markdown(found))
    else:
        _show(found, console())
    return figures.status()


def _show(found: MatrixSummary, out: Console) -> None:
    """Print the rows; if there are too many to read, only those of single flows."""
    rows = list(matrix_tables.rows(found))
    shown = rows if len(rows) <= _MOST_ROWS else [row for row in rows if row.alone]
    for queue in found["queues"]:
        out.print(_table(queue, [row for row in shown if row.queue == queue]))
    for line in (matrix_tables.about(found), *matrix_tables.refusals(found)):
        out.print(name(line, "dim"))
    if hidden := len(rows) - len(shown):
        out.print(
            f"{hidden:,} rows of two against each other are not shown: name fewer --controls or "
            "--queues, or write all with --out DIR",
            style="dim",
            highlight=False,
        )


def _table(queue: str, rows: list[matrix_tables.Row]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column(queue, no_wrap=True)
    for metric in matrix_tables.METRICS:
        shown.add_column(f"{metric.name}\n{metric.unit}", justify="right")
    for row in rows:
        shown.add_row(name(row.flows), *("  ".join(texts) for texts in row.texts))
    return shown
