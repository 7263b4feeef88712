"""Heat maps: cells with their values, whose colours span those of all maps of a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p

from sojourn.picture.chart import Layer, Panel, Row

Rgb = tuple[float, float, float]

# Oranges, greens and purples to oranges of ColorBrewer (Brewer 2003), at equal steps.
ORANGES = ("#fff5eb", "#fdd0a2", "#fd8d3c", "#d94801", "#7f2704")
GREENS = ("#f7fcf5", "#c7e9c0", "#74c476", "#238b45", "#00441b")
EVEN = ("#542788", "#b2abd2", "#f7f7f7", "#fdb863", "#b35806")
_CELL, _LINE, _LETTER = 46, 24, 7
# Below this luminance (WCAG 2.2), a text is white.
_DARK = 0.3


@dataclass(frozen=True)
class Scheme:
    """The colours between two values."""

    least: float
    most: float
    colours: Sequence[str] = ORANGES
    counts: bool = False
    """Whether the values are counts that span powers of ten: one would hide all others."""

    @classmethod
    def of(
        cls, values: Sequence[float], colours: Sequence[str] = ORANGES, counts: bool = False
    ) -> "Scheme":
        """Return the scheme that spans these values."""
        return cls(min(values, default=0.0), max(values, default=1.0), colours, counts)

    def rgb(self, value: float) -> Rgb:
        """Return the colour of a value."""
        least, most, own = self.least, self.most, value
        if self.counts:
            least, most, own = log1p(least), log1p(most), log1p(own)
        share = (own - least) / (most - least) if most > least else 0.0
        place = min(max(share, 0.0), 1.0) * (len(self.colours) - 1)
        low, part = int(place), place % 1
        first, last = (_rgb(self.colours[min(at, len(self.colours) - 1)]) for at in (low, low + 1))
        r, g, b = (one + (other - one) * part for one, other in zip(first, last, strict=True))
        return r, g, b


def panel(
    title: str,
    axes: tuple[str, str],
    columns: Sequence[str],
    lines: Sequence[str],
    cells: Mapping[tuple[str, str], float],
    scheme: Scheme,
    digits: int | None = None,
) -> Panel:
    """Draw the value of each column and line in `cells`, the first line at the top."""
    places = [(columns.index(x), lines.index(y), value) for (x, y), value in cells.items()]
    corners: list[Row] = [(x - 0.5, y - 0.5, x + 0.5, y + 0.5) for x, y, _ in places]
    colours = [scheme.rgb(value) for _, _, value in places]
    values = [_text(value, digits) for _, _, value in places]
    inks = ["#ffffff" if _luminance(one) < _DARK else "#222222" for one in colours]
    x, y = axes
    return Panel(
        title,
        x,
        y,
        [
            Layer("", "rects", corners, fills=[_hex(one) for one in colours]),
            Layer("", "text", [(x, y) for x, y, _ in places], texts=values, fills=inks),
        ],
        width=max(_CELL * len(columns), _LETTER * len(title)),
        height=_LINE * len(lines),
        x_axis={"values": range(len(columns)), "labels": columns, "tilted": True},
        x_scale={"domain": (-0.5, len(columns) - 0.5)},
        y_axis={"values": range(len(lines)), "labels": lines},
        y_scale={"domain": (len(lines) - 0.5, -0.5)},
        legend=False,
    )


def _text(value: float, digits: int | None) -> str:
    """Format a value, by default with three digits, never with an exponent."""
    if digits is not None:
        return f"{value:.{digits}f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{float(f'{value:.3g}'):.10g}"


def _rgb(colour: str) -> Rgb:
    r, g, b = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return r, g, b


def _hex(rgb: Rgb) -> str:
    return "#" + "".join(f"{round(255 * one):02x}" for one in rgb)


def _luminance(rgb: Rgb) -> float:
    r, g, b = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in rgb)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
