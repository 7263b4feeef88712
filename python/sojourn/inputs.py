"""Read whole files, with a bound on devices and pipes too."""

import os
import stat
from os import PathLike

from sojourn import memory
from sojourn.errors import UsageError

TEXT_LIMIT = 16 << 20
"""Largest scenario or Python file in bytes: a scenario of 100,000 flows has 10 MB."""
TRACE_LIMIT = 128 << 20
"""Largest capacity file in bytes: ten hours of 100 Mbit/s as a mahimahi trace."""
_CHUNK = 1 << 20
# Memory holds the file as bytes and as text.
_BYTES_A_BYTE = 2

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
    with open(file, "rb") as source:  # noqa: PTH123 - Path("") is another folder
        data = _read(source.fileno(), limit)
    if len(data) > limit:
        raise UsageError(f"{file}: longer than the {limit >> 20} MiB that such a file may have")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 text (byte {error.start})") from error


def whole_text(path: str | PathLike[str]) -> str:
    """Read UTF-8 text from a regular file."""
    require_file(path)
    return text(path)


def _read(descriptor: int, limit: int) -> bytes:
    """Read up to one byte more than the limit."""
    parts: list[bytes] = []
    left = limit + 1
    while left > 0 and (part := os.read(descriptor, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def require_file(path: str | PathLike[str]) -> int:
    """Refuse pipes and devices, such as /dev/zero; return the size of the file."""
    file = os.fspath(path)
    status = os.stat(file)  # noqa: PTH116
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is not None:
        raise UsageError(f"{file}: {kind}, not a file; save it to a file first")
    return status.st_size


def whole(path: str | PathLike[str], bytes_a_byte: int = _BYTES_A_BYTE) -> bytes:
    """Read a whole file; refuse one that takes more memory than is available."""
    size = require_file(path)
    memory.require(bytes_a_byte * size, f"{os.fspath(path)} is read as a whole; shorten it")
    with open(path, "rb") as source:  # noqa: PTH123
        data = source.read(size + 1)
    if len(data) > size:
        raise UsageError(f"{os.fspath(path)}: it grows while it is read; wait for its end")
    return data
