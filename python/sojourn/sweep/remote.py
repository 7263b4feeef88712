"""Folders of a dataset on any file system of fsspec, such as `s3://bucket/sweep`.

A new object appears completely or not at all, so files need no hidden name.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sojourn import extras
from sojourn.errors import DatasetError, UsageError
from sojourn.sweep.tables import POINTS

_AT_ONCE = 256


class RemoteFolder:
    """A folder that a URL names."""

    lock = None
    """Object stores have no locks."""

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise UsageError(
                f"{url}: remote folders need fsspec; install it with: "
                f"{extras.installation_here('cluster')}"
            ) from error
        self.url = url.rstrip("/")
        self._fs: Any
        try:
            self._fs, self._root = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise UsageError(f"{url}: {error}") from error

    def write(self, name: str, content: bytes) -> None:
        """Write a file; replace the file if it exists."""
        with self._named(name):
            self._fs.pipe_file(f"{self._root}/{name}", content)

    def read(self, name: str) -> bytes:
        """Read a file."""
        with self._named(name):
            content: bytes = self._fs.cat_file(f"{self._root}/{name}")
            return content

    def read_all(self, names: Sequence[str]) -> Iterator[bytes]:
        """Read several files, in their order; many at the same time."""
        for start in range(0, len(names), _AT_ONCE):
            paths = [f"{self._root}/{name}" for name in names[start : start + _AT_ONCE]]
            with self._named(names[start]):
                found = self._fs.cat(paths)
            yield from (found[path] for path in paths)

    def exists(self, name: str) -> bool:
        """Whether a file exists."""
        # Other writers add files, which a cached listing lacks.
        self._fs.invalidate_cache()
        with self._named(name):
            return bool(self._fs.exists(f"{self._root}/{name}"))

    def list(self, folder: str) -> list[str]:
        """Return the names of the Parquet files in a folder, sorted."""
        self._fs.invalidate_cache()
        try:
            with self._named(folder):
                found = self._fs.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        names = (str(path).rpartition("/")[2] for path in found)
        return sorted(name for name in names if name.endswith(".parquet"))

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._named(name):
            self._fs.rm_file(f"{self._root}/{name}")

    def modified_s(self, name: str) -> float | None:
        """Return the time of the last change of a file, in seconds since 1970, if it is known."""
        try:
            with self._named(name):
                changed: datetime = self._fs.modified(f"{self._root}/{name}")
        except (FileNotFoundError, NotImplementedError):
            return None
        return changed.timestamp()

    def partial(self) -> Iterator[str]:
        """Return no names: an interrupted write leaves no object."""
        yield from ()

    def require_free(self) -> None:
        """Refuse a folder with other content than the points, which a new dataset has first."""
        self._fs.invalidate_cache()
        with self._named(""):
            found = self._fs.ls(self._root, detail=False) if self._fs.exists(self._root) else []
        if any(not str(path).endswith(f"/{POINTS}") for path in found):
            raise UsageError(
                f"{self.url} is not empty and not a dataset of a sweep; name another with --out"
            )

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Name the store and the file in an error of its library, which has its own exceptions."""
        try:
            yield
        except (FileNotFoundError, NotImplementedError, UsageError):
            raise
        except Exception as error:
            fault = " ".join(str(error).split()) or type(error).__name__
            raise DatasetError(
                f"{self.url}/{name}: {fault}; check the store and the access to it, and type the "
                "command again"
            ) from error

    def __str__(self) -> str:
        return self.url
