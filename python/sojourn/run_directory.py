"""The schema of run directories: the keys and columns that docs/run-directory.md describes.

Sojourn writes all of them. Other programs may omit the optional ones, which then read as null.
"""

import io
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from sojourn import memory
from sojourn.errors import RunDirectoryError
from sojourn.run_summary import (
    FORMAT,
    FlowSummary,
    LinkSummary,
    RunSummary,
    SpikeSummary,
    Summary,
    UserController,
)

if TYPE_CHECKING:
    import polars as pl

What = Literal["flows", "links"]
Kind = Literal["text", "count", "number"]

WHERE = "docs/run-directory.md has the format"


@dataclass(frozen=True)
class Column:
    """A column of a series; `count` means a whole number of zero or more."""

    name: str
    kind: Kind
    required: bool = False


def _key(name: str, kind: Kind) -> Column:
    return Column(name, kind, required=True)


def _columns(kind: Kind, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name in names)


COLUMNS: Mapping[What, tuple[Column, ...]] = {
    "flows": (
        *(_key("control", "text"), _key("seed", "count"), _key("flow", "text")),
        *_columns("text", "phase"),
        _key("t_s", "number"),
        *_columns("number", "cwnd_bytes", "ssthresh_bytes", "srtt_s", "rtt_s", "min_rtt_s"),
        *_columns("number", "pacing_bps", "goodput_bps", "alpha", "bandwidth_bps", "response_s"),
        *_columns("count", "in_flight_bytes", "delivered_bytes", "lost_packets"),
        *_columns("count", "retransmitted_packets", "marked_packets"),
    ),
    "links": (
        *(_key("control", "text"), _key("seed", "count"), _key("link", "text")),
        _key("t_s", "number"),
        *_columns("number", "capacity_bps", "carried_bps", "queue_delay_s"),
        *_columns("count", "queue_bytes", "queue_packets", "dropped_packets", "marked_packets"),
    ),
}

SUMMARY_KEYS = ("format", "scenario", "version", "runs")
RUN_KEYS = ("control", "seed", "duration_s", "flows", "links")
# The required keys of each flow, link and change of capacity; others are null if unknown.
ENTRIES: Mapping[str, tuple[tuple[str, ...], type]] = {
    "flows": (("name", "control"), FlowSummary),
    "links": (("name",), LinkSummary),
    "spikes": (("link", "at_s", "from_bps", "to_bps"), SpikeSummary),
}
_KIND_NAMES = {str: "text", int: "a whole number of 0 or more", list: "a list"}


def check_summary(given: Any, file: str) -> Summary:
    """Check a summary and return it with every optional key; absent keys become null."""
    if not isinstance(given, dict):
        raise RunDirectoryError(f"{file}: not a JSON object; {WHERE}")
    _check_format(given, file)
    _require(given, SUMMARY_KEYS, Summary, file, "the summary")
    if not given["runs"]:
        raise RunDirectoryError(f"{file}: `runs` is empty; there is nothing to read")
    runs = [_complete_run(run, file, place) for place, run in enumerate(given["runs"])]
    names = [(run["control"], run["seed"]) for run in runs]
    for control, seed in names:
        if names.count((control, seed)) > 1:
            raise RunDirectoryError(
                f"{file}: two of its runs have control {control!r} and seed {seed}; "
                "number repeated runs by `seed`"
            )
    complete: Any = {**given, "runs": runs}
    if given.get("controllers") is not None:
        complete["controllers"] = [
            _complete(entry, ("name",), UserController, file, f"controllers[{at}]")
            for at, entry in enumerate(given["controllers"])
        ]
    return complete  # type: ignore[no-any-return]


def _check_format(given: Mapping[str, Any], file: str) -> None:
    version = given.get("format")
    if version == FORMAT and not isinstance(version, bool):
        return
    if version is None:
        raise RunDirectoryError(
            f'{file}: it has no `format`; write `"format": {FORMAT}` where it is laid out as '
            "docs/run-directory.md says"
        )
    raise RunDirectoryError(
        f"{file}: format {version!r}, and this Sojourn reads format {FORMAT}; "
        "use the Sojourn that wrote it, or a later one"
    )


