"""The matrix as tables and files.

A table has one row per queue and flow or pair, and one figure per RTT in a cell.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import output, pictures, stats
from sojourn.formatting import MISSING
from sojourn.matrix import figure, plan
from sojourn.matrix.measure import Cell, MatrixSummary


@dataclass(frozen=True)
class Metric:
    """A figure of a cell or of each flow, with its name and format."""

    name: str
    unit: str
    digits: int
    values: Callable[[Mapping[str, Any]], Sequence[float]]

    @property
    def head(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def text(self, cell: Cell) -> str:
        """Format the figures; for several runs, means with half of their confidence intervals."""
        runs = [self.values(one) for one in cell["each"]] or [self.values(cell)]
        return "+".join(map(self._mean_text, zip(*runs, strict=True))) or MISSING

    def _mean_text(self, values: Sequence[float]) -> str:
        around = stats.mean_interval(values)
        half = f"±{(around[1] - around[0]) / 2:.{self.digits}f}" if around else ""
        return f"{stats.mean(values):.{self.digits}f}{half}"


@dataclass(frozen=True)
class Row:
    """One flow or pair over one queue; a text for each metric and RTT."""

    queue: str
    flows: str
    texts: list[list[str]]
    alone: bool


def _permille(key: str) -> Callable[[Mapping[str, Any]], Sequence[float]]:
    def values(cell: Mapping[str, Any]) -> Sequence[float]:
        delivered = cell["delivered_packets"]
        return [1000 * cell[key] / delivered if delivered else 0.0]

    return values


METRICS = [
    Metric("goodput", "Mbit/s", 1, lambda cell: [bps / 1e6 for bps in cell["goodput_bps"]]),
    Metric("queue p99", "ms", 1, lambda cell: [1e3 * cell["queue_delay_p99_s"]]),
    Metric("marks", "‰", 1, _permille("marked_packets")),
    Metric("drops", "‰", 1, _permille("dropped_packets")),
    Metric("Jain", "", 2, lambda cell: [] if cell["jain"] is None else [cell["jain"]]),
]


def rows(found: MatrixSummary) -> Iterator[Row]:
    """Build one row per queue and flow or pair, in the order of simulation."""
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in found["cells"]:
        name = plan.row_name(cell["controls"], cell["carrier"])
        cells.setdefault((cell["queue"], name), []).append(cell)
    for (queue, flows), group in cells.items():
        texts = [[metric.text(cell) for cell in group] for metric in METRICS]
        texts[0] = [
            text + _CLOSED * bool(cell["closed"])
            for text, cell in zip(texts[0], group, strict=True)
        ]
        yield Row(queue, flows, texts, len(group[0]["controls"]) == 1)


# Differences of a stack's goodput from the model's that count as small, and that are listed.
_NEAR, _FAR = 0.02, 0.05
# The mark of a goodput whose connection the stack has ended early.
_CLOSED = "†"


def closings(found: MatrixSummary) -> list[str]:
    """List the reasons for which stacks have ended connections, and the number of such cells."""
    reasons: dict[str, int] = {}
    for cell in found["cells"]:
        for reason in cell["closed"]:
            reasons[reason] = reasons.get(reason, 0) + 1
    return [
        f"{_CLOSED} The stack has ended the connection early (cells: {count}): {reason}"
        for reason, count in reasons.items()
    ]


@dataclass(frozen=True)
class Gap:
    """The goodput of a flow in a stack, beside that in the model of QUIC."""

    stack: str
    cell: Cell
    modelled_bps: float

    @property
    def share(self) -> float:
        """The difference as a share of the model's goodput."""
        real = self.cell["goodput_bps"][0]
        return abs(real - self.modelled_bps) / self.modelled_bps if self.modelled_bps else 0.0


def gaps(found: MatrixSummary) -> list[Gap]:
    """Compare each flow in a stack with the model of QUIC."""
    of = {(c["queue"], c["rtt"], c["controls"][0], c["carrier"]): c for c in found["cells"]}
    return [
        Gap(stack, cell, of[queue, rtt, control, plan.MODEL]["goodput_bps"][0])
        for (queue, rtt, control, stack), cell in of.items()
        if stack is not None and stack != plan.MODEL
    ]


def comparisons(found: MatrixSummary) -> list[str]:
    """Count the flows in a stack with about the model's goodput, in a sentence for each stack."""
    lines = []
    for stack in found["quic"]:
        own = [gap.share for gap in gaps(found) if gap.stack == stack]
        near, far = sum(one <= _NEAR for one in own), sum(one > _FAR for one in own)
        lines.append(
            f"Goodput in {stack} and in the model: differs by at most {100 * _NEAR:.0f} % in "
            f"{near} of {len(own)} cells, and by more than {100 * _FAR:.0f} % in {far}"
        )
    return lines


