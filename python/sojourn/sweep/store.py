"""Folders of a dataset, whose files are written completely or not at all."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sojourn import inputs, output
from sojourn.errors import UsageError
from sojourn.sweep.remote import RemoteFolder
from sojourn.sweep.tables import POINTS

LOCK = ".lock"
_PARTIAL = ".partial"


class Folder:
    """A local folder."""

    lock: int | None = None
    """The open file that locks the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: bytes) -> None:
        """Write a file by way of a hidden one beside it; replace the file if it exists."""
        target = self.path / name
        make(target.parent)
        partial = target.with_name(f".{target.name}.{os.getpid()}{_PARTIAL}")
        try:
            partial.write_bytes(content)
            output.sync(partial)
            partial.replace(target)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        # The file that completes a batch must not outlive the names of the others.
        output.sync(target.parent)

    def read(self, name: str) -> bytes:
        """Read a file."""
        return inputs.whole(self.path / name, 1)

    def read_all(self, names: Sequence[str]) -> Iterator[bytes]:
        """Read several files, in their order."""
        return map(self.read, names)

    def exists(self, name: str) -> bool:
        """Whether a file exists."""
        return (self.path / name).exists()

    def list(self, folder: str) -> list[str]:
        """Return the names of the Parquet files in a folder, sorted."""
        return sorted(file.name for file in (self.path / folder).glob("*.parquet"))

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.path / name).unlink(missing_ok=True)

    def modified_s(self, name: str) -> float | None:
        """Return the time of the last change of a file, in seconds since 1970."""
        try:
            return (self.path / name).stat().st_mtime
        except FileNotFoundError:
            return None

    def partial(self) -> Iterator[str]:
        """Return the names of files that a killed process left."""
        for file in self.path.rglob(f".*{_PARTIAL}"):
            yield str(file.relative_to(self.path))

    def require_free(self) -> None:
        """Refuse a folder with other content, and one that cannot be made."""
        found = list(self.path.iterdir()) if self.path.is_dir() else []
        if not all(map(_is_unfinished, found)):
            raise UsageError(
                f"{self.path} is not empty and not a dataset of a sweep; name another with --out"
            )
        if not found:
            output.require_free(self.path)

    def __str__(self) -> str:
        return str(self.path)


def make(folder: Path) -> None:
    """Make a folder and those above it; wait until the disk has the names of the new ones."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in new:
        output.sync(one.parent)


def _is_unfinished(file: Path) -> bool:
    """Whether a command leaves this file if it is killed before it describes the dataset."""
    hidden = file.name.startswith(".") and file.suffix == _PARTIAL
    return hidden or file.name in (LOCK, POINTS)


AnyFolder = Folder | RemoteFolder


def open_folder(place: str | os.PathLike[str]) -> AnyFolder:
    """Return the folder of a path, or of a URL such as `s3://bucket/sweep`."""
    text = os.fspath(place)
    return RemoteFolder(text) if "://" in text else Folder(Path(text))
