"""Parquet files whose decoded columns are far larger than they are, for the tests of readers.

Polars writes each file, and its footer is then rewritten: the row groups of a bomb are listed again
and again, and all have the same pages.
"""

import io
from collections.abc import Callable
from typing import Any

import polars as pl

Struct = dict[int, tuple[int, Any]]
"""Fields of a Thrift struct: the type and the value of each."""
_BINARY, _LIST, _STRUCT = 8, 9, 12


class Footer:
    """The footer of a file, as fields that can be changed (`FileMetaData` of parquet.thrift)."""

    def __init__(self, data: bytes) -> None:
        length = int.from_bytes(data[-8:-4], "little")
        self.pages = data[: -8 - length]
        self._left = iter(data[-8 - length : -8])
        self.fields = self._struct()

    def file(self) -> bytes:
        """Return the pages with this footer."""
        footer = _encoded(_STRUCT, self.fields)
        return self.pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"

    def list_again(self, times: int) -> None:
        """List the row groups several times, and count all their rows."""
        kind, (element, groups) = self.fields[4]
        self.fields[4] = kind, (element, groups * times)
        self.fields[3] = 6, self.fields[3][1] * times

    def _struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := next(self._left):
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = head & 15, self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return next(self._left)
        if kind in (4, 5, 6):
            return self._integer()
        if kind == _BINARY:
            return bytes(next(self._left) for _ in range(self._varint()))
        if kind == _LIST:
            head = next(self._left)
            count = self._varint() if head >> 4 == 15 else head >> 4
            return head & 15, [self._value(head & 15) for _ in range(count)]
        assert kind == _STRUCT
        return self._struct()

    def _integer(self) -> int:
        encoded = self._varint()
        return (encoded >> 1) ^ -(encoded & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = next(self._left)
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7


def _encoded(kind: int, value: Any) -> bytes:
    if kind in (1, 2):
        return b""
    if kind == 3:
        return bytes([value])
    if kind in (4, 5, 6):
        return _varint((value << 1) ^ (value >> 63))
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _LIST:
        element, items = value
        return (
            bytes([0xF0 | element])
            + _varint(len(items))
            + b"".join(_encoded(element, one) for one in items)
        )
    fields = b""
    for number, (own, content) in value.items():
        fields += bytes([own]) + _varint(number << 1) + _encoded(own, content)
    return fields + b"\0"


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def written(frame: pl.DataFrame, **options: Any) -> bytes:
    """Return a frame as a file."""
    file = io.BytesIO()
    frame.write_parquet(file, **options)
    return file.getvalue()


def repeated(data: bytes, times: int) -> bytes:
    """Return a file with the rows of another one, several times."""
    footer = Footer(data)
    footer.list_again(times)
    return footer.file()


def equal_rows(frame: pl.DataFrame, rows: int) -> bytes:
    """Return a file with the first row of a frame, many times."""
    base = min(rows, 1 << 17)
    row = {name: frame[name][0] for name in frame.columns}
    own = pl.DataFrame(
        [pl.repeat(row[n], base, dtype=frame.schema[n], eager=True).alias(n) for n in row]
    )
    return repeated(written(own, statistics=False), -(-rows // base))


def changed(data: bytes, change: Callable[[Struct], None]) -> bytes:
    """Return a file with a changed footer."""
    footer = Footer(data)
    change(footer.fields)
    return footer.file()


def one_page(
    frame: pl.DataFrame, rows: int, encoding: int, content: bytes, dictionary: bytes = b""
) -> bytes:
    """Return a file whose one column has one page of this content, and maybe a dictionary.

    The frame has the column's type. No value is null, which the page says in one run.
    """
    levels = _varint(rows << 1) + b"\1"
    content = len(levels).to_bytes(4, "little") + levels + content
    about: Struct = {1: (5, rows), 2: (5, encoding), 3: (5, 3), 4: (5, 3)}
    pages = b"PAR1"
    if dictionary:
        # PLAIN, with one value.
        pages += _page(2, dictionary, {7: (_STRUCT, {1: (5, 1), 2: (5, 0)})})
    start = len(pages)
    pages += _page(0, content, {5: (_STRUCT, about)})
    footer = Footer(written(frame, compression="uncompressed", statistics=False))
    footer.pages = pages
    footer.fields[3] = 6, rows
    (group,) = footer.fields[4][1][1]
    size = len(pages) - 4
    group.update({2: (6, size), 3: (6, rows)})
    chunk = group[1][1][1][0][3][1]
    chunk.update({2: (_LIST, (5, [encoding, 3])), 5: (6, rows), 6: (6, size), 7: (6, size)})
    chunk[9] = 6, start
    chunk.pop(11, None)
    if dictionary:
        chunk[11] = 6, 4
    for number in (5, 6, 7):
        group.pop(number, None)
    return footer.file()


def _page(kind: int, content: bytes, about: Struct) -> bytes:
    sizes: Struct = {1: (5, kind), 2: (5, len(content)), 3: (5, len(content))}
    return _encoded(_STRUCT, {**sizes, **about}) + content


def delta_texts(rows: int, length: int) -> bytes:
    """Return a file of equal texts in DELTA_BYTE_ARRAY: each repeats the one before."""
    own, rest = _first_delta(rows, length, 0), _first_delta(rows, 0, length)
    return one_page(pl.DataFrame({"x": ["a"]}), rows, 7, rest + own + b"a" * length)


def _first_delta(values: int, first: int, others: int) -> bytes:
    """Return integers in DELTA_BINARY_PACKED, all but the first of which are equal."""
    step = others - first
    least = min(step, 0)
    steps = [step - least] + [-least] * 127
    head = _varint(128) + _varint(4) + _varint(values) + _varint(first << 1)
    block = _varint((least << 1) ^ (least >> 63)) + bytes([32] * 4)
    packed = b"".join(one.to_bytes(4, "little") for one in steps)
    return head + block + packed + (b"\0" + bytes(4)) * ((values - 2) // 128)


def fixed_texts(rows: int, length: int) -> bytes:
    """Return a file of equal values of a fixed length, from a dictionary of one."""

    def fix(fields: Struct) -> None:
        element = fields[2][1][1][1]
        element.update({1: (5, 7), 2: (5, length)})
        for number in (6, 10):
            element.pop(number, None)
        fields[4][1][1][0][1][1][1][0][3][1][1] = 5, 7

    indices = b"\1" + _varint(rows << 1) + b"\0"
    return changed(one_page(pl.DataFrame({"x": ["a"]}), rows, 8, indices, b"a" * length), fix)


def nested(levels: int, rows: int) -> pl.DataFrame:
    """Return rows of a number in lists in each other."""
    series = pl.Series("x", [1.5] * rows)
    for _ in range(levels):
        series = (
            series.reshape((rows, 1)).arr.to_list()
            if series.dtype == pl.Float64
            else (
                pl.DataFrame({"x": series, "row": range(rows)})
                .group_by("row", maintain_order=True)
                .agg("x")["x"]
            )
        )
    return pl.DataFrame({"x": series})


def equal_deltas(values: int, first: int, step: int = 0) -> bytes:
    """Return integers in DELTA_BINARY_PACKED: a first one, and equal steps of no bits."""
    block = -(-max(values, 2) // 128) * 128
    head = _varint(block) + b"\1" + _varint(values) + _varint(first << 1)
    return head + _varint((step << 1) ^ (step >> 63)) + b"\0"
