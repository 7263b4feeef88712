"""The appearance that all figures share."""

from typing import Any

CONFIG: dict[str, Any] = {
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
    },
    # A common width of the y axes aligns the time axes.
    "axisY": {"minExtent": 36},
    "title": {"fontSize": 13, "fontWeight": "bold", "color": "#222222", "subtitleColor": "#555555"},
    "legend": {
        "orient": "top",
        "title": None,
        "symbolType": "stroke",
        "symbolStrokeWidth": 3,
        "labelFontSize": 12,
    },
}
