"""`sojourn matrix`."""

import argparse
import sys
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from sojourn import output
from sojourn.cli import interrupts
from sojourn.cli.console import console, name
from sojourn.cli.options import add_controller_option, add_place, name_list, positive, whole
from sojourn.cli.plots import Plots
from sojourn.cli.scenarios import load_controllers, prints_aside
from sojourn.errors import UsageError
from sojourn.run.progress import Bar
from sojourn.sweep.cells import Place
from sojourn.sweep.matrix import measure, plan, tables
from sojourn.sweep.matrix.measure import MatrixSummary

# With more rows, the terminal shows only single flows; the files also have the pairs.
_MOST_ROWS = 100


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn matrix`."""
    add = parser.add_argument
    add("--controls", metavar="A,B", type=name_list, help="run these controllers (default: all)")
    add_controller_option(parser)
    add("--queues", metavar="X,Y", type=name_list, help="run over these queues (default: all)")
    add("--rtts", metavar="T,U", type=name_list, help="base RTTs (default: 10ms,40ms,160ms)")
    add("--rate", metavar="RATE", help="rate of the bottleneck (default: 50Mbit)")
    add("--buffer", metavar="SIZE", help="buffer in bytes, packets or time (default: 100ms)")
    add("--duration", metavar="DURATION", help="duration of each simulation (default: 30s)")
    add("--seed", metavar="N", type=whole, help="seed of all random draws (default: 1)")
    add(
        "--runs",
        metavar="N",
        type=positive,
        help="repeat each combination with N consecutive seeds; figures are then means with their "
        "95 %% confidence intervals (default: 1)",
    )
    add(
        "--stack",
        metavar="NAME",
        help="carry the flows by a real QUIC stack, such as `noq`",
    )
    add(
        "--quic",
        metavar="A,B",
        type=name_list,
        help="also run each controller alone in these QUIC stacks, such as `noq,quinn`, and in "
        "Sojourn's model of QUIC",
    )
    add_place(parser)
    add("--out", metavar="DIR", help="write matrix.json and heat maps to this folder")
    add("--json", action="store_true", help="print every figure as one JSON object")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Simulate every combination, show the table, and write the files on request."""
    if args.out is not None:
        output.require_free(args.out)
    if args.stack is not None and args.quic is not None:
        raise UsageError("give --stack, which carries all flows, or --quic, which adds rows")
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
        stack=args.stack,
        quic=args.quic,
    )
    place = Place(args.jobs, args.dataset, args.cluster)
    plots = Plots()
    with Bar() as bar, prints_aside(), interrupts.keeping(args.dataset):
        found = measure.measure(axes, place, bar.simulating)
        if args.out is not None:
            bar.writing("heat maps")
            tables.write(found, Path(args.out), plots.report_missing)
    if args.json:
        sys.stdout.write(tables.json_text(found))
    else:
        _show(found, console())
    return plots.status()


def _show(found: MatrixSummary, out: Console) -> None:
    """Print the rows; if there are too many to read, only those of single flows."""
    rows = list(tables.rows(found))
    shown = rows if len(rows) <= _MOST_ROWS else [row for row in rows if row.alone]
    for queue in found["queues"]:
        out.print(_table(queue, [row for row in shown if row.queue == queue]))
    notes = (tables.comparisons, tables.closings, tables.refusals)
    for line in (tables.about(found), *(line for note in notes for line in note(found))):
        out.print(name(line, "dim"))
    if hidden := len(rows) - len(shown):
        out.print(
            f"{hidden:,} rows of pairs are not shown: name fewer --controls or "
            "--queues, or write all with --out DIR",
            style="dim",
            highlight=False,
        )


def _table(queue: str, rows: list[tables.Row]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column(queue, no_wrap=True)
    for metric in tables.METRICS:
        shown.add_column(f"{metric.name}\n{metric.unit}", justify="right")
    for row in rows:
        shown.add_row(name(row.flows), *("  ".join(texts) for texts in row.texts))
    return shown
