"""The schema of run directories: the keys and columns that `sojourn columns` lists.

Sojourn writes all of them. Other programs may omit the optional ones, which then read as null.
"""

import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args, get_type_hints

from sojourn import _core, memory
from sojourn.errors import RunDirectoryError
from sojourn.record import parquet
from sojourn.record.record_types import (
    FlowSummary,
    LinkSummary,
    RunSummary,
    SizeClass,
    SpikeSummary,
)
from sojourn.record.summary import FORMAT, Summary, UserController

if TYPE_CHECKING:
    import polars as pl

What = Literal["flows", "links"]
File = Literal["flows", "links", "transfers", "frames"]
"""A Parquet file: the series of flows and links, the transfers of random arrivals, and the frames
of media."""
Kind = Literal["text", "count", "number"]

WHERE = "`sojourn columns` describes the format"
# Memory of a report, a comparison, a page or CSV files, as a multiple of that of the decoded
# series: 1.6 to 2.6, measured with 300,000 and a million rows.
_TIMES = 3
_REMEDY = "record less often (record.interval) or fewer runs, or use a machine with more memory"


@dataclass(frozen=True)
class Column:
    """A column of a series; `count` means a whole number of zero or more."""

    name: str
    kind: Kind
    required: bool = False


_TABLES = {table["name"]: table for table in json.loads(_core.tables())}
_ROWS: Mapping[File, str] = {
    "flows": "FlowSample",
    "links": "LinkSample",
    "transfers": "Transfer",
    "frames": "Frame",
}


def _columns(table: str) -> tuple[Column, ...]:
    return tuple(
        Column(column["name"], column["kind"], column["need"] == "required")
        for column in _TABLES[table]["columns"]
    )


COLUMNS: Mapping[File, tuple[Column, ...]] = {what: _columns(row) for what, row in _ROWS.items()}


def _required(table: str) -> tuple[str, ...]:
    return tuple(column.name for column in _columns(table) if column.required)


ENTRIES: Mapping[str, type] = {"flows": FlowSummary, "links": LinkSummary, "spikes": SpikeSummary}
"""The lists of a run."""
REQUIRED: Mapping[type, Collection[str]] = {
    Summary: ("format", "scenario", "version", "runs"),
    UserController: ("name",),
    **{
        row: _required(row.__name__)
        for row in (RunSummary, FlowSummary, SizeClass, LinkSummary, SpikeSummary)
    },
}
"""The required keys of a summary; others are null if unknown."""


def check_summary(given: object, file: str) -> Summary:
    """Check a summary and return it with every optional key; absent keys become null."""
    import msgspec

    if not isinstance(given, dict):
        raise RunDirectoryError(f"{file}: not a JSON object; {WHERE}")
    _check_format(given, file)
    try:
        msgspec.convert(given, _summary_type())
    except msgspec.ValidationError as error:
        fault, _, place = str(error).partition(" - at `$")
        where = place.strip(".`") or "the summary"
        raise RunDirectoryError(f"{file}: {where}: {fault}; {WHERE}") from error
    if not given["runs"]:
        raise RunDirectoryError(f"{file}: `runs` is empty; there is nothing to read")
    _check_repeats(given["runs"], file)
    runs = [_complete_run(run) for run in given["runs"]]
    complete = {**given, "runs": runs}
    if given.get("controllers") is not None:
        complete["controllers"] = [_complete(one, UserController) for one in given["controllers"]]
    return cast(Summary, complete)


def _check_format(given: Mapping[str, Any], file: str) -> None:
    version = given.get("format")
    if version == FORMAT and not isinstance(version, bool):
        return
    if version is None:
        raise RunDirectoryError(
            f'{file}: it has no `format`; write `"format": {FORMAT}` if it has the keys and '
            "columns of `sojourn columns`"
        )
    raise RunDirectoryError(
        f"{file}: format {version!r}, and this Sojourn reads format {FORMAT}; "
        "use the Sojourn that wrote it, or a later one"
    )


def _check_repeats(runs: Sequence[RunSummary], file: str) -> None:
    names = [(run["control"], run["seed"]) for run in runs]
    for control, seed in names:
        if names.count((control, seed)) > 1:
            raise RunDirectoryError(
                f"{file}: two of its runs have control {control!r} and seed {seed}; "
                "number repeated runs by `seed`"
            )


@cache
def _summary_type() -> Any:
    """Build the type of a summary: as written, but keys that are not required may be absent."""
    # Derived from the runs, and never read.
    return _type(Summary, medians=list, verdicts=list, picture=dict)


