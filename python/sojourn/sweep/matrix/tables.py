"""The matrix as tables and files.

A table has one row per queue and flow or pair, and one figure per RTT in a cell.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import output
from sojourn.picture import pictures
from sojourn.record import stats
from sojourn.record.formatting import MISSING
from sojourn.sweep.matrix import picture, plan
from sojourn.sweep.matrix.measure import Cell, MatrixSummary


@dataclass(frozen=True)
class Metric:
    """A figure of a cell or of each flow, with its name and format."""

    name: str
    unit: str
    digits: int
    values: Callable[[Mapping[str, Any]], Sequence[float]]

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


# Differences of a stack's goodput from the model's that count as small, and as large.
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


def comparisons(found: MatrixSummary) -> list[str]:
    """Count the flows in a stack with about the model's goodput, in a sentence for each stack."""
    singles = [cell for cell in found["cells"] if cell["carrier"]]
    modelled = {_place(cell): cell for cell in singles if cell["carrier"] == plan.MODEL}
    lines = []
    for stack in found["quic"]:
        cells = [cell for cell in singles if cell["carrier"] == stack]
        own = [_difference(cell, modelled[_place(cell)]) for cell in cells]
        near, far = sum(one <= _NEAR for one in own), sum(one > _FAR for one in own)
        lines.append(
            f"Goodput in {stack} and in the model: differs by at most {100 * _NEAR:.0f} % in "
            f"{near} of {len(own)} cells, and by more than {100 * _FAR:.0f} % in {far}"
        )
    return lines


def _place(cell: Cell) -> tuple[str, str, str]:
    return cell["queue"], cell["rtt"], cell["controls"][0]


def _difference(cell: Cell, modelled: Cell) -> float:
    """Return the difference from the model's goodput as a share of it."""
    bps, modelled_bps = cell["goodput_bps"][0], modelled["goodput_bps"][0]
    return abs(bps - modelled_bps) / modelled_bps if modelled_bps else 0.0


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


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def write(
    found: MatrixSummary, target: Path, report_missing: pictures.ReportMissing = pictures.warn
) -> None:
    """Write `matrix.json` and the maps to `target`, which must be free."""
    drawn = pictures.Pictures(report_missing)
    pictures.write_folder(target, lambda *to: _write_files(found, *to), drawn)


def json_text(found: MatrixSummary) -> str:
    """Format the whole matrix as JSON."""
    return json.dumps(found, indent=1) + "\n"


def _write_files(found: MatrixSummary, place: Path, drawn: pictures.Pictures) -> None:
    output.write_file(place / "matrix.json", json_text(found))
    drawn.draw(picture.alone(found), place / "alone")
    if found["quic"]:
        drawn.draw(picture.over_quic(found), place / "quic")
    for queue in found["queues"]:
        drawn.draw(picture.together(found, queue), place / f"together-{queue}")
