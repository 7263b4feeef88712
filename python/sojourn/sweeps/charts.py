"""Pictures of a dataset: heat maps, and lines with bands, as small multiples."""

from typing import TYPE_CHECKING, Any

import altair as alt

from sojourn.report import theme
from sojourn.report.chart import COLOURS
from sojourn.report.theme import Spec
from sojourn.sweeps import figures
from sojourn.sweeps.figures import Metric
from sojourn.sweeps.looks import Looks

if TYPE_CHECKING:
    import polars as pl

# Ratios of the greatest to the least value from which an axis is logarithmic.
_LOGARITHMIC = 20
_CELL, _DARK = 46, 0.6
_WIDTH, _HEIGHT = 300, 200
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
) -> Spec:
    """Draw the medians over two axes, one map for each value of `facet`.

    The subtitle names `over`, the seeds and axes of which a cell is the median.
    """
    factor = metric.unit[1]
    data = [
        {
            "x": looks.value(figures.axis_text(x, row[x])),
            "y": looks.value(figures.axis_text(y, row[y])),
            "facet": looks.value(figures.axis_text(facet, row[facet])) if facet else "",
            "value": row["median"] * factor,
            "text": _plain(row["median"] * factor),
        }
        for row in rows.iter_rows(named=True)
        if row["median"] is not None
    ]
    values = [one["value"] for one in data]
    least, most = min(values, default=0.0), max(values, default=0.0)
    table = theme.table(data, "value")
    columns, lines = _named(rows, x, looks), _named(rows, y, looks)
    across = alt.X("x:N", sort=columns, title=looks.axis(x), axis=alt.Axis(labelAngle=-45))
    # Numbers rise from the bottom, as on any axis; names begin at the top.
    upwards = -1 if rows[y].dtype.is_numeric() else 1
    down = alt.Y("y:N", sort=lines[::upwards], title=looks.axis(y))
    colour = alt.Color("value:Q", scale=alt.Scale(scheme="viridis"), legend=None)
    # Viridis is dark at its lower end.
    dark = {"test": f"datum.value < {least + _DARK * (most - least)}", "value": "white"}
    text = alt.Text("text:N"), alt.ColorValue("#222", condition=dark)
    maps = alt.layer(
        theme.chart(table, alt.MarkDef("rect"), across, down, colour),
        theme.chart(table, alt.MarkDef("text", fontSize=10), across, down, *text),
        width=_CELL * len(columns),
        height=24 * len(lines),
    )
    about = f"{looks.figure(metric)}: median over {over}"
    return _document(_faceted(maps, rows, facet, looks), about, title)


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
) -> Spec:
    """Draw the medians over an axis of numbers, with a band from the 5th to the 95th percentile.

    The subtitle names `over`, the seeds and axes of which a point is the median.
    """
    factor = metric.unit[1]
    unit, scale = _x_unit(x)
    data = [
        {
            "x": row[x] * scale,
            "by": looks.value(figures.axis_text(by, row[by])) if by else "",
            "facet": looks.value(figures.axis_text(facet, row[facet])) if facet else "",
            **{key: row[key] * factor for key in ("median", "p5", "p95")},
        }
        for row in rows.sort(x).iter_rows(named=True)
        if row["median"] is not None and row[x] is not None
    ]
    data = looks.drawable(data)
    table = theme.table(data, "x", "median", "p5", "p95")
    positions = [one["x"] for one in data]
    least, most = min(positions, default=0.0), max(positions, default=0.0)
    is_wide = least > 0 and most / least >= _LOGARITHMIC
    kind: Any = "log" if looks.is_logarithmic("x", is_wide or is_logarithmic) else "linear"
    name = looks.axis(x, unit)
    across = alt.X("x:Q", title=name, scale=alt.Scale(type=kind, zero=False, nice=False))
    colours = looks.range(_ordered(rows, by) if by else [""], COLOURS)
    colour = alt.Color(
        "by:N",
        scale=alt.Scale(domain=_named(rows, by, looks) if by else [""], range=colours),
        legend=alt.Legend(symbolOpacity=1) if by else None,
    )
    band = alt.MarkDef("area", opacity=0.2)
    marks: Any = alt.MarkDef("line", point=True)
    figure, is_log = looks.figure(metric), looks.is_logarithmic("y", False)
    scale_y = alt.Scale(type="log", zero=False) if is_log else alt.Scale(zero=True)
    median = alt.Y("median:Q", title=figure, scale=scale_y)
    drawn = alt.layer(
        theme.chart(table, band, across, alt.Y("p5:Q", title=figure), alt.Y2("p95"), colour),
        theme.chart(table, marks, across, median, colour),
        width=_WIDTH,
        height=_HEIGHT,
    )
    about = f"{figure}: median and 5th to 95th percentile over {over}"
    return _document(_faceted(drawn, rows, facet, looks), about, title)


def _plain(value: float) -> str:
    """Format a figure with three digits, never with an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{float(f'{value:.3g}'):.10g}"


def _x_unit(axis: str) -> tuple[str, float]:
    if axis.endswith("_bps"):
        return "Mbit/s", 1e-6
    if axis.endswith("_bytes"):
        return "kB", 1e-3
    return ("ms", 1e3) if axis.endswith("_s") else ("", 1.0)


def _ordered(rows: "pl.DataFrame", axis: str) -> list[str]:
    """Return the texts of an axis: numbers in their order, names in that of the sweep."""
    values = rows[axis].unique(maintain_order=True)
    if values.dtype.is_numeric():
        values = values.sort()
    return [figures.axis_text(axis, value) for value in values.to_list()]


def _named(rows: "pl.DataFrame", axis: str, looks: Looks) -> list[str]:
    return [looks.value(text) for text in _ordered(rows, axis)]


def _faceted(chart: Any, rows: "pl.DataFrame", facet: str | None, looks: Looks) -> Any:
    if facet is None:
        return chart
    header = {"labelFontSize": 12, "labelPadding": 4}
    values = _named(rows, facet, looks)
    own = alt.Facet("facet:N", sort=values, title=looks.axis(facet), header=header)
    return chart.facet(facet=own, columns=min(len(values), _MOST_ACROSS))


def _document(view: Any, about: str, title: str) -> Spec:
    return theme.document(title, about, title_offset=12, vconcat=[view])
