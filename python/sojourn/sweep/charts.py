"""Pictures of a dataset: heat maps, and lines with bands, as small multiples."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sojourn.picture import heat
from sojourn.picture.chart import Document, Layer, Panel, Scale
from sojourn.record.legend import Ink
from sojourn.sweep import figures
from sojourn.sweep.figures import Metric
from sojourn.sweep.looks import Looks

if TYPE_CHECKING:
    import polars as pl

# Ratios of the greatest to the least value from which an axis is logarithmic.
_LOGARITHMIC = 20
_WIDTH, _HEIGHT = 300, 200
# Pixels of a line.
_LINE = 1.6
_MOST_ACROSS = 3


def heat_map(
    rows: "pl.DataFrame",
    metric: Metric,
    x: str,
    y: str,
    facet: str | None,
    title: str,
    over: str,
    looks: Looks,
) -> Document:
    """Draw the medians over two axes, one map for each value of `facet`.

    The subtitle names `over`, the seeds and axes of which a cell is the median.
    """
    factor = metric.unit[1]
    known = rows.drop_nulls("median")
    scheme = heat.Scheme.of([value * factor for value in known["median"]])
    # Numbers rise from the bottom, as on any axis; names begin at the top.
    lines = _ordered(rows, y, looks)[:: -1 if rows[y].dtype.is_numeric() else 1]
    columns = _ordered(rows, x, looks)
    names = looks.axis(x), looks.axis(y)
    panels = []
    for name, part in _facets(known, facet):
        cells = {
            (_text(x, row[x], looks), _text(y, row[y], looks)): row["median"] * factor
            for row in part.iter_rows(named=True)
        }
        panels.append(heat.panel(looks.value(name), names, columns, lines, cells, scheme))
    about = f"{looks.figure(metric)}: median over {over}"
    return Document(title, about, _across(panels))


def lines(
    rows: "pl.DataFrame",
    metric: Metric,
    x: str,
    by: str | None,
    facet: str | None,
    title: str,
    over: str,
    is_logarithmic: bool,
    looks: Looks,
) -> Document:
    """Draw the medians over an axis of numbers, with a band from the 5th to the 95th percentile.

    The subtitle names `over`, the seeds and axes of which a point is the median.
    """
    unit, scale = figures.unit(x)
    known = looks.drawable(rows.drop_nulls(["median", x]).sort(x), x)
    positions = [value * scale for value in known[x]]
    least, most = min(positions, default=0.0), max(positions, default=0.0)
    is_wide = least > 0 and most / least >= _LOGARITHMIC
    is_log = looks.is_logarithmic("x", is_wide or is_logarithmic)
    across: Scale = {"type": "log" if is_log else "linear", "nice": False}
    figure = looks.figure(metric)
    names = _ordered(rows, by, Looks()) if by else [figure]
    inks = looks.inks(names)
    panels = [
        Panel(
            looks.value(name),
            looks.axis(x, unit),
            figure,
            list(_layers(part, (x, scale), by, metric, inks, looks)),
            width=_WIDTH,
            height=_HEIGHT,
            x_scale=across,
            y_scale=_down(known, metric, looks),
            legend=False,
        )
        for name, part in _facets(known, facet)
    ]
    keys = [
        Layer(looks.value(name), "line", (), ink.colour, width=_LINE * ink.weight, dash=ink.dash)
        for name, ink in inks.items()
        if by
    ]
    about = f"{figure}: median and 5th to 95th percentile over {over}"
    return Document(title, about, _across(panels), keys)


def _down(known: "pl.DataFrame", metric: Metric, looks: Looks) -> Scale:
    """Return the scale of the figure, which panels side by side share."""
    most: float = max(known["p95"], default=1.0) * metric.unit[1]
    if not looks.is_logarithmic("y", False):
        return {"domain": (0.0, 1.05 * most)}
    return {"type": "log", "domain": (min(known["p5"], default=1.0) * metric.unit[1], most)}


def _layers(
    part: "pl.DataFrame",
    across: tuple[str, float],
    by: str | None,
    metric: Metric,
    inks: dict[str, Ink],
    looks: Looks,
) -> Iterator[Layer]:
    """Yield band, line and dots of each value of `by`."""
    (x, scale), factor = across, metric.unit[1]
    for name, own in _facets(part, by):
        key = name or looks.figure(metric)
        line, ink = looks.value(key), inks[key]
        at = [value * scale for value in own[x]]
        low, median, high = (
            [value * factor for value in own[key]] for key in ("p5", "median", "p95")
        )
        band, points = list(zip(at, low, high, strict=True)), list(zip(at, median, strict=True))
        yield Layer(line, "area", band, ink.colour, opacity=0.2)
        yield Layer(line, "line", points, ink.colour, width=_LINE * ink.weight, dash=ink.dash)
        yield Layer(line, "dots", points, ink.colour, size=20)


def _values(rows: "pl.DataFrame", axis: str) -> list[Any]:
    """Return the values of an axis: numbers in their order, names in that of the sweep."""
    values = rows[axis].unique(maintain_order=True)
    return (values.sort() if values.dtype.is_numeric() else values).to_list()


def _ordered(rows: "pl.DataFrame", axis: str, looks: Looks) -> list[str]:
    return [_text(axis, value, looks) for value in _values(rows, axis)]


def _text(axis: str, value: Any, looks: Looks) -> str:
    return looks.value(figures.axis_text(axis, value))


def _facets(rows: "pl.DataFrame", axis: str | None) -> Iterator[tuple[str, "pl.DataFrame"]]:
    """Yield the name and the rows of each value of an axis; without one, all rows."""
    if axis is None:
        yield "", rows
        return
    for value in _values(rows, axis):
        yield figures.axis_text(axis, value), rows.filter(rows[axis].eq_missing(value))


def _across(panels: list[Panel]) -> list[list[Panel]]:
    return [panels[at : at + _MOST_ACROSS] for at in range(0, len(panels), _MOST_ACROSS)]
