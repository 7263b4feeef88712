"""Plots of commands: a failed picture does not stop the rest of a command."""

import sys
from functools import partial

from sojourn import output, terminal
from sojourn.picture import Drawing
from sojourn.picture.pictures import reason_of


class Plots:
    """The pictures of one command, and messages about the missing ones."""

    def __init__(self) -> None:
        self._missing: list[str] = []

    def report_missing(self, text: str) -> None:
        """Keep a message until the command has shown its results."""
        self._missing.append(text)

    def plot(self, picture: Drawing, file: str, dark: bool = False) -> bool:
        """Write the picture of --plot; return whether it succeeded."""
        try:
            output.write_new_file(file, partial(picture.save, dark=dark))
        except Exception as error:
            self.report_missing(f"{file}: the picture could not be written: {reason_of(error)}")
            return False
        return True

    def status(self, status: int = 0) -> int:
        """Report missing pictures on standard error; the exit status is then at least 1."""
        if not self._missing:
            return status
        sys.stdout.flush()
        for text in self._missing:
            terminal.say(f"sojourn: {text}")
        return max(status, 1)
