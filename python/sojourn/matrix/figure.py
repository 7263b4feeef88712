"""The matrix as heat maps, which make outliers visible at a glance."""

from collections.abc import Callable, Iterator, Sequence
from math import expm1, log1p
from typing import Any

import altair as alt

from sojourn.matrix import plan
from sojourn.matrix.measure import Cell, MatrixSummary
from sojourn.report import theme
from sojourn.report.theme import Spec

# The heading of each map.
_RTT = {"labelExpr": "'base RTT ' + datum.value", "labelFontSize": 11, "labelPadding": 4}
Value = Callable[[Cell], float]

_SQUARE = 34
# Width of the heading of a map, and more than one or two squares have.
_HEADING = 100
# Dark squares are the worst values in orange, and the best values in green.
_WORSE: Spec = {"scheme": "oranges"}
_BETTER: Spec = {"scheme": "greens"}
# Counts span powers of ten: on a linear scale, one large count would hide all others.
_COUNTS: Spec = {"scheme": "oranges", "type": "symlog", "constant": 1}
# Jain's index of two flows. All pictures share the scale, on which values near 1 are dark.
_FAIR: Spec = {"scheme": "greens", "domain": [0.5, 1]}
_EVEN: Spec = {"scheme": "purpleorange", "domain": [0, 100], "domainMid": 50}


def alone(found: MatrixSummary) -> Spec:
    """Controllers by queues: one row of maps per metric, one column per RTT."""
    cells = [c for c in found["cells"] if len(c["controls"]) == 1 and c["carrier"] is None]
    return _document(found, "Every controller alone over every queue", _by_queue(found, cells))


def over_quic(found: MatrixSummary) -> Spec:
    """Controllers in QUIC stacks and in the model of QUIC, by queues."""
    cells = [cell for cell in found["cells"] if cell["carrier"] is not None]
    title = f"Every controller over QUIC: {', '.join(found['quic'])} and the model"
    return _document(found, title, _by_queue(found, cells))


def _by_queue(found: MatrixSummary, cells: Sequence[Cell]) -> list[alt.FacetChart]:
    """Draw the metrics of single flows, one row of maps each."""
    metrics: list[tuple[str, Spec, Value]] = [
        ("share of the capacity (%)", _BETTER, lambda cell: 100 * cell["utilisation"]),
        ("queue p99 (ms)", _WORSE, lambda cell: 1e3 * cell["queue_delay_p99_s"]),
        ("marks (‰)", _COUNTS, lambda cell: _permille(cell, "marked_packets")),
        ("drops (‰)", _COUNTS, lambda cell: _permille(cell, "dropped_packets")),
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


def together(found: MatrixSummary, queue: str) -> Spec:
    """Pairs of flows over one queue: their shares of the goodput, and the queueing delay."""
    cells = [c for c in found["cells"] if c["queue"] == queue and len(c["controls"]) == 2]
    shares = [square for cell in cells for square in _shares(cell)]
    delays = [square for cell in cells for square in _both(cell, 1e3 * cell["queue_delay_p99_s"])]
    fairness = [square for cell in cells for square in _both(cell, cell["jain"] or 0.0)]
    controls = found["controls"]
    maps = [
        _across(
            found, "share of the row against the column (%)", _EVEN, shares, controls, controls
        ),
        _across(found, "queue p99 (ms)", _WORSE, delays, controls, controls),
        _across(found, "Jain's index", _FAIR, fairness, controls, controls, digits=2),
    ]
    return _document(found, f"Pairs over {queue}", maps)


def _permille(cell: Cell, key: str) -> float:
    counts: dict[str, Any] = {**cell}
    return 1000 * float(counts[key]) / max(1, cell["delivered_packets"])


def _shares(cell: Cell) -> Iterator[Spec]:
    """Yield the share of each flow against the other."""
    first, second = cell["goodput_bps"]
    total = (first + second) or 1.0
    yield _square(cell, cell["controls"][1], cell["controls"][0], 100 * first / total)
    if cell["controls"][0] != cell["controls"][1]:
        yield _square(cell, cell["controls"][0], cell["controls"][1], 100 * second / total)


def _both(cell: Cell, value: float) -> Iterator[Spec]:
    """Yield a value of the pair, on both sides of the diagonal."""
    for row, column in dict.fromkeys([tuple(cell["controls"]), tuple(cell["controls"][::-1])]):
        yield _square(cell, column, row, value)


def _square(cell: Cell, x: str, y: str, value: float) -> Spec:
    return {"rtt": cell["rtt"], "x": x, "y": y, "value": value}


def _across(
    found: MatrixSummary,
    name: str,
    scheme: Spec,
    rows: list[Spec],
    columns: list[str],
    names: list[str],
    digits: int = 1,
) -> alt.FacetChart:
    """Draw one map per RTT, side by side, with a common scale."""
    data = theme.table(rows, "value")
    x = alt.X("x:N", sort=columns, title=None, axis=alt.Axis(labelAngle=-45))
    y = alt.Y("y:N", sort=names, title=None)
    colour = alt.Color("value:Q", scale=alt.Scale(**scheme), legend=None)
    dark = {"test": _dark(rows, scheme), "value": "white"}
    text = alt.Text("value:Q", format=f".{digits}f"), alt.ColorValue("#222", condition=dark)
    squares = theme.chart(data, alt.MarkDef("rect"), x, y, colour)
    values = theme.chart(data, alt.MarkDef("text", fontSize=9), x, y, *text)
    height = 20 * len(names)
    width = max(_SQUARE * len(columns), _HEADING)
    maps = alt.layer(squares, values, width=width, height=height)
    rtt = alt.Column("rtt:N", sort=found["rtts"], title=None, header=_RTT)
    return maps.facet(column=rtt, title=theme.titled(name))


def _dark(rows: list[Spec], scheme: Spec) -> str:
    """Test for squares so dark that their text must be white."""
    if scheme is _EVEN:
        return "abs(datum.value - 50) > 32"
    found = [one["value"] for one in rows] or [0.0]
    least, most = scheme.get("domain", (min(found), max(found)))
    if scheme is _COUNTS:
        return f"datum.value > {expm1(log1p(least) + 0.6 * (log1p(most) - log1p(least)))}"
    return f"datum.value > {least + 0.6 * (most - least)}"


def _document(found: MatrixSummary, title: str, maps: list[alt.FacetChart]) -> Spec:
    about = f"{found['rate']}, buffer {found['buffer']}, {found['duration']}"
    resolve = {"scale": {"color": "independent"}}
    return theme.document(title, about, title_offset=12, vconcat=maps, resolve=resolve)
