"""The matrix as tables: a row for each flow or two over a queue, in each cell one figure an RTT."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.matrix import plan
from sojourn.matrix.contract import Cell, MatrixSummary
from sojourn.table import MISSING


@dataclass(frozen=True)
class Metric:
    """A figure of a cell: how it is called, and how it is said."""

    name: str
    unit: str
    text: Callable[[Cell], str]

    @property
    def head(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Row:
    """One flow or two over one queue; a text for each metric and RTT."""

    queue: str
    flows: str
    texts: list[list[str]]
    alone: bool


def _goodput(cell: Cell) -> str:
    return "+".join(f"{bps / 1e6:.1f}" for bps in cell["goodput_bps"])


def _permille(count: int, cell: Cell) -> str:
    return f"{1000 * count / cell['delivered_packets']:.1f}" if cell["delivered_packets"] else "0.0"


def _jain(cell: Cell) -> str:
    return MISSING if cell["jain"] is None else f"{cell['jain']:.2f}"


METRICS = [
    Metric("goodput", "Mbit/s", _goodput),
    Metric("queue p99", "ms", lambda cell: f"{1e3 * cell['queue_delay_p99_s']:.1f}"),
    Metric("marks", "‰", lambda cell: _permille(cell["marked_packets"], cell)),
    Metric("drops", "‰", lambda cell: _permille(cell["dropped_packets"], cell)),
    Metric("Jain", "", _jain),
]


def rows(found: MatrixSummary) -> Iterator[Row]:
    """A row for each queue and flow or two, in the order in which they were run."""
    cells: dict[tuple[str, tuple[str, ...]], list[Cell]] = {}
    for cell in found["cells"]:
        cells.setdefault((cell["queue"], tuple(cell["controls"])), []).append(cell)
    for (queue, controls), of in cells.items():
        texts = [[metric.text(cell) for cell in of] for metric in METRICS]
        yield Row(queue, " + ".join(controls), texts, len(controls) == 1)


def about(found: MatrixSummary) -> str:
    """What was run, in a sentence."""
    rtts = _listed(found["rtts"])
    return (
        f"One bottleneck of {found['rate']} with a buffer of {found['buffer']}, bulk flows for "
        f"{found['duration']}, seed {found['seed']}; the second flow starts after a second. "
        f"Figures stand for base RTTs of {rtts}, in this order; marks and drops are per thousand "
        "packets delivered; all count from the start, slow start included."
    )


def refusals(found: MatrixSummary) -> list[str]:
    """What cannot be combined, a line for each reason and whom it concerns."""
    reasons: dict[str, dict[str, None]] = {}
    for one in found["refused"]:
        reasons.setdefault(one["reason"], {})[" + ".join(one["controls"])] = None
    return [f"{', '.join(who)}: {reason}" for reason, who in reasons.items()]


def markdown(found: MatrixSummary) -> str:
    """The whole matrix as a document."""
    parts = ["# Every controller over every queue", about(found) + _WRITTEN * _is_shipped(found)]
    for queue in found["queues"]:
        own = [row for row in rows(found) if row.queue == queue]
        parts += [f"## {queue}", _markdown_table(own)]
    if left_out := refusals(found):
        parts += ["## Not combined", "\n".join(f"- {line}" for line in left_out)]
    return "\n\n".join(parts) + "\n"


_WRITTEN = " Written by `make matrix`; a test holds it against what is simulated."


def _is_shipped(found: MatrixSummary) -> bool:
    """Whether it is the one that a test holds, in docs/matrix.md: nothing else may say so."""
    asked: dict[str, Any] = {**found}
    whole = plan.axes(None, None)
    lists = ("controls", "queues", "rtts")
    return all(list(asked[key]) == list(getattr(whole, key)) for key in lists) and (
        all(asked[key] == getattr(whole, key) for key in ("rate", "buffer", "duration", "seed"))
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
