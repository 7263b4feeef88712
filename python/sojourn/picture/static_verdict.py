"""The picture of a verdict, drawn by matplotlib: a bar for each controller."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from sojourn.picture.chart import Bars, short
from sojourn.record import legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pixels: heights of a row, its bar and a line of the legend; widths of a letter, of the
# dot before a name, and between texts and bars.
_ROW, _BAR, _LINE, _LETTER, _DOT, _GAP = 22, 14, 15, 6.0, 14, 8
_LEFT = 10
# The share of the scale from which a part is in the legend.
_VISIBLE = 0.003
# Less room for the bars puts names and figures above them, on a line of their own.
_LEAST_ROOM = 150
Ink = Callable[[str], str]
"""Returns the colour on the picture's ground."""


@dataclass(frozen=True)
class Place:
    """The geometry of a picture of this width, in pixels."""

    bars: Bars
    width: float

    @property
    def names(self) -> float:
        """The width of the names."""
        return _DOT + _LETTER * max(len(one["control"]) for one in self.bars.rows) + _GAP

    @property
    def _beside(self) -> float:
        texts = _LETTER * max(len(one["text"]) for one in self.bars.rows)
        return self.width - 2 * _LEFT - self.names - texts - _GAP

    @property
    def is_narrow(self) -> bool:
        """Whether names and figures stand above their bars."""
        return self._beside < _LEAST_ROOM

    @property
    def room(self) -> float:
        """The width of the longest bar."""
        return self.width - 2 * _LEFT if self.is_narrow else self._beside

    @property
    def row(self) -> float:
        """The height of a row."""
        return _ROW + (_LINE if self.is_narrow else 0)

    @property
    def head(self) -> float:
        """The height of the title."""
        return _LINE * len(self.title) + _GAP / 2

    @property
    def height(self) -> float:
        """The height of the picture."""
        lines = max((line for _, _, line in self.legend()), default=0) + 1 + len(self.caption)
        return self.head + self.row * len(self.bars.rows) + _LINE * lines

    @property
    def title(self) -> list[str]:
        """The lines of the title, which is bold."""
        return wrap(self.bars.picture["title"], int(self.width / (1.15 * _LETTER)))

    @property
    def caption(self) -> list[str]:
        """The lines of the caption."""
        return wrap(self.bars.picture["caption"], int(self.width / _LETTER))

    def legend(self) -> Iterator[tuple[legend.PartInk, float, int]]:
        """Yield the look of each part, with its place and line in the legend."""
        least = _VISIBLE * self.bars.picture["scale_s"]
        parts = [part for row in self.bars.rows for part in row["parts"]]
        shown = {part["part"] for part in parts if part["delay_s"] >= least}
        left, line = float(_LEFT), 0
        for name, look in legend.PARTS.items():
            if name not in shown:
                continue
            width = _DOT + _LETTER * len(look.label) + 2 * _GAP
            if left > _LEFT and left + width > self.width:
                left, line = float(_LEFT), line + 1
            yield look, left, line
            left += width


def draw(axes: "Axes", place: Place, ink: Ink) -> None:
    """Draw the picture on axes of its size."""
    axes.set_xlim(0, place.width)
    axes.set_ylim(place.height, 0)
    axes.set_axis_off()
    for line, text in enumerate(place.title):
        _text(axes, (_LEFT, _LINE * (line + 0.5)), text, weight="bold")
    top = place.head
    for row, colour in zip(place.bars.rows, place.bars.colours, strict=True):
        _row(axes, place, top, row, ink)
        if colour:
            dot = [_LEFT + 4], [top + _ROW / 2]
            axes.plot(*dot, "o", color=ink(colour), ms=5.5, mew=0)
        top += place.row
    for look, left, line in place.legend():
        middle = top + _LINE * (line + 0.5)
        _rectangle(axes, (left, middle - 5), (10, 10), ink(look.colour))
        _text(axes, (left + _DOT, middle), look.label)
    for line, text in enumerate(reversed(place.caption)):
        _text(axes, (_LEFT, place.height - _LINE * (line + 0.5)), text, alpha=0.75)


def _row(axes: "Axes", place: Place, top: float, row: Any, ink: Ink) -> None:
    middle = top + _ROW / 2
    at = top + (_ROW - _BAR) / 2 + (_LINE if place.is_narrow else 0)
    end = _LEFT + (0 if place.is_narrow else place.names)
    for part in row["parts"]:
        width = place.room * part["delay_s"] / (place.bars.picture["scale_s"] or 1.0)
        # A line of the ground parts neighbours of like lightness.
        size = (max(width - 1, 0.5), _BAR)
        _rectangle(axes, (end, at), size, ink(legend.PARTS[part["part"]].colour))
        end += width
    _text(axes, (_LEFT + _DOT, middle), row["control"])
    if place.is_narrow:
        _text(axes, (place.width - _LEFT, middle), row["text"], ha="right")
    else:
        _text(axes, (end + _GAP, middle), row["text"])


def _rectangle(
    axes: "Axes", corner: tuple[float, float], size: tuple[float, float], colour: str
) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(corner, *size, facecolor=colour, lw=0))


def _text(axes: "Axes", at: tuple[float, float], text: str, **more: Any) -> None:
    axes.text(*at, short(text), va="center", parse_math=False, **more)
