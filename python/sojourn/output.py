"""Output folders and files, each written completely or not at all.

A folder or file that the user names is never overwritten.

Each is written into a hidden folder beside its target, `.sojourn-*.partial`, and moved when it is
complete. A process locks its hidden folder while it lives (flock(2)). The next process with the
same target therefore recognises abandoned folders, and removes them.
"""

import errno
import fcntl
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from sojourn import _core
from sojourn.errors import OutputExistsError, UsageError

Fill = Callable[[Path], object]
"""Fills the folder, or the one file, at the path."""

# Bytes of a name that leave room for a number behind it (NAME_MAX is 255).
_LONGEST_BASE = 240
# Errors of rename(2) if the target exists: a folder with content, or a file.
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


# Targets of this process that no message has named, in the order of writing.
_unnamed: dict[str, None] = {}


def announced(kind: str, target: str | PathLike[str], hint: str = "") -> str:
    """Return the line that names a written folder or file to the user."""
    _unnamed.pop(str(target), None)
    return f"{kind}: {target}{hint}"


def unannounced() -> list[str]:
    """Return the targets that no message has named, and forget them."""
    names = list(_unnamed)
    _unnamed.clear()
    return names


def _note_written(target: Path) -> None:
    """Keep the name of a target for the user, unless it is inside a hidden folder."""
    if not _is_hidden(target):
        _unnamed[str(target)] = None


def _is_hidden(path: Path) -> bool:
    """Whether a path is inside a hidden folder, which is synced when it is complete."""
    return any(part.startswith(".sojourn-") for part in path.parts)


@dataclass
class Opened:
    """A folder that is being written."""

    place: Path
    """The hidden folder that becomes the target."""
    target: Path
    """The place of the complete folder."""


def require_free(target: str | PathLike[str], option: str = "--out") -> Path:
    """Return the path of a folder; refuse one that cannot be made or is not empty.

    Errors name it by `option`.
    """
    path = _named(target, option)
    found = _status(path, option)
    if found is not None and not stat.S_ISDIR(found.st_mode):
        raise OutputExistsError(f"{path} exists and is no folder; name another with {option}")
    if found is not None and any(path.iterdir()):
        raise OutputExistsError(
            f"{path} exists and is not empty, and nothing is ever overwritten; "
            f"name another with {option} or remove it"
        )
    _require_parent(path, option)
    return path


def require_free_file(target: str | PathLike[str], option: str = "--plot") -> Path:
    """Refuse a file that cannot be made or exists."""
    path = _named(target, option)
    if _status(path, option) is not None:
        raise OutputExistsError(
            f"{path} exists, and nothing is ever overwritten; name another or remove it"
        )
    if not path.parent.exists():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    _require_parent(path, option)
    return path


def require_apart(targets: Sequence[tuple[str, Path]]) -> None:
    """Refuse equal or nested folders, because each is written completely or not at all."""
    for number, (option, target) in enumerate(targets):
        for earlier_option, earlier in targets[:number]:
            one, two = earlier.resolve(), target.resolve()
            if one == two:
                raise UsageError(
                    f"{earlier_option} and {option} both name {target}; give each its own"
                )
            if one in two.parents or two in one.parents:
                raise UsageError(
                    f"{earlier_option} {earlier} and {option} {target}: one contains the other; "
                    "give each a folder of its own"
                )


def choose(out: str | None, base: Path) -> "Choice":
    """Return the requested folder, which must be free, or else a free one named after `base`."""
    if out is not None:
        return Choice(require_free(out), numbered=False)
    # Leave room for a number at the end.
    name = os.fsencode(base.name)[:_LONGEST_BASE].decode("utf-8", "ignore")
    base = base.with_name(name or "run")
    _require_parent(base, "--out")
    return Choice(base, numbered=True)


@dataclass(frozen=True)
class Choice:
    """A folder; if `numbered`, the first free one of it, `-2`, `-3`, ..."""

    path: Path
    numbered: bool

    @contextmanager
    def opened(self, option: str = "--out", mode: int = 0o777) -> Iterator[Opened]:
        """Make the hidden folder; it becomes the target, or is removed after an error.

        `mode` has the permissions of the folder, of which the umask takes some.
        """
        if not self.numbered:
            require_free(self.path, option)
            _require_alone(self.path, option)
        missing = [one for one in (self.path.parent, *self.path.parent.parents) if not one.exists()]
        _core.parents(missing)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with hidden(self.path, mode) as place:
                opened = Opened(place, self.path)
                yield opened
                opened.target = self._moved(place)
                _note_written(opened.target)
        except BaseException as error:
            if isinstance(error, OSError):
                self._rename_in(error)
            for parent in missing:
                with suppress(OSError):
                    parent.rmdir()
            raise

    def _rename_in(self, error: OSError) -> None:
        """Replace the hidden folder by the target in an error's file name."""
        file = Path(str(error.filename or ""))
        for part in (file, *file.parents):
            if part.name.startswith(_prefix(self.path)):
                error.filename = str(self.path / file.relative_to(part))

    def _moved(self, place: Path) -> Path:
        # On Linux and macOS, rename replaces an empty folder and refuses one that is not.
        while True:
            target = next_free(self.path) if self.numbered else self.path
            try:
                _completed(place, target)
            except OSError as error:
                if error.errno not in _TAKEN or not os.path.lexists(target):
                    raise
                # Another process took the name meanwhile.
                if not self.numbered:
                    raise OutputExistsError(f"{target} was created by another process") from error
            else:
                return target


