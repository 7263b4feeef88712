"""Incremental JSON parser that keeps everything before an error.

Texts are decoded as Latin-1, with one character per byte, so that positions in the text are
positions in the file. `decoded` restores names to UTF-8.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from sojourn import inputs, memory

RS = b"\x1e"
LONGEST = 16 << 20
"""Maximum size of one text of a sequence, in bytes; an event has some hundred bytes."""
_CHUNK = 1 << 20
# Memory for a chunk's events. Each event keeps little, but a long log has many.
_ROOM = 256 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
# Memory in bytes of an object with its first entry, a list with its first item, each further
# entry or item, and half a string without its characters.
_BYTES = {"{": 190, "[": 90, ",": 70, '"': 30}
_DECODER = json.JSONDecoder(strict=False)


class FaultyTextError(Exception):
    """The file is not JSON at a byte, or has an unexpected value there."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at
        self.what = what


def decoded(text: object) -> str | None:
    """Restore a name to the original text."""
    if not isinstance(text, str):
        return None
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


class Cursor:
    """A position in a text that starts at byte `base` of its file."""

    def __init__(self, text: str, base: int = 0) -> None:
        self.text = text
        self.base = base
        self.at = 0

    def peek(self) -> str:
        """Return the next non-space character, or an empty string at the end."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def bytes(self) -> int:
        """Upper bound of the memory of all values in CPython, by their types."""
        return sum(most * self.text.count(sign) for sign, most in _BYTES.items())

    def value(self) -> object:
        """Parse the next complete value."""
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
        """Skip an expected character."""
        found = self.peek()
        if found != expected:
            what = f"{found!r}" if found else "the file ends"
            raise self.fault(f"{what} where {expected!r} belongs")
        self.at += 1

    def items(self) -> Iterator[None]:
        """Stop before each value of a list."""
        yield from self._each("[", "]")

    def fields(self) -> Iterator[str]:
        """Stop before the value of each field of an object; yield the field's name."""
        for _ in self._each("{", "}"):
            key = self.value()
            if not isinstance(key, str):
                raise self.fault("a name is not text")
            self.take(":")
            yield key

    def fault(self, what: str, at: int | None = None) -> FaultyTextError:
        """Build the exception for an error here."""
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
    """Read a whole file; the cursor is at its start."""
    return Cursor(inputs.whole(file).decode("latin-1"))


def sequence(file: Path, separator: bytes, each: Callable[[Cursor], None]) -> None:
    """Pass each text of a sequence to `each` (RFC 7464, or one text per line).

    The chunks of a long text are joined only once, at its end. Joining them after every chunk would
    take time quadratic in the length of the text.
    """
    at = length = 0
    parts: list[bytes] = []
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            memory.require(
                _ROOM, f"the events of {file} need the rest of the memory; give a part of it"
            )
            *ends, rest = chunk.split(separator)
            for end in ends:
                text = b"".join([*parts, end])
                _parse_one(text, at, each)
                at, length, parts = at + len(text) + 1, 0, []
            parts.append(rest)
            length += len(rest)
            if length > LONGEST:
                raise FaultyTextError(at, f"one text is longer than {LONGEST >> 20} MiB")
    _parse_one(b"".join(parts), at, each)


def _parse_one(text: bytes, at: int, each: Callable[[Cursor], None]) -> None:
    cursor = Cursor(text.decode("latin-1"), at)
    if cursor.peek():
        each(cursor)
        if cursor.peek():
            raise cursor.fault("there are data after a JSON text")
