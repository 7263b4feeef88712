"""The picture of the verdict in a terminal, by block characters."""

from collections.abc import Iterator, Set
from itertools import accumulate, pairwise

from rich.text import Text

from sojourn import terminal
from sojourn.record import legend
from sojourn.record.record_types import VerdictPicture, VerdictRow

# Longer bars move the figures far from the names; shorter ones have no visible parts.
_MOST_CELLS, _LEAST_CELLS = 48, 8


def lines(picture: VerdictPicture, width: int) -> Iterator[Text]:
    """Yield the title, a bar for each controller, and the legend, for a terminal of this width."""
    yield Text(terminal.one_line(picture["title"]), style="dim")
    rows = picture["rows"]
    names = [Text(terminal.one_line(row["control"])) for row in rows]
    longest = max(name.cell_len for name in names)
    beside = longest + max(len(row["text"]) for row in rows) + 3
    cells = min(max(width - beside, _LEAST_CELLS), _MOST_CELLS)
    bars = [_lengths(row, cells / picture["scale_s"]) for row in rows]
    for row, name, bar in zip(rows, names, bars, strict=True):
        name.pad_right(longest - name.cell_len + 1)
        line = Text(" ").append(name)
        for part, length in bar.items():
            look = legend.PARTS[part]
            line.append(look.block * length, style=look.colour)
        yield line.append(" " if bar else "").append(row["text"])
    yield _legend({part for bar in bars for part, length in bar.items() if length})


def _lengths(row: VerdictRow, per_s: float) -> dict[str, int]:
    """Return the cells of each part; a delay that is not zero has one."""
    ends = [
        max(round(per_s * end), 1) for end in accumulate(one["delay_s"] for one in row["parts"])
    ]
    lengths = [end - begin for begin, end in pairwise([0, *ends])]
    return {one["part"]: length for one, length in zip(row["parts"], lengths, strict=True)}


def _legend(shown: Set[str]) -> Text:
    text = Text(" ")
    for name, look in legend.PARTS.items():
        if name in shown:
            text.append(look.block, style=look.colour).append(f" {look.label}   ", style="dim")
    text.rstrip()
    return text
