"""How commands write figures: a figure that fails leaves the rest of a command to be done."""

import sys

from sojourn import folder
from sojourn.cli import terminal
from sojourn.pictures import reason_of
from sojourn.report import Drawing


class Figures:
    """The figures of one command, and what is to be said of those that are missing."""

    def __init__(self) -> None:
        self._missing: list[str] = []

    def tell(self, text: str) -> None:
        """Keeps what is to be said until the command has shown what it found."""
        self._missing.append(text)

    def plot(self, figure: Drawing, file: str) -> bool:
        """Writes what --plot asks for; says whether it is there."""
        try:
            folder.write_file(file, figure.save)
        except Exception as error:
            self.tell(f"{file}: the figure could not be written: {reason_of(error)}")
            return False
        return True

    def status(self, status: int = 0) -> int:
        """Says on standard error what is missing; the exit status is then 1 at least."""
        if not self._missing:
            return status
        sys.stdout.flush()
        for text in self._missing:
            terminal.say(f"sojourn: {text}")
        return max(status, 1)
