"""Folders for the captures of a run; each is written completely or not at all."""

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from sojourn import _core, output
from sojourn.errors import UsageError

# Each flow has its own pair of host addresses, beginning with 10.0.0.1 and 10.0.0.2.
_MOST_FLOWS = 1 << 16


@dataclass(frozen=True)
class Captures:
    """The folders for a run's packets, events and acknowledgements; None for unwanted files."""

    pcapng: Path | None = None
    qlog: Path | None = None
    acks: Path | None = None
    has_secrets: bool = False
    """Whether the packets have TLS secrets of connections with other machines."""

    @classmethod
    def to(
        cls,
        pcapng: str | PathLike[str] | None,
        qlog: str | PathLike[str] | None,
        acks: str | PathLike[str] | None = None,
        *,
        has_secrets: bool = False,
    ) -> "Captures":
        """Create from the folders as the user gave them."""

        def path(given: str | PathLike[str] | None) -> Path | None:
            return None if given is None else Path(given)

        return cls(path(pcapng), path(qlog), path(acks), has_secrets)

    def require_free(self) -> None:
        """Refuse folders that are not empty."""
        for option, target in self._targets():
            output.require_free(target, option)

    def require_apart_from(self, out: Path) -> None:
        """Refuse folders that contain one another or overlap with the run directory."""
        output.require_apart([("--out", out), *self._folders()])

    def require_possible(self, scenario: _core.Scenario) -> None:
        """Refuse a scenario with more flows than addresses."""
        flows = scenario.flows()
        if self._targets() and flows > _MOST_FLOWS:
            raise UsageError(f"{flows} flows cannot be captured; {_MOST_FLOWS} can")

    @contextmanager
    def opened(self) -> Iterator["Files"]:
        """Yield the folders for writing; move them into place if the block succeeds."""
        self.require_free()
        output.require_apart(self._folders())
        with ExitStack() as stack:
            places: dict[Path, Path] = {}
            for option, target in self._folders():
                choice = output.Choice(target, numbered=False)
                opened = choice.opened(option, self._mode(target))
                places[target.resolve()] = stack.enter_context(opened).place
            given = (self.pcapng, self.qlog, self.acks)
            found = (one and places[one.resolve()] for one in given)
            yield Files(*found)

    def _mode(self, target: Path) -> int:
        """Return the permissions of a folder: its owner alone can read secrets."""
        is_of_packets = self.pcapng is not None and self.pcapng.resolve() == target.resolve()
        return 0o700 if self.has_secrets and is_of_packets else 0o777

    def _folders(self) -> list[tuple[str, Path]]:
        """Return each folder once: both kinds of files may share a folder."""
        once = {target.resolve(): (option, target) for option, target in self._targets()}
        return list(once.values())

    def _targets(self) -> list[tuple[str, Path]]:
        given: Mapping[str, Path | None] = {
            "--pcapng": self.pcapng,
            "--qlog": self.qlog,
            "--tcp-probe": self.acks,
        }
        return [(option, target) for option, target in given.items() if target is not None]


@dataclass(frozen=True)
class Files:
    """The folders while they are being written."""

    pcapng: Path | None = None
    qlog: Path | None = None
    acks: Path | None = None

    def acks_prefix(self, control: str | None, seed: int) -> str | None:
        """Return the path prefix of one run's file of acknowledgements."""
        return str(self.acks / name_of(control, seed)) if self.acks else None

    def prefixes(self, control: str | None, seed: int) -> tuple[str | None, str | None]:
        """Return the path prefixes of one run's packet files and event files."""
        name = name_of(control, seed)
        pcapng, qlog = (str(one / name) if one else None for one in (self.pcapng, self.qlog))
        return pcapng, qlog


def name_of(control: str | None, seed: int) -> str:
    """Return the name prefix of a run's files: `cubic-1`; `run-1` if flows choose controllers."""
    name = control or "run"
    plain = re.sub(r"[^A-Za-z0-9._+-]", "_", name)
    # Labels may differ only in characters that file names cannot have; a checksum separates them.
    distinct = plain if plain == name else f"{plain}-{zlib.crc32(name.encode()):08x}"
    return f"{distinct}-{seed}"