def _complete_run(run: Any, file: str, place: int) -> dict[str, Any]:
    where = f"runs[{place}]"
    _require(run, RUN_KEYS, RunSummary, file, where)
    lists = {
        name: [
            _complete(entry, required, form, file, f"{where}.{name}[{at}]")
            for at, entry in enumerate(run.get(name) or [])
        ]
        for name, (required, form) in ENTRIES.items()
    }
    return {**run, **lists}


def _complete(
    entry: Any, required: tuple[str, ...], form: type, file: str, where: str
) -> dict[str, Any]:
    _require(entry, required, form, file, where)
    return {**dict.fromkeys(_hints(form)), **entry}


def _require(given: Any, keys: tuple[str, ...], form: type, file: str, where: str) -> None:
    if not isinstance(given, dict):
        raise RunDirectoryError(f"{file}: {where} is {given!r}, not an object; {WHERE}")
    hints = _hints(form)
    for key in keys:
        if key not in given:
            raise RunDirectoryError(f"{file}: {where} has no `{key}`, which is required; {WHERE}")
    for key in set(given) & set(hints):
        _check_type(given[key], hints[key], f"{file}: {where}: `{key}`", key in keys)


def _check_type(value: Any, hint: Any, where: str, required: bool) -> None:
    plain = _plain(hint)
    if value is None and not required:
        return
    # JSON has a single number type: accept 60 as well as 60.0.
    right = (int, float) if plain is float else plain
    if not isinstance(value, right) or isinstance(value, bool) or _is_below_zero(value, plain):
        name = _KIND_NAMES.get(plain, "a number")
        raise RunDirectoryError(f"{where} is {value!r} and must be {name}; {WHERE}")


def _is_below_zero(value: Any, plain: type) -> bool:
    return plain is int and bool(value < 0)


@cache
def _hints(form: type) -> dict[str, Any]:
    return get_type_hints(form)


def _plain(hint: Any) -> type:
    """`float` of `float | None`, `list` of `list[FlowSummary]`."""
    if isinstance(hint, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    plain: type = getattr(hint, "__origin__", hint)
    return plain


def check_series(data: bytes, what: What, file: str) -> None:
    """Refuse a Parquet file that is damaged, lacks a required column, or has a wrong type."""
    memory.require_polars()
    import polars as pl

    try:
        # Read the whole file: the metadata at its end may be intact while the data are damaged.
        frame = pl.read_parquet(io.BytesIO(data))
    except (Exception, pl.exceptions.PanicException) as error:
        raise RunDirectoryError(
            f"{file}: not a Parquet file, or a damaged one ({error}); copy it or run it again"
        ) from error
    schema = frame.schema
    for column in COLUMNS[what]:
        if column.name in schema:
            _check_column(column, schema[column.name], file)
        elif column.required:
            have = ", ".join(schema)
            raise RunDirectoryError(
                f"{file}: it has no column `{column.name}`, which is required; it has: {have}"
            )
    _check_counts(frame, [one for one in COLUMNS[what] if one.kind == "count"], file)


def _check_column(column: Column, found: "pl.DataType", file: str) -> None:
    import polars as pl

    right, said = {
        "text": (found in (pl.String, pl.Categorical, pl.Enum), "text"),
        "count": (found.is_integer(), "whole numbers"),
        "number": (found.is_numeric(), "numbers"),
    }[column.kind]
    # Polars gives a column of nulls alone the type Null.
    if not right and (found != pl.Null or column.required):
        raise RunDirectoryError(
            f"{file}: column `{column.name}` holds {found} and must hold {said}; {WHERE}"
        )


def _check_counts(frame: "pl.DataFrame", counts: list[Column], file: str) -> None:
    """Refuse negative counts; other programs may write signed columns."""
    names = [one.name for one in counts if one.name in frame.schema]
    for name in (name for name in names if frame.schema[name].is_signed_integer()):
        least: Any = frame[name].min()
        if least is not None and least < 0:
            raise RunDirectoryError(
                f"{file}: column `{name}` has {least}; a count is 0 or more, null where unknown"
            )


def complete_series(frame: "pl.DataFrame", what: What) -> "pl.DataFrame":
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


def empty_series(what: What) -> bytes:
    """Make a Parquet file without rows, for a directory without this series."""
    memory.require_polars()
    import polars as pl

    file = io.BytesIO()
    complete_series(pl.DataFrame(), what).clear().write_parquet(file)
    return file.getvalue()