def _gap_table(found: MatrixSummary) -> list[str]:
    """Format the large differences as a Markdown table."""
    far = [gap for gap in gaps(found) if gap.share > _FAR]
    heads = ("flow", "queue", "base RTT", "stack (Mbit/s)", "model (Mbit/s)")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for gap in far:
        cell = gap.cell
        closed = _CLOSED * bool(cell["closed"])
        parts = (
            plan.row_name(cell["controls"], gap.stack),
            cell["queue"],
            cell["rtt"],
            f"{cell['goodput_bps'][0] / 1e6:.1f}{closed}",
            f"{gap.modelled_bps / 1e6:.1f}",
        )
        lines.append(f"| {' | '.join(parts)} |")
    return ["\n".join(lines)] if far else []


def about(found: MatrixSummary) -> str:
    """Describe the simulations in a sentence."""
    rtts = _listed(found["rtts"])
    stack = "" if found["stack"] is None else f"The stack {found['stack']} carries the flows. "
    return (
        f"{stack}One bottleneck of {found['rate']} with a buffer of {found['buffer']}, bulk flows "
        f"for {found['duration']}, {_seeds(found)}; the second flow starts after a second. "
        f"Figures are for base RTTs of {rtts}, in this order; marks and drops are per thousand "
        f"packets delivered; all count from the start, slow start included. Goodput is over each "
        f"flow's own time, so that the two of a pair may have more than the link together."
        f"{_about_quic(found)}"
    )


def _about_quic(found: MatrixSummary) -> str:
    if not found["quic"]:
        return ""
    stacks = _listed([f"({name})" for name in found["quic"]])
    return (
        f" Rows with {stacks} are of a flow that this QUIC stack carries, with real packets in "
        f"virtual time, and rows with ({plan.MODEL}) of Sojourn's model of QUIC."
    )


def _seeds(found: MatrixSummary) -> str:
    first, runs = found["seed"], found["runs"]
    if runs == 1:
        return f"seed {first}"
    fewest = min((cell["distinct"] for cell in found["cells"]), default=runs)
    alike = "" if fewest == runs else f" (as few as {fewest} of them distinct)"
    return (
        f"means of {runs} runs{alike} with seeds {first} to {first + runs - 1}, ± half of their "
        "95 % confidence intervals (Student)"
    )


def refusals(found: MatrixSummary) -> list[str]:
    """List impossible combinations, one line per reason with all affected controllers."""
    reasons: dict[str, dict[str, None]] = {}
    for one in found["refused"]:
        who = plan.row_name(one["controls"], one["carrier"])
        reasons.setdefault(one["reason"], {})[who] = None
    return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]


def markdown(found: MatrixSummary) -> str:
    """Format the whole matrix as Markdown."""
    parts = ["# Every controller over every queue", about(found) + _WRITTEN * _is_shipped(found)]
    for queue in found["queues"]:
        own = [row for row in rows(found) if row.queue == queue]
        parts += [f"## {queue}", _markdown_table(own)]
    if compared := [*comparisons(found), *closings(found)]:
        parts += ["## Stacks and the model of QUIC", "\n".join(f"- {line}" for line in compared)]
        parts += _gap_table(found)
    if left_out := refusals(found):
        parts += ["## Not combined", "\n".join(f"- {line}" for line in left_out)]
    return "\n\n".join(parts) + "\n"


SHIPPED_STACKS = ("noq",)
"""The QUIC stacks of docs/matrix.md."""
_WRITTEN = " Written by `make matrix`; a test compares it with the simulation."


def _is_shipped(found: MatrixSummary) -> bool:
    """Return whether this is the matrix of docs/matrix.md, which a test checks."""
    asked: dict[str, Any] = {**found}
    whole = plan.choose_axes(None, None, quic=SHIPPED_STACKS)
    lists = ("controls", "queues", "rtts", "quic")
    return all(list(asked[key]) == list(getattr(whole, key)) for key in lists) and (
        all(
            asked[key] == getattr(whole, key)
            for key in ("rate", "buffer", "duration", "seed", "runs")
        )
    )


def _markdown_table(own: Sequence[Row]) -> str:
    heads = ["flows", *(metric.head for metric in METRICS)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in own:
        cells = [row.flows, *("  ".join(texts) for texts in row.texts)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def write(
    found: MatrixSummary, target: Path, report_missing: pictures.ReportMissing = pictures.warn
) -> None:
    """Write `matrix.json`, `matrix.md` and the maps to `target`, which must be free."""
    drawn = pictures.Pictures(report_missing)
    pictures.write_folder(target, lambda *to: _write_files(found, *to), drawn)


def json_text(found: MatrixSummary) -> str:
    """Format the whole matrix as JSON."""
    return json.dumps(found, indent=1) + "\n"


def _write_files(found: MatrixSummary, place: Path, drawn: pictures.Pictures) -> None:
    output.write_file(place / "matrix.json", json_text(found))
    output.write_file(place / "matrix.md", markdown(found))
    drawn.draw(figure.alone(found), place / "alone")
    if found["quic"]:
        drawn.draw(figure.over_quic(found), place / "quic")
    for queue in found["queues"]:
        drawn.draw(figure.together(found, queue), place / f"together-{queue}")
