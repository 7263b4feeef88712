"""The one way to open files that the user names: regular, bounded, and Ctrl-C ends the wait."""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from sojourn import memory
from sojourn.errors import UsageError

TEXT_LIMIT = 16 << 20
"""Largest scenario or Python file in bytes: a scenario of 100,000 flows has 10 MB."""
TRACE_LIMIT = 128 << 20
"""Largest capacity file in bytes: ten hours of 100 Mbit/s as a mahimahi trace."""
_CHUNK = 1 << 20
# Memory holds the file as bytes and as text.
_BYTES_A_BYTE = 2
# Memory of parsed JSON per byte of its text, measured with summaries.
_JSON_BYTES_A_BYTE = 30

_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def opened_as(argument: str) -> str:
    """Return the file that an argument of the command line names: `-` is standard input."""
    return "/dev/stdin" if argument == "-" else argument


def text(path: str | PathLike[str], limit: int = TEXT_LIMIT) -> str:
    """Read UTF-8 text from a file or a pipe of at most `limit` bytes."""
    file = os.fspath(path)
    if _kind(_status(file)) is None:
        return whole_text(file, limit)
    # A pipe waits here for its writer, and Ctrl-C ends the wait.
    with open(file, "rb") as source:  # noqa: PTH123
        data = _read(source.fileno(), limit + 1)
    return _decoded(data, file, limit)


def whole_text(path: str | PathLike[str], limit: int = TEXT_LIMIT) -> str:
    """Read UTF-8 text from a regular file of at most `limit` bytes."""
    file = os.fspath(path)
    with _opened(file) as (descriptor, size):
        if size > limit:
            raise _too_long(file, limit)
        return _decoded(_all(descriptor, size, file), file, limit)


def whole(path: str | PathLike[str], bytes_a_byte: int = _BYTES_A_BYTE) -> bytes:
    """Read a regular file; refuse one that takes more memory than is available."""
    file = os.fspath(path)
    with _opened(file) as (descriptor, size):
        memory.require(bytes_a_byte * size, f"{file} is read as a whole; shorten it")
        return _all(descriptor, size, file)


def whole_json(path: str | PathLike[str]) -> Any:
    """Read JSON from a regular file. Raise `UsageError` for any other content."""
    return parsed_json(whole(path, _JSON_BYTES_A_BYTE), os.fspath(path))


def parsed_json(data: bytes, file: str) -> Any:
    """Return the value of JSON from `file`. Raise `UsageError` for any other content."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise UsageError(f"{file}: nested too deeply") from error
    except ValueError as error:
        raise UsageError(f"{file}: not JSON ({error})") from error


def require_file(path: str | PathLike[str]) -> int:
    """Refuse pipes and devices, such as /dev/zero; return the size of the file."""
    file = os.fspath(path)
    status = _status(file)
    _require_regular(file, status)
    return status.st_size


@contextmanager
def _opened(file: str) -> Iterator[tuple[int, int]]:
    """Open a regular file; yield its descriptor and its size.

    The kind is checked first, since opening a device may act on it, and again once the file is
    open, since another may have taken the name. O_NONBLOCK then keeps a pipe from waiting.
    """
    require_file(file)
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        _require_regular(file, status)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
        yield descriptor, status.st_size
    finally:
        os.close(descriptor)


def _all(descriptor: int, size: int, file: str) -> bytes:
    """Read a file of this size, and no byte beyond it.

    Files of /proc, such as kmsg, are regular with a size of 0, and reading them may wait.
    """
    data = _read(descriptor, size)
    if len(data) != os.fstat(descriptor).st_size:
        raise UsageError(f"{file}: it changes while it is read; wait for its end")
    return data


def _read(descriptor: int, most: int) -> bytes:
    """Read up to `most` bytes, in parts, so that Ctrl-C ends it."""
    parts: list[bytes] = []
    while most > 0 and (part := os.read(descriptor, min(most, _CHUNK))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _decoded(data: bytes, file: str, limit: int) -> str:
    if len(data) > limit:
        raise _too_long(file, limit)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 text (byte {error.start})") from error


def _too_long(file: str, limit: int) -> UsageError:
    return UsageError(f"{file}: longer than the {limit >> 20} MiB that such a file may have")


def _status(file: str) -> os.stat_result:
    try:
        return os.stat(file)  # noqa: PTH116 - Path("") is another folder
    except ValueError as error:
        raise UsageError(f"{file!r} cannot be the name of a file: {error}") from error


def _require_regular(file: str, status: os.stat_result) -> None:
    if kind := _kind(status):
        raise UsageError(f"{file}: {kind}, not a file; save it to a file first")


def _kind(status: os.stat_result) -> str | None:
    """Name the kind of a file that is neither regular nor a folder."""
    return _KINDS.get(stat.S_IFMT(status.st_mode))
