"""Parquet files, whose memory is known before they are decoded.

A file of some kilobytes may hold millions of equal rows. The footer and the headers of the pages
say how many values it has (https://parquet.apache.org/docs/file-format/), and no byte of a page is
decoded for that. The headers count besides the footer, which may be wrong.
"""

import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import memory
from sojourn.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

_MAGIC = b"PAR1"
# Larger footers take seconds to read; that of a run directory with a billion rows has 10 MB.
_MOST_FOOTER = 16 << 20
# Lists and structs in each other, in footers and in columns: decoders take very long for deep ones.
_DEEPEST = 16
# Structs, elements of lists and flags that a footer may have: one for each of so many bytes, and
# some more in a short one. Those of Polars, DuckDB and Sojourn have one for 4.6 bytes or more.
_BYTES_A_PART = 4
_SPARE_PARTS = 64
# Fields of parquet.thrift have numbers below 20.
_MOST_FIELD = 63
# Bytes of a value in memory by its physical type (`Type` of parquet.thrift). Text has a view of
# 16 bytes, beside its bytes; narrower numbers become 64 bits wide.
_TEXT = 6
_FIXED = 7
_WIDTHS = {_TEXT: 16, 3: 12}
_WIDTH = 8
# Bytes of a value at each depth of lists and structs: an offset and a flag.
_LEVEL = 9
# Page types of parquet.thrift: those with values, and the fields of their headers.
_VALUES = {0: 5, 3: 8}
# Fields of these headers with the encoding, and the encoding of texts as changes of the one before.
_ENCODINGS = {5: 2, 8: 4}
_DELTA_TEXT = 7
_DICTIONARY = 2


class DamagedError(UsageError):
    """A file is not a Parquet file, or a damaged one."""


@dataclass(frozen=True)
class Shape:
    """The content of a file as its footer and the headers of its pages describe it."""

    rows: int
    bytes: dict[str, int]
    """Memory of each column once it is decoded."""

    def memory_bytes(self, columns: Collection[str] | None = None) -> int:
        """Return the memory of some decoded columns, by default of all."""
        return sum(size for name, size in self.bytes.items() if columns is None or name in columns)


def read(
    data: bytes,
    file: str,
    *,
    columns: Sequence[str] | None = None,
    times: float,
    remedy: str,
) -> "pl.DataFrame":
    """Decode a file, or some of its columns.

    The caller needs `times` the memory of the decoded columns, measured. Raise
    `NotEnoughMemoryError`, with the `remedy`, before anything is decoded, `DamagedError`, and
    `UsageError` for a file without one of the columns.
    """
    (frame,) = read_all([(file, data)], columns=columns, times=times, remedy=remedy)
    return frame


def read_all(
    files: Iterable[tuple[str, bytes]],
    *,
    columns: Sequence[str] | None = None,
    times: float,
    remedy: str,
) -> list["pl.DataFrame"]:
    """Decode several files, given with their names, that are in memory together."""
    memory.require_polars()
    given = list(files)
    require_room(given, columns=columns, times=times, remedy=remedy)
    return [_decoded(data, file, columns) for file, data in given]


def require_room(
    files: Iterable[tuple[str, bytes]],
    *,
    columns: Sequence[str] | None = None,
    times: float,
    remedy: str,
) -> None:
    """Refuse files whose columns take more memory than is available, as `read_all` does."""
    given = [(file, shape(data, file)) for file, data in files]
    for file, one in given:
        _require_columns(one, columns or (), file)
    if not given:
        return
    largest = max(given, key=lambda one: one[1].memory_bytes(columns))[0]
    others = f" and {len(given) - 1:,} more" if len(given) > 1 else ""
    rows = sum(one.rows for _, one in given)
    needed = sum(one.memory_bytes(columns) for _, one in given)
    memory.require(round(times * needed), remedy, f"{largest}{others}, with {rows:,} rows,")


def _require_columns(one: Shape, columns: Iterable[str], file: str) -> None:
    if missing := [name for name in columns if name not in one.bytes]:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise UsageError(
            f"{file}: it has no column {listed}, which is required; it has: {', '.join(one.bytes)}"
        )


