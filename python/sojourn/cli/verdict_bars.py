"""The picture of the verdict in a terminal, by block characters."""

from collections.abc import Iterator
from itertools import accumulate

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
    for row, name in zip(rows, names, strict=True):
        name.pad_right(longest - name.cell_len + 1)
        yield (
            Text(" ").append(name).append(_bar(row, picture["scale_s"], cells)).append(row["text"])
        )
    yield _legend(picture)


def _bar(row: VerdictRow, scale_s: float, cells: int) -> Text:
    bar = Text()
    ends = accumulate(part["delay_s"] for part in row["parts"])
    done = 0
    for part, end in zip(row["parts"], ends, strict=True):
        # A delay that is not zero is visible.
        until = max(round(cells * end / scale_s), 1)
        look = legend.PARTS[part["part"]]
        bar.append(look.block * (until - done), style=look.colour)
        done = until
    return bar.append(" ") if row["parts"] else bar


def _legend(picture: VerdictPicture) -> Text:
    shown = {part["part"] for row in picture["rows"] for part in row["parts"]}
    text = Text(" ")
    for name, look in legend.PARTS.items():
        if name in shown:
            text.append(look.block, style=look.colour).append(f" {look.label}   ", style="dim")
    text.rstrip()
    return text
