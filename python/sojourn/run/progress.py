"""Progress on standard error: a bar on a terminal, and elsewhere a line each half minute."""

import sys
import threading

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from sojourn import terminal
from sojourn.record.formatting import size_text, span_text

_EVERY_S = 30.0
"""Time between lines of a log: a reader sees that the work goes on, and can scroll over it."""


class Bar:
    """A bar that disappears when the work is done, or lines that stay."""

    def __init__(self) -> None:
        console = Console(file=terminal.styled(sys.stderr))
        self._is_drawn = console.is_terminal and not console.is_dumb_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not self._is_drawn,
        )
        self._task = self._progress.add_task("Simulating", total=None)
        self._ended = threading.Event()

    def simulating(self, done_s: float, total_s: float) -> None:
        """Show the number of completed simulated seconds."""
        self._progress.update(self._task, description="Simulating", completed=done_s, total=total_s)

    def setting_up(self, done: int, total: int) -> None:
        """Show the number of flows of a live run that are set up."""
        self._progress.update(
            self._task, description="Setting up flows", completed=done, total=total
        )

    def sending(self, done: float, total: float) -> None:
        """Show the part of a transfer that has been delivered, or the part of its time."""
        self._progress.update(self._task, description="Sending", completed=done, total=total)

    def downloading(self, what: str, received: int, total: int | None) -> None:
        """Show the bytes of a download that have arrived, of the total if the server names it."""
        size = size_text(received) + (f" of {size_text(total)}" if total else "")
        description = f"{_named('Downloading', what)}: {size}"
        self._progress.update(self._task, description=description, completed=received, total=total)

    def measuring(self, what: str, done: int, total: int) -> None:
        """Show the current measurement and the number of completed ones."""
        self._progress.update(
            self._task, description=_named("Measuring", what), completed=done, total=total
        )

    def sweeping(self, done: int, failures: int, total: int) -> None:
        """Show the number of completed runs, their rate, and the number that failed."""
        elapsed_s = self._progress.tasks[0].elapsed or 0.0
        rate = f", {done / elapsed_s:,.3g} runs/s" if done and elapsed_s else ""
        failed = f", {failures:,} failed" if failures else ""
        self._progress.update(
            self._task,
            description=f"{done:,} of {total:,} runs{rate}{failed}",
            completed=done,
            total=total,
        )

    def figure(self, name: str) -> None:
        """Show the current figure of a paper."""
        self._progress.reset(self._task, description=_named("Running", name), total=None)

    def writing(self, what: str = "report") -> None:
        """Show that the simulations have ended, and that a report or data are being written."""
        self._progress.reset(self._task, description=f"Writing the {what}", total=None)

    def __enter__(self) -> "Bar":
        self._progress.start()
        if not self._is_drawn:
            threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._progress.stop()

    def _print_lines(self) -> None:
        while not self._ended.wait(_EVERY_S):
            terminal.say(self._line())

    def _line(self) -> str:
        """Return the state as a line: `Simulating: 40 %, 1 min left`."""
        task = self._progress.tasks[0]
        elapsed_s = task.elapsed or 0.0
        parts = [Text.from_markup(task.description).plain]
        if task.total and task.completed:
            share = min(task.completed / task.total, 1.0)
            parts.append(f"{100 * share:.0f} %")
            parts.append(f"{span_text(elapsed_s * (1 / share - 1))} left")
        else:
            parts.append(f"for {span_text(elapsed_s)}")
        return ", ".join(parts)


def _named(doing: str, name: str) -> str:
    return f"{doing} {escape(terminal.one_line(name))}"
