"""The files of a dataset, each checked when it is read."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn import inputs
from sojourn.errors import DatasetError, UsageError
from sojourn.record import parquet, run_directory
from sojourn.record.run_directory import File
from sojourn.sweep import tables
from sojourn.sweep.remote import RemoteFolder
from sojourn.sweep.store import AnyFolder
from sojourn.sweep.tables import DOCUMENTS, POINTS, SERIES, TABLES, WHOLE

if TYPE_CHECKING:
    import polars as pl

AGAIN = "type the command of the sweep again, which repeats what is damaged"
"""What the user can do about a damaged dataset."""
_SMALLER = "sweep fewer points, leave out --series, or use a machine with more memory"
# Memory of `sweep show` and of `Dataset`, as a multiple of that of the decoded files of a table:
# 4.4 to 5.4, measured with 100,000 to 300,000 rows.
_TIMES = 6
_POINTS = {"run": "String", "control": "String", "seed": "Int64"}
# The columns of the tables that are no tables of figures.
_OTHERS: Mapping[str, Mapping[str, str]] = {
    POINTS: _POINTS,
    DOCUMENTS: {"run": "String", "scenario": "String"},
    "summaries": {"run": "String", "summary": "String"},
    **{name: {"run": "String"} for name in (*SERIES, *WHOLE[1:])},
}
_FILES: Mapping[str, File] = {
    SERIES[0]: "flows",
    SERIES[1]: "links",
    WHOLE[1]: "transfers",
    WHOLE[2]: "frames",
}


class ColumnsError(DatasetError):
    """A file that can be decoded has columns or values that this Sojourn does not write."""


def table(
    folder: AnyFolder, file: str, columns: Sequence[str] | None = None, *, is_own: bool = True
) -> "pl.DataFrame":
    """Read a file of a dataset, such as `points.parquet` or `flows/BATCH.parquet`.

    With `is_own`, this version of Sojourn wrote it, and every column of the table is required;
    otherwise an absent one becomes null. Raise `DatasetError` for a damaged file, `ColumnsError`
    for one with other columns, `FileNotFoundError` for one that was removed, and
    `NotEnoughMemoryError`.
    """
    (frame,) = all_of(folder, [file], columns, is_own=is_own)
    return frame


def all_of(
    folder: AnyFolder, files: Sequence[str], columns: Sequence[str] | None = None, *, is_own: bool
) -> list["pl.DataFrame"]:
    """Read several files of one table, which are in memory together."""
    try:
        given = zip((f"{folder}/{file}" for file in files), folder.read_all(files), strict=True)
        frames = parquet.read_all(given, columns=columns, times=_TIMES, remedy=_SMALLER)
        return [
            _checked(frame, f"{folder}/{file}", _table_of(file), columns, is_own)
            for file, frame in zip(files, frames, strict=True)
        ]
    except DatasetError:
        raise
    except parquet.DamagedError as error:
        raise DatasetError(f"{error}; {remedy(folder, files[0])}") from error
    except UsageError as error:
        raise ColumnsError(f"{error}; {_other_remedy(folder, files)}") from error


def json_of(folder: AnyFolder, file: str) -> Any:
    """Read a file of JSON. Raise `DatasetError` for any other content."""
    try:
        return inputs.parsed_json(folder.read(file), f"{folder}/{file}")
    except DatasetError:
        raise
    except UsageError as error:
        raise DatasetError(f"{error}; {remedy(folder, file)}") from error


def remedy(folder: AnyFolder, file: str) -> str:
    """Return what the user can do about a damaged file."""
    table, _, batch = file.rpartition("/")
    # The command does not read every object of a store.
    if table and isinstance(folder, RemoteFolder):
        return f"remove {folder}/{TABLES[0]}/{batch} and {AGAIN}"
    return AGAIN


def _other_remedy(folder: AnyFolder, files: Sequence[str]) -> str:
    """Return what the user can do about a file with other columns, which no command removes."""
    if "/" not in files[0]:
        return AGAIN
    other = "name another folder with --out"
    if len(files) > 1:
        return other
    batch = files[0].rpartition("/")[2]
    return f"{other}, or remove {folder}/{TABLES[0]}/{batch} and type the command again"


def _table_of(file: str) -> str:
    """Return the table of a file: its folder, or the file itself."""
    return file.rpartition("/")[0] or file


def _checked(
    frame: "pl.DataFrame",
    file: str,
    of: str,
    columns: Sequence[str] | None,
    is_own: bool,
) -> "pl.DataFrame":
    """Return the frame with the columns of its table, each of its type."""
    import polars as pl

    declared = _OTHERS.get(of) or tables.columns(of)
    wanted = {name: kind for name, kind in declared.items() if not columns or name in columns}
    missing = [name for name in wanted if name not in frame.columns]
    if missing and (is_own or of in _OTHERS):
        listed = ", ".join(f"`{name}`" for name in missing)
        raise UsageError(f"{file}: it has no column {listed}")
    for name, kind in wanted.items():
        if name in frame.columns:
            _require_type(frame.schema[name], kind, f"{file}: column `{name}`")
    if of in _FILES:
        run_directory.check_types(frame, _FILES[of], file)
        return frame
    _require_numbers(frame, file)
    found = [
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in ((name, getattr(pl, kind)) for name, kind in wanted.items())
        if frame.schema.get(name) != kind
    ]
    return frame.with_columns(found)


def _require_type(found: "pl.DataType", kind: str, column: str) -> None:
    import polars as pl

    fits = {
        "String": found == pl.String,
        "Int64": found.is_integer(),
        "Float64": found.is_numeric(),
    }[kind]
    if not fits and found != pl.Null:
        raise UsageError(f"{column} holds {found} and must hold {kind}")


def _require_numbers(frame: "pl.DataFrame", file: str) -> None:
    """Refuse NaN: Sojourn writes null for an unknown figure, and a median of NaN is NaN."""
    import polars.selectors as cs

    found = frame.select(cs.float().is_nan().any())
    if names := [one.name for one in found if one[0]]:
        raise UsageError(f"{file}: column `{names[0]}` has NaN")
