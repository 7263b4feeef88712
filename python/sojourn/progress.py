"""The progress bar on standard error, shown only on a terminal."""

import sys
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from sojourn import terminal


class Bar:
    """A bar that disappears when the work is done."""

    def __init__(self) -> None:
        console = Console(file=terminal.styled(sys.stderr))
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("Simulating", total=None)

    def simulating(self, done_s: float, total_s: float) -> None:
        """Show the number of completed simulated seconds."""
        self._progress.update(self._task, completed=done_s, total=total_s)

    def sending(self, done: float, total: float) -> None:
        """Show the part of a transfer that has been delivered, or the part of its time."""
        self._progress.update(self._task, description="Sending", completed=done, total=total)

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

    def writing(self) -> None:
        """Show that the simulations have ended and the report is in progress."""
        self._progress.reset(self._task, description="Writing the report", total=None)

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()


def _named(doing: str, name: str) -> str:
    return f"{doing} {escape(terminal.one_line(name))}"
