"""The kernel's programs, maps and links of BPF, by bpf(2)."""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Iterator

# The number of the system call.
_SYSCALL = {"x86_64": 321, "aarch64": 280}.get(platform.machine(), 321)
# Its commands, and the size of its arguments (`union bpf_attr`).
_NEXT_ID = {"programs": 11, "maps": 12, "links": 31}
_PROGRAM_BY_ID = 13
_INFO_BY_FD = 15
_ATTRIBUTES = 16
# The fields of `struct bpf_prog_info`: name, time of all runs and their number.
_INFO = 232
_NAME, _RUNS = slice(64, 80), 192

_libc = ctypes.CDLL(None, use_errno=True)


def _call(command: int, attributes: bytes) -> tuple[int, bytes]:
    room = ctypes.create_string_buffer(attributes.ljust(_ATTRIBUTES, b"\0"), _ATTRIBUTES)
    found = _libc.syscall(_SYSCALL, command, room, _ATTRIBUTES)
    if found < 0:
        raise OSError(ctypes.get_errno(), "bpf(2)")
    return found, room.raw


def identifiers(what: str) -> Iterator[int]:
    """Return the identifiers of all programs, maps or links."""
    last = 0
    while True:
        try:
            _, attributes = _call(_NEXT_ID[what], struct.pack("II", last, 0))
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            raise
        (last,) = struct.unpack_from("I", attributes, 4)
        yield last


def counts() -> dict[str, int]:
    """Count all programs, maps and links."""
    return {what: sum(1 for _ in identifiers(what)) for what in _NEXT_ID}


def runs(but: Collection[int] = ()) -> dict[str, tuple[int, int]]:
    """Return the nanoseconds and the number of all runs of each program, by its name.

    Programs whose identifiers are in `but` are left out.
    """
    found = {}
    for number in identifiers("programs"):
        if number in but:
            continue
        try:
            descriptor, _ = _call(_PROGRAM_BY_ID, struct.pack("I", number))
        except OSError as error:
            if error.errno == errno.ENOENT:
                continue
            raise
        info = ctypes.create_string_buffer(_INFO)
        _call(_INFO_BY_FD, struct.pack("IIQ", descriptor, _INFO, ctypes.addressof(info)))
        os.close(descriptor)
        name = info.raw[_NAME].rstrip(b"\0").decode()
        found[name] = struct.unpack_from("QQ", info.raw, _RUNS)
    return found
