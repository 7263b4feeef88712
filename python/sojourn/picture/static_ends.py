"""The names of lines at their right ends, without overlap, on matplotlib's axes."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.picture.chart import Layer
from sojourn.picture.static_marks import POINT, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More names are not readable beside a panel.
_MOST = 8
# Pixels of a letter, of a line of text, and between a line and its name; a longer name is cut.
_LETTER, _LINE, _GAP, _LONGEST = 6.0, 12.0, 5.0, 16


@dataclass
class _End:
    text: str
    colour: str | None
    at: float
    """The height of the line's end, in pixels from the bottom of the panel."""
    shown: float
    """The height of its name."""


def width(layers: Sequence[Layer]) -> float:
    """Return the width that the names need, in pixels."""
    lines = _named(layers)
    longest = max((len(_text(one, lines)) for one in lines), default=0)
    return _LETTER * longest + 3 * _GAP if longest else 0


def draw(axes: "Axes", layers: Sequence[Layer], ink: Callable[[str | None], str]) -> None:
    """Write each name at the height of its line's end, or next to it."""
    lines = _named(layers)
    height = axes.get_window_extent().height / axes.figure.dpi * 96
    ends = [end for one in lines if (end := _end(axes, one, lines, height)) is not None]
    _spread(ends, _LINE / 2, height - _LINE / 2)
    for end in ends:
        axes.annotate(
            plain(end.text),
            (1, end.at / height),
            xycoords="axes fraction",
            xytext=(_GAP * POINT, (end.shown - end.at) * POINT),
            textcoords="offset points",
            color=ink(end.colour),
            va="center",
        )


def _named(layers: Sequence[Layer]) -> list[Layer]:
    lines = [
        one
        for one in layers
        if one.kind == "line" and one.name and one.listed and one.points and one.opacity == 1
    ]
    return lines if 1 < len(lines) <= _MOST else []


def _text(line: Layer, lines: Sequence[Layer]) -> str:
    """Return the name of a line: its flow, if others have its name too."""
    is_alone = sum(one.name == line.name for one in lines) == 1
    text = line.name if is_alone else line.part or line.name
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _end(axes: "Axes", line: Layer, lines: Sequence[Layer], height: float) -> _End | None:
    low, high = axes.get_ylim()
    last = bisect_right([row[0] or 0.0 for row in line.points], axes.get_xlim()[1])
    value = next((row[1] for row in reversed(line.points[:last]) if row[1] is not None), None)
    if value is None:
        return None
    at = height * min(max((value - low) / (high - low), 0.0), 1.0)
    return _End(_text(line, lines), line.colour, at, at)


def _spread(ends: list[_End], least: float, most: float) -> None:
    """Move names apart, in the order of their lines, within the panel."""
    ends.sort(key=lambda end: end.at)
    below = least - _LINE
    for end in ends:
        below = end.shown = max(end.at, below + _LINE)
    above = most + _LINE
    for end in reversed(ends):
        above = end.shown = min(end.shown, above - _LINE)
