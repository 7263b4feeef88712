"""Charts of columns in a terminal, of one character for each column and row."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from sojourn.live.link_history import Column


class Glyphs(NamedTuple):
    """The characters of a chart."""

    levels: str
    """A cell filled by 0, 1/8 up to 8/8."""
    line: str
    axis: str
    tick: str


BLOCKS = Glyphs(" ▁▂▃▄▅▆▇█", "─", "│", "┤")
ASCII = Glyphs(" ...:::##", "-", "|", "+")
"""For terminals whose encoding lacks the blocks."""


class Chart(NamedTuple):
    """Columns from zero up to `top`, and a line across them."""

    values: Sequence[Column]
    top: float
    style: str
    line: Sequence[Column] = ()

    def rows(self, height: int, glyphs: Glyphs) -> list[Text]:
        """Draw the rows, the highest first."""
        filled = [self._eighths(value, height) for value in self.values]
        lines = [self._line_row(value, height) for value in self.line]
        rows = []
        for row in range(height):
            below = 8 * (height - 1 - row)
            levels = [min(max(eighths - below, 0), 8) for eighths in filled]
            text = Text("".join(glyphs.levels[level] for level in levels), style=self.style)
            rows.append(_with_line(text, levels, [at == row for at in lines], glyphs))
        return rows

    def _eighths(self, value: Column, height: int) -> int:
        if value is None or value <= 0:
            return 0
        # A column that is not zero is visible.
        return max(1, round(8 * height * min(value / self.top, 1.0)))

    def _line_row(self, value: Column, height: int) -> int | None:
        if value is None:
            return None
        return height - 1 - min(int(height * value / self.top), height - 1)


def _with_line(text: Text, levels: list[int], is_line: list[bool], glyphs: Glyphs) -> Text:
    """Draw the line where no column hides it."""
    free = [level == 0 for level in levels]
    places = [place for place, line in enumerate(is_line) if line and free[place]]
    if not places:
        return text
    characters = list(text.plain)
    for place in places:
        characters[place] = glyphs.line
    drawn = Text("".join(characters), style=text.style)
    for place in places:
        drawn.stylize("default", place, place + 1)
    return drawn


def top_of(*series: Sequence[Column]) -> float:
    """Return the greatest value of all series; 1 if all are unknown or zero."""
    return max((value for one in series for value in one if value), default=1.0)


def rounded_up(value: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten, so that an axis rarely changes."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))
