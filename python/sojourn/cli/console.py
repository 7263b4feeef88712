"""The summary table in a terminal, without its last columns if it is too wide."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from sojourn import terminal
from sojourn.cli import verdict_bars
from sojourn.record import legend, summary_table, verdicts
from sojourn.record.summary import Summary
from sojourn.run.results import Run

# Without a terminal or COLUMNS, the width is unknown; this width fits the table of one run.
_PIPED_WIDTH = "160"
# Longer tables are not readable, and each row takes time to lay out.
_MOST_ROWS = 100


class _Console(Console):
    """A console whose text is escaped first, because Rich adds its own escape sequences."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(
            file=terminal.styled(sys.stdout), highlight=False, width=width, emoji=False
        )

    def on_broken_pipe(self) -> None:
        # Rich would exit the program with its own status.
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else terminal.escaped(text), style, control)


def console() -> Console:
    """Create a console on standard output."""
    if sys.stdout.isatty():
        return _Console()
    asked = os.environ.get("COLUMNS", "")
    width = asked if asked.isdecimal() and int(asked) > 0 else _PIPED_WIDTH
    return _Console(int(width))


def name(text: str, style: str = "") -> Text:
    """Format a name or a title from the user or a file: one line, with its displayed width."""
    return Text(terminal.one_line(text), style=style)


def show(run: Run, last: str | None, explains: bool = False) -> None:
    """Print the tables, on request what their columns are, and a last line."""
    out = console()
    out.print(name(run.heading, "bold"))
    show_tables(run.summary, out, explains)
    if last is not None:
        out.print(name(last), soft_wrap=True)


def show_tables(summary: Summary, out: Console, explains: bool) -> None:
    """Print the verdicts and every table, on request with explanations of the columns."""
    show_verdict(summary, out, explains)
    tables = summary_table.build_all(summary)
    for one in tables:
        out.print(name(one.caption, "dim"))
        fitting, dropped = _fitting(_first_rows(one), out)
        out.print(fitting)
        if dropped:
            heads = ", ".join(column.metric.head for column in dropped)
            rest = f"not shown at {out.width} columns: {heads}"
            out.print(Text(rest, style="dim"))
        if len(one.names) > _MOST_ROWS:
            rest = f"{_MOST_ROWS} of {len(one.names):,} rows; the others are in summary.json"
            out.print(Text(rest, style="dim"))
        for remark in one.remarks:
            out.print(name(remark))
    if explains:
        for note in summary_table.notes(tables, summary):
            out.print(Text(note, style="dim"))


def show_verdict(summary: Summary, out: Console, explains: bool = False) -> None:
    """Print the first verdict, the picture and the others.

    On request, the picture has the meaning of its colours.
    """
    found = verdicts.of(summary)
    for sentence in found["sentences"][:1]:
        out.print(name(sentence))
    if picture := found["picture"]:
        for line in verdict_bars.lines(picture, out.width):
            out.print(line, soft_wrap=True)
        if explains:
            out.print(name(picture["caption"], "dim"))
    for sentence in found["sentences"][1:]:
        out.print(name(sentence))


def _first_rows(data: summary_table.Table) -> summary_table.Table:
    """Shorten a table to the rows that a terminal can show."""
    columns = [replace(column, cells=column.cells[:_MOST_ROWS]) for column in data.columns]
    return replace(data, names=data.names[:_MOST_ROWS], columns=columns)


def _fitting(data: summary_table.Table, out: Console) -> tuple[Table, list[summary_table.Column]]:
    """Return the table of the first columns that fit the width, and the columns that do not."""
    count = len(data.columns)
    while count > 1 and _width(_table(data, data.columns[:count]), out) > out.width:
        count -= 1
    return _table(data, data.columns[:count]), data.columns[count:]


def _width(part: Table, out: Console) -> int:
    # The width that the table needs, measured on a console without a limit.
    return Measurement.get(out, out.options.update(width=10_000), part).maximum


def _table(data: summary_table.Table, columns: Sequence[summary_table.Column]) -> Table:
    part = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    part.add_column("", no_wrap=True)
    if data.detail:
        part.add_column("", no_wrap=True)
    for column in columns:
        part.add_column(_head(column), justify="right", no_wrap=True)
    for place, row in enumerate(data.names):
        cells = [_cell(column.cells[place]) for column in columns]
        if place and row.is_head:
            part.add_row()
        part.add_row(_control(row), *([name(row.detail)] if data.detail else []), *cells)
    return part


def _head(column: summary_table.Column) -> str:
    first, _, second = column.metric.head.partition(" ")
    return f"{first}\n{second}\n{column.unit}"


def _cell(cell: summary_table.Cell) -> Text:
    text = Text(cell.text)
    return text.append(f"\n{cell.interval}", style="dim") if cell.interval else text


def _control(row: summary_table.Name) -> Text:
    # Near-black is invisible on a dark terminal; the default colour is always visible.
    colour = "default" if row.colour == legend.DARKEST else row.colour
    return Text("● ", style=colour).append(name(row.control, "default"))
