"""A line at the bottom of a terminal, below the output of another program."""

import os
import sys

from sojourn import terminal

_FEWEST_ROWS = 3


class StatusLine:
    """The last row of the terminal on standard error.

    The scrolling region (DECSTBM) excludes the row, so that the output of a program on the same
    terminal does not mix with it. Without a terminal, or if it is too small, nothing is shown.
    """

    def __init__(self, wanted: bool) -> None:
        self.is_shown = wanted and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._rows = 0

    def show(self, text: str) -> None:
        """Replace the line."""
        size = self._size()
        if not self.is_shown or size is None or size.lines < _FEWEST_ROWS:
            return
        before = ""
        if size.lines != self._rows:
            # Index (IND) scrolls if the cursor is in the row. Setting the region moves the cursor,
            # which is therefore saved and restored.
            before = f"\x1bD\x1b[A\x1b7\x1b[1;{size.lines - 1}r\x1b8"
            self._rows = size.lines
        line = terminal.one_line(text)[: size.columns - 1]
        self._write(f"{before}\x1b7\x1b[{size.lines};1H\x1b[2K\x1b[7m{line}\x1b[m\x1b8")

    def __enter__(self) -> "StatusLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows:
            self._write(f"\x1b7\x1b[r\x1b[{self._rows};1H\x1b[2K\x1b8")
            self._rows = 0

    def _size(self) -> os.terminal_size | None:
        try:
            return os.get_terminal_size(sys.stderr.fileno())
        except OSError:
            return None

    def _write(self, text: str) -> None:
        out = terminal.styled(sys.stderr)
        out.write(text)
        out.flush()