def _type(form: type, **parts: Any) -> Any:
    """Build the type of a table with the keys of `form`; counts are 0 or more."""
    from msgspec import Meta, defstruct

    count = Annotated[int, Meta(ge=0)]
    counts: dict[Any, Any] = {int: count, int | None: count | None}
    required = REQUIRED[form]
    fields: list[Any] = []
    for key, hint in {**get_type_hints(form), **parts}.items():
        rows = [one for one in get_args(hint) if one in REQUIRED]
        kind = GenericAlias(list, (_type(rows[0]),)) if rows else counts.get(hint, hint)
        fields.append((key, kind) if key in required else (key, kind | None, None))
    return defstruct(form.__name__, fields, kw_only=True)


def _complete_run(run: Mapping[str, Any]) -> dict[str, Any]:
    lists = {
        name: [_complete(entry, form) for entry in run.get(name) or []]
        for name, form in ENTRIES.items()
    }
    for flow in lists["flows"]:
        if flow.get("transfers_by_size"):
            sizes = flow["transfers_by_size"]
            flow["transfers_by_size"] = [_complete(size, SizeClass) for size in sizes]
    return {**_complete(run, RunSummary), **lists}


def _complete(entry: Mapping[str, Any], form: type) -> dict[str, Any]:
    """Add null for absent keys, and omit null where Sojourn writes no key."""
    absent: Collection[str] = form.__optional_keys__  # type: ignore[attr-defined]
    required = [key for key in form.__annotations__ if key not in absent]
    given = {key: value for key, value in entry.items() if value is not None or key not in absent}
    return {**dict.fromkeys(required), **given}


def check_series(data: bytes, what: File, file: str) -> None:
    """Refuse a Parquet file that is damaged, lacks a required column, or has a wrong type."""
    # Read the whole file: the metadata at its end may be intact while the data are damaged.
    frame = decoded(data, file)
    required = [column.name for column in COLUMNS[what] if column.required]
    if missing := next((name for name in required if name not in frame.schema), None):
        have = ", ".join(frame.schema)
        raise RunDirectoryError(
            f"{file}: it has no column `{missing}`, which is required; it has: {have}"
        )
    check_types(frame, what, file)
    _check_counts(frame, [one for one in COLUMNS[what] if one.kind == "count"], file)


def decoded(data: bytes, file: str) -> "pl.DataFrame":
    """Decode a Parquet file, if memory suffices for it."""
    with _named_damage():
        return parquet.read(data, file, times=1, remedy=_REMEDY)


def require_room(series: Iterable[tuple[str, bytes]]) -> None:
    """Refuse series, given with their files, if a report or a comparison does not fit in memory."""
    with _named_damage():
        parquet.require_room(series, times=_TIMES, remedy=_REMEDY)


@contextmanager
def _named_damage() -> Iterator[None]:
    try:
        yield
    except parquet.DamagedError as error:
        raise RunDirectoryError(f"{error}; copy it or run it again") from error


def check_types(frame: "pl.DataFrame", what: File, file: str) -> None:
    """Refuse a known column of a wrong type."""
    for column in COLUMNS[what]:
        if column.name in frame.schema:
            _check_column(column, frame.schema[column.name], file)


def _check_column(column: Column, found: "pl.DataType", file: str) -> None:
    import polars as pl

    fits, expected = {
        "text": (found in (pl.String, pl.Categorical, pl.Enum), "text"),
        "count": (found.is_integer(), "whole numbers"),
        "number": (found.is_numeric(), "numbers"),
    }[column.kind]
    # Polars gives a column of nulls alone the type Null.
    if not fits and (found != pl.Null or column.required):
        raise RunDirectoryError(
            f"{file}: column `{column.name}` holds {found} and must hold {expected}; {WHERE}"
        )


def _check_counts(frame: "pl.DataFrame", counts: list[Column], file: str) -> None:
    """Refuse negative counts; other programs may write signed columns."""
    names = [one.name for one in counts if one.name in frame.schema]
    for name in (name for name in names if frame.schema[name].is_signed_integer()):
        least: Any = frame[name].min()
        if least is not None and least < 0:
            raise RunDirectoryError(
                f"{file}: column `{name}` has {least}; a count is 0 or more, null if unknown"
            )


def complete_series(frame: "pl.DataFrame", what: File) -> "pl.DataFrame":
    """Give every column its own type; absent columns become null, and so does NaN."""
    import polars as pl

    kinds = {"text": pl.String, "count": pl.UInt64, "number": pl.Float64}
    columns = []
    for column in COLUMNS[what]:
        kind = kinds[column.kind]
        if column.name not in frame.columns:
            columns.append(pl.lit(None, kind).alias(column.name))
        elif column.kind == "number":
            columns.append(pl.col(column.name).cast(kind).fill_nan(None))
        elif frame.schema[column.name] != kind:
            columns.append(pl.col(column.name).cast(kind))
    return frame.with_columns(columns)


def empty_series(what: File) -> bytes:
    """Make a Parquet file without rows, for a directory without this series."""
    memory.require_polars()
    import polars as pl

    file = io.BytesIO()
    complete_series(pl.DataFrame(), what).clear().write_parquet(file)
    return file.getvalue()
