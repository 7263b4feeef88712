"""The appearance that all charts share, their data, and the document that holds a figure."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import altair as alt
from altair.utils.schemapi import debug_mode

Spec = dict[str, Any]
View = alt.Chart | alt.LayerSpec | alt.HConcatSpecGenericSpec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_CONFIG: Spec = {
    "font": "Liberation Sans, Helvetica, Arial, sans-serif",
    "view": {"stroke": "#dddddd"},
    "axis": {
        "gridColor": "#eeeeee",
        "domainColor": "#bbbbbb",
        "tickColor": "#bbbbbb",
        "labelColor": "#444444",
        "titleColor": "#444444",
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "labelSeparation": 6,
    },
    # A common minimum width of the y axes aligns the time axes, unless a label is wider.
    "axisY": {"minExtent": 36},
    "title": {"fontSize": 13, "fontWeight": "bold", "color": "#222222", "subtitleColor": "#555555"},
    "legend": {
        "orient": "top",
        "title": None,
        "symbolType": "stroke",
        "symbolStrokeWidth": 3,
        "labelFontSize": 12,
        "labelColor": "#222222",
    },
    # Vega's own default is black, which would be invisible on a dark ground.
    "boxplot": {"rule": {"color": "#222222"}},
    "text": {"color": "#222222"},
}

# Widths in a legend, in pixels.
_LETTER, _SYMBOL = 7, 40

# Checking every part takes longer than drawing the figure; the tests check whole figures instead.
unchecked = debug_mode(False)


def table(rows: Iterable[Mapping[str, Any]], *numbers: str) -> alt.InlineData:
    """Build inline data of CSV, in which the columns `numbers` are numbers and the others texts.

    Altair would copy rows several times, but not a text.
    """
    text = io.StringIO()
    rows = list(rows)
    writer = csv.DictWriter(text, rows[0] if rows else numbers, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return alt.InlineData(text.getvalue(), format=columns(*numbers))


def columns(*numbers: str) -> alt.CsvDataFormat:
    """Describe CSV with these columns of numbers."""
    return alt.CsvDataFormat(parse=dict.fromkeys(numbers, "number"), type="csv")


@unchecked
def layered(*layers: alt.Chart, **more: Any) -> alt.LayerSpec:
    """Draw charts over one another.

    `alt.layer` would copy each chart several times, which takes longer than building it.
    """
    return alt.LayerSpec(layer=list(layers), **more)


@unchecked
def beside(views: Iterable[View], **more: Any) -> alt.HConcatSpecGenericSpec:
    """Draw views side by side."""
    return alt.HConcatSpecGenericSpec(hconcat=list(views), **more)


def chart(
    data: alt.InlineData | alt.NamedData,
    mark: alt.MarkDef | Spec,
    *channels: alt.SchemaBase | Sequence[alt.SchemaBase] | None,
    **more: Any,
) -> alt.Chart:
    """Draw one mark; the channels, such as `alt.X("t:Q")`, say by which columns."""
    given = [channel for channel in channels if channel is not None]
    drawn: alt.Chart = alt.Chart(data, mark=cast(Any, mark), **more).encode(*given)
    return drawn


def panel(
    title: str,
    data: alt.InlineData,
    mark: alt.MarkDef,
    *channels: alt.SchemaBase,
    height: int | alt.Step = 180,
) -> alt.Chart:
    """Draw one mark in a panel as wide as a page."""
    return chart(data, mark, *channels, title=titled(title), width=640, height=height)


def with_legend(longest: int, width: int) -> Spec:
    """Return the appearance with a legend of as many columns as the width allows.

    `longest` is the length of its longest name.
    """
    columns = max(1, width // (_SYMBOL + _LETTER * longest))
    legend = {**_CONFIG["legend"], "columns": columns, "labelLimit": width - _SYMBOL}
    return {**_CONFIG, "legend": legend}


def titled(text: str, **more: Any) -> alt.Title:
    """Build a title above the left end of a view or a figure."""
    return alt.Title(text, anchor="start", **more)


@unchecked
def document(
    title: str,
    subtitle: str | Sequence[str],
    datasets: Mapping[str, str] | None = None,
    title_offset: int | None = None,
    title_size: int = 18,
    **views: Any,
) -> Spec:
    """Convert a figure to Vega-Lite.

    `views` holds the views, as `vconcat`, `hconcat` or `concat`. It may also have other properties
    of the figure, which replace the shared ones.
    """
    offset = alt.Undefined if title_offset is None else title_offset
    heading = titled(title, subtitle=subtitle, fontSize=title_size, offset=offset)
    shared = {"title": heading, "background": "white", "padding": 14, "config": _CONFIG}
    whole = alt.TopLevelSpec(**{**shared, **views})  # type: ignore[no-untyped-call]
    data = dict(datasets or {})
    # Not as a top-level chart, to which altair adds the user's own theme.
    spec = whole.to_dict(validate=False, context={"top_level": False, "datasets": data})
    return {"$schema": SCHEMA, **spec, "datasets": data}
