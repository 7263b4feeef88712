"""The figure as SVG and PNG."""

import re
from typing import Any

import vl_convert

# One version by name, so that an upgrade of the renderer does not change the figure by itself.
VEGA_LITE = "6.4"


def svg(spec: dict[str, Any]) -> str:
    """A Vega-Lite figure as SVG."""
    return _renumbered(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))


def png(picture: str) -> bytes:
    """A picture in SVG as PNG, two pixels for each of its own."""
    return vl_convert.svg_to_png(picture, scale=2)


def page(spec: dict[str, Any]) -> str:
    """A Vega-Lite figure as a page of its own that works offline."""
    return vl_convert.vegalite_to_html(spec, vl_version=VEGA_LITE, bundle=True)


def _renumbered(text: str) -> str:
    """Counts the clip paths from 0: the renderer goes on from the last figure of the process."""
    order: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return order.setdefault(match.group(), f"clip{len(order)}")

    return re.sub(r"\bclip\d+\b", number, text)
