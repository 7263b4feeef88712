"""`sojourn bench`."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sojourn import output
from sojourn.cli.console import console
from sojourn.cli.plots import Plots
from sojourn.run.progress import Bar

from sojourn_bench import bare, cases, measure
from sojourn_bench.figures import Bench


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn bench`."""
    add = parser.add_argument
    add("--quick", action="store_true", help="run a smoke test of the benchmark")
    add(
        "--case",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="measure only these cases, without scaling, memory, start-up and threads: "
        "A B B-lossless C C-codel A-linux B-linux C-linux",
    )
    add("--out", metavar="DIR", help="also write bench.json and a figure to this folder")
    add(
        "--json",
        action="store_true",
        help='print {"version", "quick", "machine", "bare_loop_pps", "cases", "scaling", "memory", '
        '"startup", "jobs"} and nothing else on standard output',
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Run the benchmark, show the tables, and write the files on request."""
    chosen = cases.QUICK if args.quick else cases.FULL
    for name in args.case:
        chosen.case(name)
    if args.out is not None:
        output.require_free(args.out)
    bare.program()
    figures = Plots()
    with Bar() as bar:
        found = measure.bench(chosen, args.case, bar.measuring, measure.split_by_component(chosen))
    if args.out is not None:
        from sojourn_bench import files

        files.write(found, Path(args.out), figures.report_missing)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        show(found, console())
    return figures.status()


def show(found: Bench, out: Console) -> None:
    """Print all results as tables."""
    low, high = found["bare_loop_low_pps"], found["bare_loop_high_pps"]
    speed = f"{_m(found['bare_loop_pps'])} M packets a CPU second ({_m(low)} to {_m(high)})"
    out.print(Text("Bare loop: ", style="bold").append(speed, style="default"))
    _print(out, "case", _CASE, [[name, *row] for name, row in _cases(found)])
    if rows := list(_parts(found)):
        _print(out, "ns a packet", _PARTS, rows)
    if found["scaling"]:
        _print(out, "flows", _SCALING, list(_scaling(found)))
    for line in _lines(found):
        out.print(line, highlight=False)
    if found["quick"]:
        out.print("With --quick, the figures are a smoke test, not a measurement.", style="dim")


def _m(pps: float) -> str:
    return f"{pps / 1e6:.2f}"


def _mb(count: int) -> str:
    return f"{count / 1e6:.1f}"


_CASE = ("M packets/s", "ratio", "low", "high", "sampled M/s", "ratio", "peak MB", "drops")
_PARTS = ("queue", "transport", "controller", "engine", "recording")
_SCALING = ("rate", "ns a packet", "low", "high", "ratio", "set up s", "peak MB", "drops")


def _cases(found: Bench) -> Iterator[tuple[str, list[str]]]:
    for name, case in found["cases"].items():
        ratios = [case["ratio"], case["ratio_low"], case["ratio_high"]]
        row = [_m(case["pps"]), *(f"{ratio:.3f}" for ratio in ratios)]
        row += [_m(case["sampled_pps"]), f"{case['sampled_ratio']:.3f}"]
        yield name, [*row, _mb(case["peak_memory_bytes"]), str(case["dropped_packets"])]


def _parts(found: Bench) -> Iterator[list[str]]:
    for name, case in found["cases"].items():
        if "parts_ns" in case:
            parts = case["parts_ns"]
            figures = (parts["queue"], parts["transport"], parts["controller"])
            rest = (parts["engine"], parts["recording"])
            yield [name, *(f"{figure:.1f}" for figure in (*figures, *rest))]


def _scaling(found: Bench) -> Iterator[list[str]]:
    for one in found["scaling"]:
        figures = [
            f"{one['ns_per_packet']:.1f}",
            f"{one['ns_per_packet_low']:.1f}",
            f"{one['ns_per_packet_high']:.1f}",
            f"{one['ratio']:.3f}",
            f"{one['setup_cpu_s']:.3f}",
        ]
        rest = [_mb(one["peak_memory_bytes"]), str(one["dropped_packets"])]
        yield [f"{one['flows']:,}", one["rate"], *figures, *rest]


def _lines(found: Bench) -> Iterator[str]:
    if "memory" in found:
        memory = found["memory"]
        yield (
            f"Memory: {memory['bytes_per_packet']:.0f} bytes a packet with "
            f"{memory['in_flight_packets']:,} in flight"
        )
    if "startup" in found:
        start = found["startup"]
        yield (
            f"Start-up: --help {start['help_best_s']:.3f} s (median {start['help_median_s']:.3f}), "
            f"one simulated second {start['run_best_s']:.3f} s "
            f"(median {start['run_median_s']:.3f})"
        )
    if "jobs" in found:
        jobs = found["jobs"]
        yield (
            f"Threads: {jobs['1']:.2f} s with one, {jobs['2']:.2f} s with two: "
            f"{jobs['speedup']:.2f} times as fast"
        )


def _print(out: Console, first: str, heads: tuple[str, ...], rows: list[list[str]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(*row)
    out.print(table)
