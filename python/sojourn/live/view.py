"""Moving charts of the bottleneck link of a live run, on the whole terminal."""

import os
import sys

from rich.cells import set_cell_size
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from sojourn import terminal
from sojourn.errors import UsageError
from sojourn.live.column_chart import ASCII, BLOCKS, Chart, Glyphs, rounded_up, top_of
from sojourn.live.followed import Followed
from sojourn.live.link_history import Column, Columns, Latest
from sojourn.record.formatting import MISSING, ms_text, rate_text

# Cells left of the columns, with the axis.
_MARGIN = 27
_LEAST_COLUMNS, _LEAST_ROWS = 50, 14
# Rows besides the charts and the flows: heading, empty row, marks, drops, times.
_OTHER_ROWS = 5
_RATE, _DELAY, _MARKS, _DROPS, _GOODPUT = "cyan", "magenta", "yellow", "red", "green"


class View(Followed):
    """The charts of each run in turn, on the alternate screen of standard error's terminal."""

    def __init__(self, title: str, link: str, runs: int) -> None:
        super().__init__(title, link, runs)
        self._console = Console(file=terminal.styled(sys.stderr), highlight=False, emoji=False)
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            get_renderable=self._picture,
        )

    def show(self, done_s: float, total_s: float) -> None:
        """Draw the charts if it is time, as a callback for progress."""
        if self.read():
            self._live.refresh()

    def __enter__(self) -> "View":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _picture(self) -> Group | Text:
        if self._run is None:
            return Text("")
        columns, rows = self._console.size
        if columns < _LEAST_COLUMNS or rows < _LEAST_ROWS:
            return Text(f"The charts need {_LEAST_COLUMNS} columns and {_LEAST_ROWS} rows.")
        now = self._history.latest()
        heading = (
            f"{now.t_s:.0f} of {self._run.duration_s:.4g} s: "
            f"{self._title}, {self._name}, link {self._link}"
        )
        has_blocks = self._console.encoding.startswith("utf")
        flows = [terminal.one_line(name) for name in self._run.watched_flows]
        page = _Page(flows, columns, rows, BLOCKS if has_blocks else ASCII)
        past = self._history.columns(columns - _MARGIN)
        return Group(Text(set_cell_size(heading, columns), style="bold"), *page.rows(now, past))


class _Page:
    """The rows below the heading, for one size of the terminal."""

    def __init__(self, flows: list[str], columns: int, rows: int, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self._columns = columns
        self._flows = flows[: max(1, rows // 4)]
        left = rows - _OTHER_ROWS - len(self._flows)
        self._heights = left - left // 2, left // 2

    def rows(self, now: Latest, past: Columns) -> list[Text]:
        first, second = self._heights
        return [
            *self._rate(now, past, first),
            Text(""),
            *self._delay(now, past, second),
            self._line("marks", f"{now.marks:,}", past.marks, _MARKS),
            self._line("drops", f"{now.drops:,}", past.drops, _DROPS),
            *self._goodputs(now, past),
            self._times(past),
        ]

    def _rate(self, now: Latest, past: Columns, height: int) -> list[Text]:
        top = top_of(past.rate_bps, past.capacity_bps)
        limit = "" if now.capacity_bps is None else f"of {rate_text(now.capacity_bps)}"
        chart = Chart(past.rate_bps, top, _RATE, past.capacity_bps)
        labels = ["rate", rate_text(now.rate_bps), limit]
        return self._chart(chart, labels, rate_text(top), height)

    def _delay(self, now: Latest, past: Columns, height: int) -> list[Text]:
        top = rounded_up(top_of(past.queue_delay_s)) if any(past.queue_delay_s) else 1e-3
        delay = MISSING if now.queue_delay_s is None else ms_text(now.queue_delay_s)
        chart = Chart(past.queue_delay_s, top, _DELAY)
        return self._chart(chart, ["queueing delay", delay], ms_text(top), height)

    def _goodputs(self, now: Latest, past: Columns) -> list[Text]:
        top = top_of(*past.goodput_bps)
        return [
            self._line(flow, rate_text(goodput), series, _GOODPUT, top)
            for flow, goodput, series in zip(
                self._flows, now.goodput_bps, past.goodput_bps, strict=False
            )
        ]

    def _chart(self, chart: Chart, labels: list[str], top: str, height: int) -> list[Text]:
        """Draw a chart with its axis, and its labels to the left."""
        rows = []
        for place, drawn in enumerate(chart.rows(height, self._glyphs)):
            label = labels[place] if place < len(labels) else ""
            mark = top if place == 0 else "0" if place == height - 1 else ""
            axis = self._glyphs.tick if mark else self._glyphs.axis
            rows.append(self._margin(label, mark, axis).append_text(drawn))
        return rows

    def _line(
        self, name: str, value: str, series: list[Column], style: str, top: float | None = None
    ) -> Text:
        """Draw a chart of one row."""
        chart = Chart(series, top_of(series) if top is None else top, style)
        (drawn,) = chart.rows(1, self._glyphs)
        return self._margin(name, value, self._glyphs.axis).append_text(drawn)

    def _margin(self, left: str, right: str, axis: str) -> Text:
        space = _MARGIN - 2 - len(right)
        return Text(f"{set_cell_size(left, space - 1)} {right} {axis}")

    def _times(self, past: Columns) -> Text:
        start, end = f"{past.start_s:.0f} s", f"{past.end_s:.0f} s"
        return Text(" " * _MARGIN + start + end.rjust(self._columns - _MARGIN - len(start)))


def require_terminal() -> None:
    """Require a terminal on standard error, where the view is drawn."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError(
            "--view draws on standard error, which is not a terminal with a cursor; leave it out"
        )