def _decoded(data: bytes, file: str, columns: Sequence[str] | None) -> "pl.DataFrame":
    import polars as pl

    try:
        return pl.read_parquet(io.BytesIO(data), columns=list(columns) if columns else None)
    except (Exception, pl.exceptions.PanicException) as error:
        raise _damaged(file, _first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def shape(data: bytes, file: str) -> Shape:
    """Return the shape of a file. Raise `DamagedError` if its parts do not fit together."""
    try:
        return _shape(data)
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(file, "its footer or a page is cut or overwritten") from error


def _damaged(file: str, fault: str) -> DamagedError:
    return DamagedError(f"{file}: not a Parquet file, or a damaged one ({fault})")


def _shape(data: bytes) -> Shape:
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or start < 4 or length > _MOST_FOOTER:
        raise ValueError
    parts = length // _BYTES_A_PART + _SPARE_PARTS
    footer = _Compact(data, start, len(data) - 8, parts).struct()
    schema, rows, groups = footer[2], footer[3], footer.get(4) or []
    leaves = list(_leaves(schema))
    if rows < 0 or rows != sum(group[3] for group in groups):
        raise ValueError
    sizes = {leaf.column: 0 for leaf in leaves}
    for group in groups:
        for leaf, chunk in zip(leaves, group[1], strict=True):
            sizes[leaf.column] += _chunk(data, chunk[3], start, group[3], leaf)
    return Shape(rows, sizes)


@dataclass(frozen=True)
class _Leaf:
    """An element of the schema that has values."""

    column: str
    """The column that it belongs to, which may have several."""
    type: int
    width: int
    """Memory of a value in bytes, without that of a text's bytes."""


def _leaves(schema: list[dict[int, Any]]) -> Iterator[_Leaf]:
    """Yield the leaves; the children of an element stand behind it."""
    column = ""
    # The children that are left, at each depth.
    open_: list[int] = []
    for element in schema[1:]:
        if not open_:
            column = element[4].decode()
        if children := element.get(5, 0):
            open_.append(children)
            if len(open_) > _DEEPEST:
                raise ValueError
            continue
        kind = element[1]
        width = element[2] if kind == _FIXED else _WIDTHS.get(kind, _WIDTH)
        if width < 0:
            raise ValueError
        yield _Leaf(column, kind, width + _LEVEL * len(open_))
        while open_ and open_[-1] == 1:
            open_.pop()
        if open_:
            open_[-1] -= 1


def _chunk(data: bytes, about: dict[int, Any], end: int, rows: int, leaf: _Leaf) -> int:
    """Return the memory of a column in a row group (`ColumnMetaData`)."""
    at = min(offset for offset in (about[9], about.get(11)) if offset)
    stop = at + about[7]
    if at < 4 or stop > end:
        raise ValueError
    values = total = largest = repeated = 0
    while at < stop:
        page = _Compact(data, at, stop, _SPARE_PARTS)
        header = page.struct()
        size, packed = header[2], header[3]
        at = page.at + packed
        if size < 0 or packed < 0 or at > stop:
            raise ValueError
        if header[1] in _VALUES:
            own = header[number := _VALUES[header[1]]]
            values += own[1]
            if own[_ENCODINGS[number]] == _DELTA_TEXT:
                # Each value may begin with the bytes of all before it.
                repeated += own[1] * size
        total += size
        largest = max(largest, size)
    is_flat = len(about[3]) == 1
    if about[1] != leaf.type or values != about[5] or (is_flat and values != rows):
        raise ValueError
    kept = total if leaf.type in (_TEXT, _FIXED) else largest
    return max(values, rows) * leaf.width + kept + (repeated if leaf.type == _TEXT else 0)


class _Compact:
    """Reads structs of Thrift's compact protocol, as numbered fields, up to an end.

    A struct of one byte takes 70 in memory, so the number of parts is limited.
    https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
    """

    def __init__(self, data: bytes, at: int, end: int, parts: int) -> None:
        self.at = at
        self._data = data
        self._end = end
        self._parts = parts

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct."""
        if depth > _DEEPEST:
            raise ValueError
        self._count(1)
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if not 0 < number <= _MOST_FIELD:
                raise ValueError
            fields[number] = self._value(head & 15, depth)
        if self.at > self._end:
            raise ValueError
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (1, 2):
            self._count(1)
            return kind == 1
        if kind in (7, 8):
            return self._bytes(8 if kind == 7 else self._varint())
        if kind == 12:
            return self.struct(depth + 1)
        if kind in (9, 10):
            return self._list(depth)
        if kind == 3:
            return self._byte()
        # Parquet has no maps.
        raise ValueError

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = self._varint() if head >> 4 == 15 else head >> 4
        kind = head & 15
        # An element of a list takes a byte or more, also a boolean.
        if count > self._end - self.at:
            raise ValueError
        self._count(count)
        if kind in (1, 2):
            return [self._byte() for _ in range(count)]
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _count(self, parts: int) -> None:
        self._parts -= parts
        if self._parts < 0:
            raise ValueError

    def _bytes(self, count: int) -> bytes:
        start = self.at
        self.at += count
        if self.at > self._end:
            raise ValueError
        return self._data[start : self.at]

    def _integer(self) -> int:
        encoded = self._varint()
        return (encoded >> 1) ^ -(encoded & 1)

    def _varint(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        value = byte & 127
        shift = 7
        while byte > 127:
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if shift > 70:
                raise ValueError
        return value

    def _byte(self) -> int:
        # An IndexError is damage too, and `struct` checks the end.
        self.at += 1
        return self._data[self.at - 1]
