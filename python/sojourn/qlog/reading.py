"""Traces of qlog files, in all formats in use.

- One JSON object with `traces`: all drafts of the main schema up to the current
  `urn:ietf:params:qlog:file:contained`.
- A sequence of JSON texts, separated by record separators or newlines: the current
  `urn:ietf:params:qlog:file:sequential` and its predecessors.
"""

from dataclasses import dataclass
from pathlib import Path

from sojourn import inputs, memory
from sojourn.qlog import texts
from sojourn.qlog.texts import Cursor, FaultyTextError
from sojourn.qlog.trace import Trace

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Damage:
    """The position of an error in a file."""

    file: str
    at_byte: int
    line: int
    what: str
    events: int

    def __str__(self) -> str:
        before = "nothing" if self.events == 0 else f"{self.events:,} events"
        return (
            f"{self.file}: byte {self.at_byte} (line {self.line}): {self.what}; "
            f"{before} before it could be read"
        )


def traces(file: Path) -> tuple[list[Trace], Damage | None]:
    """Read every trace that has events; also return the position of the first error."""
    found: list[Trace] = []
    # The file is read twice, and its size decides whether it fits into memory: no pipes.
    inputs.require_file(file)
    try:
        _read(file, found)
    except FaultyTextError as fault:
        events = sum(trace.events for trace in found)
        at = min(fault.at, file.stat().st_size)
        damage = Damage(str(file), at, _line(file, at), fault.what, events)
        return [trace for trace in found if trace.events], damage
    return [trace for trace in found if trace.events], None


def _line(file: Path, at: int) -> int:
    line = 1
    with file.open("rb") as source:
        while chunk := source.read(min(at, _CHUNK)):
            line += chunk.count(b"\n")
            at -= len(chunk)
    return line


def _read(file: Path, found: list[Trace]) -> None:
    with file.open("rb") as source:
        first = source.read(1)
        # A file with a single JSON text may also consist of one line.
        line = source.readline(texts.LONGEST)
    if first == texts.RS:
        return texts.sequence(file, texts.RS, _Sequence(file, found).take)
    # If the first line is a complete JSON text, the file has one text per line.
    if line.endswith(b"\n") and file.stat().st_size > len(line) + 2 and _is_whole(line):
        return texts.sequence(file, b"\n", _Sequence(file, found).take)
    cursor = texts.whole(file)
    memory.require(cursor.bytes(), f"{file} is one JSON text, read as a whole")
    _contained(cursor, file, found)
    if cursor.peek():
        raise cursor.fault("there are data after the JSON text")
    return None


def _is_whole(line: bytes) -> bool:
    if not line.rstrip().endswith(b"}"):
        return False
    try:
        Cursor("{" + line.decode("latin-1")).value()
    except FaultyTextError:
        return False
    return True


class _Sequence:
    """The texts of a file in order: first its header, then events."""

    def __init__(self, file: Path, found: list[Trace]) -> None:
        self.file = file
        self.found = found

    def take(self, cursor: Cursor) -> None:
        value = cursor.value()
        if not self.found:
            self.found.append(_begin(value, cursor, self.file))
        else:
            self.found[0].add(value)


def _begin(header: object, cursor: Cursor, file: Path) -> Trace:
    if not isinstance(header, dict) or not isinstance(header.get("trace"), dict):
        raise cursor.fault("the first text is not a qlog header: it has no `trace`", 0)
    trace = Trace(file.stem)
    trace.describe(header["trace"])
    return trace


def _contained(cursor: Cursor, file: Path, found: list[Trace]) -> None:
    is_qlog = False
    for key in cursor.fields():
        if key == "traces" and cursor.peek() == "[":
            is_qlog = True
            for _ in cursor.items():
                _trace(cursor, file, found)
        else:
            cursor.value()
    if not is_qlog:
        raise FaultyTextError(0, "not qlog: it has no `traces`")


def _trace(cursor: Cursor, file: Path, found: list[Trace]) -> None:
    if cursor.peek() != "{":
        raise cursor.fault("a trace is not an object")
    trace, events = Trace(f"{file.stem}-{len(found) + 1}" if found else file.stem), []
    about: dict[str, object] = {}
    try:
        for key in cursor.fields():
            if key == "events" and cursor.peek() == "[":
                for _ in cursor.items():
                    events.append(cursor.value())
            else:
                about[key] = cursor.value()
    finally:
        # Fields that affect the parsing of events may follow them.
        if "error_description" not in about:
            trace.describe(about)
            for event in events:
                trace.add(event)
            found.append(trace)
