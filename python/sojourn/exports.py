"""Where a run's captures go: folders of their own, written whole or not at all."""

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from sojourn import _core, folder
from sojourn.errors import UsageError

# The hosts of each flow have addresses of their own: 10.0.0.1 and 10.0.0.2 those of the first.
_MOST_FLOWS = 1 << 16


@dataclass(frozen=True)
class Captures:
    """What is written of each run besides its series; None for not."""

    pcapng: Path | None = None
    qlog: Path | None = None

    @classmethod
    def to(cls, pcapng: str | PathLike[str] | None, qlog: str | PathLike[str] | None) -> "Captures":
        """From the folders as they are given."""
        return cls(*(None if given is None else Path(given) for given in (pcapng, qlog)))

    def require_free(self) -> None:
        """Refuses folders that hold something."""
        for option, target in self._targets():
            folder.require_free(target, option)

    def require_apart_from(self, out: Path) -> None:
        """Refuses folders in the run directory's own, or around it, or in one another."""
        folder.require_apart([("--out", out), *self._folders()])

    def require_possible(self, scenario: _core.Scenario) -> None:
        """Refuses a scenario with more flows than there are addresses."""
        flows = scenario.flows()
        if self._targets() and flows > _MOST_FLOWS:
            raise UsageError(f"{flows} flows cannot be captured; {_MOST_FLOWS} can")

    @contextmanager
    def opened(self) -> Iterator["Files"]:
        """What is captured inside is there afterwards, where nothing went wrong."""
        self.require_free()
        folder.require_apart(self._folders())
        with ExitStack() as stack:
            places: dict[Path, Path] = {}
            for option, target in self._folders():
                choice = folder.Choice(target, numbered=False)
                places[target.resolve()] = stack.enter_context(choice.opened(option)).place
            found = (one and places[one.resolve()] for one in (self.pcapng, self.qlog))
            yield Files(*found)

    def _folders(self) -> list[tuple[str, Path]]:
        """Each once: both kinds of files may go to the same folder."""
        once = {target.resolve(): (option, target) for option, target in self._targets()}
        return list(once.values())

    def _targets(self) -> list[tuple[str, Path]]:
        given: Mapping[str, Path | None] = {"--pcapng": self.pcapng, "--qlog": self.qlog}
        return [(option, target) for option, target in given.items() if target is not None]


@dataclass(frozen=True)
class Files:
    """The folders while they are being written."""

    pcapng: Path | None = None
    qlog: Path | None = None

    def of(self, control: str | None, seed: int) -> tuple[str | None, str | None]:
        """What the files of one run begin with: its packets', and its events'."""
        name = name_of(control, seed)
        pcapng, qlog = (str(one / name) if one else None for one in (self.pcapng, self.qlog))
        return pcapng, qlog


def name_of(control: str | None, seed: int) -> str:
    """What the files of a run are called: `cubic-1`; `run-1` where each flow has its own."""
    name = control or "run"
    plain = re.sub(r"[^A-Za-z0-9._+-]", "_", name)
    # What two labels differ in may be what a file's name cannot have.
    told_apart = plain if plain == name else f"{plain}-{zlib.crc32(name.encode()):08x}"
    return f"{told_apart}-{seed}"
