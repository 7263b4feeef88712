"""The matrix as heat maps, which make outliers visible at a glance."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sojourn.picture import heat
from sojourn.picture.chart import Document, Panel
from sojourn.picture.heat import Scheme
from sojourn.sweep.matrix import plan
from sojourn.sweep.matrix.measure import Cell, MatrixSummary

Value = Callable[[Cell], float]
Colours = Callable[[Sequence[float]], Scheme]
Square = tuple[str, str, str, float]
"""RTT, column, line and value."""


def _worse(values: Sequence[float]) -> Scheme:
    return Scheme.of(values)


def _better(values: Sequence[float]) -> Scheme:
    return Scheme.of(values, heat.GREENS)


def _counts(values: Sequence[float]) -> Scheme:
    return Scheme.of(values, counts=True)


def _fair(_: Sequence[float]) -> Scheme:
    # Jain's index of two flows. All pictures share the scale, on which values near 1 are dark.
    return Scheme(0.5, 1.0, heat.GREENS)


def _even(_: Sequence[float]) -> Scheme:
    return Scheme(0.0, 100.0, heat.EVEN)


def alone(found: MatrixSummary) -> Document:
    """Controllers by queues: one row of maps per metric, one column per RTT."""
    cells = [c for c in found["cells"] if len(c["controls"]) == 1 and c["carrier"] is None]
    return _document(found, "Every controller alone over every queue", _by_queue(found, cells))


def over_quic(found: MatrixSummary) -> Document:
    """Controllers in QUIC stacks and in the model of QUIC, by queues."""
    cells = [cell for cell in found["cells"] if cell["carrier"] is not None]
    title = f"Every controller over QUIC: {', '.join(found['quic'])} and the model"
    return _document(found, title, _by_queue(found, cells))


def _by_queue(found: MatrixSummary, cells: Sequence[Cell]) -> list[list[Panel]]:
    """Draw the metrics of single flows, one row of maps each."""
    metrics: list[tuple[str, Colours, Value]] = [
        ("share of the capacity (%)", _better, lambda cell: 100 * cell["utilisation"]),
        ("queue p99 (ms)", _worse, lambda cell: 1e3 * cell["queue_delay_p99_s"]),
        ("marks (‰)", _counts, lambda cell: _permille(cell, "marked_packets")),
        ("drops (‰)", _counts, lambda cell: _permille(cell, "dropped_packets")),
    ]
    names = [plan.row_name(cell["controls"], cell["carrier"]) for cell in cells]
    order = list(dict.fromkeys(names))
    return [
        _across(
            found,
            name,
            scheme,
            [
                _square(cell, cell["queue"], row, of(cell))
                for cell, row in zip(cells, names, strict=True)
            ],
            found["queues"],
            order,
        )
        for name, scheme, of in metrics
    ]


def together(found: MatrixSummary, queue: str) -> Document:
    """Pairs of flows over one queue: their shares of the goodput, and the queueing delay."""
    cells = [c for c in found["cells"] if c["queue"] == queue and len(c["controls"]) == 2]
    shares = [square for cell in cells for square in _shares(cell)]
    delays = [square for cell in cells for square in _both(cell, 1e3 * cell["queue_delay_p99_s"])]
    fairness = [square for cell in cells for square in _both(cell, cell["jain"] or 0.0)]
    controls = found["controls"]
    maps = [
        _across(
            found, "share of the row against the column (%)", _even, shares, controls, controls
        ),
        _across(found, "queue p99 (ms)", _worse, delays, controls, controls),
        _across(found, "Jain's index", _fair, fairness, controls, controls, digits=2),
    ]
    return _document(found, f"Pairs over {queue}", maps)


def _permille(cell: Cell, key: str) -> float:
    counts: dict[str, Any] = {**cell}
    return 1000 * float(counts[key]) / max(1, cell["delivered_packets"])


def _shares(cell: Cell) -> Iterator[Square]:
    """Yield the share of each flow against the other."""
    first, second = cell["goodput_bps"]
    total = (first + second) or 1.0
    yield _square(cell, cell["controls"][1], cell["controls"][0], 100 * first / total)
    if cell["controls"][0] != cell["controls"][1]:
        yield _square(cell, cell["controls"][0], cell["controls"][1], 100 * second / total)


def _both(cell: Cell, value: float) -> Iterator[Square]:
    """Yield a value of the pair, on both sides of the diagonal."""
    for row, column in dict.fromkeys([tuple(cell["controls"]), tuple(cell["controls"][::-1])]):
        yield _square(cell, column, row, value)


def _square(cell: Cell, x: str, y: str, value: float) -> Square:
    return cell["rtt"], x, y, value


def _across(
    found: MatrixSummary,
    name: str,
    colours: Colours,
    squares: list[Square],
    columns: list[str],
    names: list[str],
    digits: int = 1,
) -> list[Panel]:
    """Draw one map per RTT, side by side, with a common scale."""
    scheme = colours([value for *_, value in squares])
    panels = []
    for place, rtt in enumerate(found["rtts"]):
        cells = {(x, y): value for own, x, y, value in squares if own == rtt}
        title = f"{name}, base RTT {rtt}" if place == 0 else f"base RTT {rtt}"
        panels.append(heat.panel(title, ("", ""), columns, names, cells, scheme, digits))
    return panels


def _document(found: MatrixSummary, title: str, maps: list[list[Panel]]) -> Document:
    about = f"{found['rate']}, buffer {found['buffer']}, {found['duration']}"
    return Document(title, about, maps)
