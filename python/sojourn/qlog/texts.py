"""JSON read piece by piece, so that what comes before a fault is not lost.

Texts are read as Latin-1: a character is a byte then, so that a place in the text is one in the
file. Names are made whole by `said`.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sojourn import inputs, memory

RS = b"\x1e"
LONGEST = 16 << 20
"""Bytes of one text of a sequence at most: an event is a packet's, of some hundred bytes."""
_CHUNK = 1 << 20
# What is kept of events is little, but of a long log much: a chunk takes no more than this.
_ROOM = 256 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
# Bytes of an object with its first entry, of a list with its first item, of each further one, and
# of half a text besides its characters.
_BYTES = {"{": 190, "[": 90, ",": 70, '"': 30}
_DECODER = json.JSONDecoder(strict=False)


class FaultyTextError(Exception):
    """What is at a byte of a file is not JSON, or not what belongs there."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at
        self.what = what


def said(text: Any) -> str | None:
    """A name as it was written."""
    if not isinstance(text, str):
        return None
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


class Cursor:
    """A place in a text that began at byte `base` of its file."""

    def __init__(self, text: str, base: int = 0) -> None:
        self.text = text
        self.base = base
        self.at = 0

    def peek(self) -> str:
        """The next character that is no space; nothing at the end."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def bytes(self) -> int:
        """What all its values take together, at most: by their kinds, in CPython."""
        return sum(most * self.text.count(sign) for sign, most in _BYTES.items())

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise self.fault(f"not JSON: {error.msg}", error.pos) from error
        except RecursionError as error:
            raise self.fault("nested too deeply") from error
        except ValueError as error:
            raise self.fault(f"not a number that can be read: {error}") from error
        return value

    def take(self, expected: str) -> None:
        """Goes past a character."""
        found = self.peek()
        if found != expected:
            what = f"{found!r}" if found else "the file ends"
            raise self.fault(f"{what} where {expected!r} belongs")
        self.at += 1

    def items(self) -> Iterator[None]:
        """Stops before each value of a list."""
        yield from self._each("[", "]")

    def fields(self) -> Iterator[str]:
        """Stops before the value of each field of an object; says its name."""
        for _ in self._each("{", "}"):
            key = self.value()
            if not isinstance(key, str):
                raise self.fault("a name is not text")
            self.take(":")
            yield key

    def fault(self, what: str, at: int | None = None) -> FaultyTextError:
        """What is wrong here."""
        return FaultyTextError(self.base + (self.at if at is None else at), what)

    def _each(self, opening: str, closing: str) -> Iterator[None]:
        self.take(opening)
        if self.peek() == closing:
            self.at += 1
            return
        while True:
            yield
            if self.peek() == closing:
                self.at += 1
                return
            self.take(",")


def whole(file: Path) -> Cursor:
    """A file at its beginning."""
    return Cursor(inputs.whole(file).decode("latin-1"))


def sequence(file: Path, separator: bytes, each: Callable[[Cursor], None]) -> None:
    """Hands on each text of a sequence of them (RFC 7464, or a line each).

    What has no separator in it is put together once, at its end: as often as a chunk is read
    would be a time that grows with its length squared.
    """
    at = length = 0
    parts: list[bytes] = []
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            memory.require(_ROOM, f"what {file} tells takes the rest; give a part of it")
            *ends, rest = chunk.split(separator)
            for end in ends:
                text = b"".join([*parts, end])
                _one(text, at, each)
                at, length, parts = at + len(text) + 1, 0, []
            parts.append(rest)
            length += len(rest)
            if length > LONGEST:
                raise FaultyTextError(at, f"one text is longer than {LONGEST >> 20} MiB")
    _one(b"".join(parts), at, each)


def _one(text: bytes, at: int, each: Callable[[Cursor], None]) -> None:
    cursor = Cursor(text.decode("latin-1"), at)
    if cursor.peek():
        each(cursor)
        if cursor.peek():
            raise cursor.fault("there is more behind a JSON text")
