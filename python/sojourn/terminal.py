r"""Print user-supplied text safely on standard output and standard error.

Titles, names, paths and exceptions may contain any character. A character that controls a terminal
is written as its escape: `\x1b` for the escape character. A character that the encoding lacks is
written as a similar ASCII character, or else as its escape.
"""

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from sojourn._core import ScenarioError

BAD_INPUT = 2
"""Exit status of a command whose input is at fault."""

# C0 except tabulator and line feed, DEL, C1, line separators, and the characters that change the
# direction of text (Unicode's Bidi_Control).
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ASCII = {"–": "-", "→": "->", "●": "*", "…": "...", "±": "+/-", "·": "*", "¦": "|", "‰": "o/oo"}
_ASCII |= dict(zip("░▒▓█▚", ".:=#x", strict=True))
OUTPUT = "standard output"
"""File name reported in write errors."""

_ERRORS = "sojourn"
# Longer names and messages are cut, so that they stay readable.
_LONGEST = 2_000


def escaped(text: str) -> str:
    """Escape the characters that control a terminal, except line feeds."""
    return _CONTROLS.sub(lambda found: _escape(found[0]), text)


def one_line(text: str) -> str:
    """Escape a name or a message, as one line of readable length."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def say(message: str) -> None:
    """Write a line to standard error."""
    print(one_line(message), file=sys.stderr)


def say_scenario_error(error: "ScenarioError") -> None:
    """Report the errors of a scenario, in colour on terminals that support it."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    # Both texts are free of terminal control characters, except for the colours.
    out = styled(sys.stderr)
    out.write((error.ansi if coloured else str(error)).rstrip() + "\n")


def styled(stream: Any) -> Any:
    """Return the stream for a writer of its own escape sequences, such as Rich."""
    return _Styled(stream) if isinstance(stream, _Stream) else stream


def require_text(argv: Sequence[str]) -> str | None:
    """Return an error for an argument that is not text, since every output may name it."""
    for place, argument in enumerate(argv, 1):
        if re.search("[\ud800-\udfff]", argument):
            encoding = sys.getfilesystemencoding()
            return (
                f"argument {place}, {one_line(argument)}, is not text in {encoding}; "
                "give the file a name in that encoding, or a link to it"
            )
    return None


def _escape(character: str) -> str:
    number = ord(character)
    # A surrogate for a byte of a file name that is not text (PEP 383).
    if 0xDC80 <= number <= 0xDCFF:
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks, as an error handler of `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    parts = [_ASCII.get(one) or one.encode("ascii", "backslashreplace").decode() for one in missing]
    return "".join(parts), error.end


codecs.register_error(_ERRORS, _replaced)


class _Stream(io.TextIOWrapper):
    """A standard stream that no text can control or break."""

    _fault: OSError | None = None

    def write(self, text: str) -> int:
        self.write_styled(escaped(text))
        return len(text)

    def write_styled(self, text: str) -> int:
        with self._faults():
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with self._faults():
            # `argparse` ignores an error of `write`, which has lost the text by then.
            if self._fault is not None:
                raise self._fault
            super().flush()

    def forgive(self) -> None:
        """Forget a fault, because later output is discarded."""
        self._fault = None

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Name the stream in write errors as the user knows it."""
        try:
            yield
        except BrokenPipeError as error:
            self._fault = error
            raise
        except OSError as error:
            self._fault = OSError(error.errno, error.strerror, OUTPUT)
            raise self._fault from error


class _Errors(_Stream):
    """Standard error, which cannot report its own write errors elsewhere."""

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            abandon(self)


class _Styled:
    """Write without escaping."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self.write = stream.write_styled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def abandon(stream: TextIO) -> None:
    """Discard further output, so that Python does not fail again at its exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    if isinstance(stream, _Stream):
        stream.forgive()


@contextmanager
def streams() -> Iterator[None]:
    """Replace standard output and error until the end; leave streams of other kinds alone."""
    _fill_closed()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _wrapped(sys.stdout, _Stream, 1), _wrapped(sys.stderr, _Errors, 2)
    mine = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for own, other in zip(mine, before, strict=True):
            if isinstance(own, _Stream) and own is not other:
                _end(own)


def _end(stream: _Stream) -> None:
    try:
        stream.flush()
    except OSError:
        # The command has failed with another error, which has its status.
        abandon(stream)
    stream.detach()


def _fill_closed() -> None:
    """Open closed standard streams: the next file would get their number and their output."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _wrapped(stream: Any, kind: type[_Stream], descriptor: int) -> Any:
    if stream is None:
        return kind(os.fdopen(descriptor, "wb", closefd=False), "utf-8", _ERRORS)
    # Only the interpreter's own type: a test or a notebook has streams of other types.
    if type(stream) is not io.TextIOWrapper:
        return stream
    return kind(
        stream.buffer,
        stream.encoding,
        _ERRORS,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
