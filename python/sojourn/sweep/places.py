"""Places of axes and expressions, for errors with line and column."""

from dataclasses import dataclass
from typing import NoReturn, Protocol

from sojourn import _core


class Place(Protocol):
    """A place in the scenario document or in an argument."""

    def fault(self, message: str, help: str, part: str = "") -> NoReturn:
        """Raise a `ScenarioError` that points at the place, or at a part of it."""


@dataclass(frozen=True)
class Argument:
    """An argument of the command line or of `sojourn.sweep`."""

    option: str
    text: str

    def fault(self, message: str, help: str, part: str = "") -> NoReturn:
        """Point at the last occurrence of `part`, which follows the key."""
        start = max(self.text.rfind(part), 0) if part else 0
        end = start + len(part) if part else len(self.text)
        range_bytes = (len(self.text[:start].encode()), len(self.text[:end].encode()))
        _core.text_fault(self.option, self.text, *range_bytes, message, help)


@dataclass(frozen=True)
class Entry:
    """A value in the scenario document."""

    core: _core.Scenario
    path: tuple[str, ...]
    parts: tuple[str, ...] = ()
    """The texts of the items, if the value is a list."""

    def fault(self, message: str, help: str, part: str = "") -> NoReturn:
        """Point at the item `part` of a list, or at the value."""
        item = [str(self.parts.index(part))] if part in self.parts else []
        self.core.fault([*self.path, *item], message, help)