def next_free(base: Path) -> Path:
    """Return `base`, or the first free one of `base-2`, `base-3`, ... if it exists."""
    path, number = base, 1
    while os.path.lexists(path):
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path


def write_folder(target: Path, fill: Fill) -> Path:
    """Write a folder to `target`, which must be free."""
    with Choice(target, numbered=False).opened() as opened:
        fill(opened.place)
    return opened.target


def write_new_file(target: str | PathLike[str], fill: Fill, option: str = "--plot") -> Path:
    """Write a file to `target`, which must be free. An `OSError` names it, as in `write_file`."""
    path = require_free_file(target, option)
    try:
        with hidden(path) as place:
            # `fill` derives the format from the suffix.
            file = place / f"file{path.suffix}"
            fill(file)
            _completed(file, path)
            _note_written(path)
    except FileExistsError as error:
        raise OutputExistsError(f"{path} was created by another process") from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return path


def write_file(file: Path, content: str | bytes) -> Path:
    """Write a file by way of a hidden folder beside it; replace the file if it exists.

    An error leaves neither a partial file nor the hidden folder. An `OSError` names `file`, because
    the system calls that fail on a full disk report no name.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with hidden(file) as place:
            part = place / "file"
            part.write_bytes(data)
            if _is_hidden(file):
                part.replace(file)
            else:
                sync(part)
                part.replace(file)
                sync(file.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    return file


def sync(place: Path) -> None:
    """Wait until the disk has the content of a file, or the names in a folder."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise OSError(error.errno, error.strerror, str(place)) from error
    finally:
        os.close(descriptor)


def _synced(place: Path) -> None:
    """Wait until the disk has a file, or a folder with everything in it.

    After a power failure, a file that was renamed before that may be empty.
    """
    for folder, _, files in os.walk(place, topdown=False):
        for name in files:
            sync(Path(folder) / name)
        sync(Path(folder))
    if place.is_file():
        sync(place)


def _completed(place: Path, target: Path) -> None:
    """Move a complete file or folder to its target, where it survives a power failure."""
    _synced(place)
    _core.complete(place, target)
    sync(target.parent)


def _named(target: str | PathLike[str], option: str) -> Path:
    """Return the path; refuse one whose last part is not a name."""
    text = os.fspath(target)
    if any(ord(sign) < 0x20 or ord(sign) == 0x7F for sign in text):
        raise UsageError(
            f"{option} {text!r}: a name cannot have control characters; leave them out"
        )
    path = Path(text)
    if path.name in ("", ".."):
        raise UsageError(f"{option} {text!r}: this is not a new name; add one, such as ./mine")
    return path


def _status(path: Path, option: str) -> os.stat_result | None:
    """Return the status of the path itself, without following links; None if it does not exist."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; name another") from error


def _require_parent(path: Path, option: str) -> None:
    """Refuse a path whose first existing parent is not a folder that the user can write to."""
    for parent in path.absolute().parents:
        if _status(parent, option) is None:
            continue
        if not parent.is_dir():
            raise UsageError(f"{option} {path}: {parent} is no folder; name a place elsewhere")
        # For root, this detects read-only mounts.
        if not os.access(parent, os.W_OK | os.X_OK):
            raise UsageError(
                f"{option} {path}: the folder {parent} cannot be written to; name a place elsewhere"
            )
        return


@contextmanager
def hidden(target: Path, mode: int = 0o777) -> Iterator[Path]:
    """Make a hidden folder beside `target`; remove it at the end unless it was moved."""
    prefix = _prefix(target)
    _remove_abandoned(target.parent, prefix)
    place, lock = _make(target.parent, prefix, mode)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        _core.settled(place)
        if lock is not None:
            os.close(lock)


def _prefix(target: Path) -> str:
    """Return the prefix of the names of a target's hidden folders."""
    return f".sojourn-{zlib.crc32(os.fsencode(target.name)):08x}-"


def _require_alone(target: Path, option: str) -> None:
    """Refuse a folder that another command is writing."""
    if _remove_abandoned(target.parent, _prefix(target)):
        raise OutputExistsError(
            f"{target} is being written by another command; name another with {option}, or wait"
        )


def _make(parent: Path, prefix: str, mode: int) -> tuple[Path, int | None]:
    while True:
        place = parent / f"{prefix}{os.urandom(4).hex()}.partial"
        # Registered before it exists, so that an interrupt at any moment removes it.
        _core.leftover(place)
        try:
            place.mkdir(mode)
        except OSError as error:
            _core.settled(place)
            raise UsageError(
                f"no folder can be created in {parent}: {error.strerror}; name a place elsewhere"
            ) from error
        try:
            lock = _lock(place)
        except (BlockingIOError, FileNotFoundError):
            # Another process took the unlocked folder for an abandoned one, and removes it.
            continue
        except OSError:
            # The file system has no locks, so no folder on it is ever treated as abandoned.
            return place, None
        if place.exists():
            return place, lock
        os.close(lock)


def _remove_abandoned(parent: Path, prefix: str) -> bool:
    """Remove the folders of killed processes; return whether a running process holds another."""
    is_held = False
    for place in parent.glob(f"{prefix}*.partial"):
        try:
            lock = _lock(place)
        except BlockingIOError:
            is_held = True
        except OSError:
            # It has just been moved, or the file system has no locks.
            continue
        else:
            shutil.rmtree(place, ignore_errors=True)
            os.close(lock)
    return is_held


def _lock(place: Path) -> int:
    """Lock a folder until the descriptor is closed; raise `BlockingIOError` if it is locked."""
    lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(lock)
        raise
    return lock
