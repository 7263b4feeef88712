"""Damage of a dataset: files and rows that batches lack, and runs that a complete sweep lacks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from sojourn.errors import DatasetError
from sojourn.sweep import reading
from sojourn.sweep.store import AnyFolder
from sojourn.sweep.tables import SERIES, TABLES, WHOLE

if TYPE_CHECKING:
    import polars as pl

# Tables with a row for every run that ended well: a run has flows and links.
_EACH_RUN = ("flows", "links", WHOLE[0])


def require_files(folder: AnyFolder, table: str, batches: Collection[str]) -> list[str]:
    """Return the batches that have the table; raise `DatasetError` for one that lost its file.

    A batch with one of the tables of series, or of whole results, has all of them.
    """
    own = set(folder.list(table))
    if table in TABLES:
        wanted = set(batches)
    else:
        kept = (*SERIES, *WHOLE) if table in SERIES else WHOLE
        wanted = set(batches).intersection(*[set().union(*map(folder.list, kept))])
    if lost := sorted(wanted - own):
        raise_missing(folder, [f"{table}/{name}" for name in lost])
    return sorted(wanted)


def raise_missing(
    folder: AnyFolder, files: Sequence[str], cause: Exception | None = None
) -> NoReturn:
    """Raise `DatasetError` for files that a dataset has lost."""
    more = f", with {len(files) - 1:,} more" if len(files) > 1 else ""
    remedy = reading.remedy(folder, files[0])
    raise DatasetError(f"{folder}/{files[0]}: it is missing{more}; {remedy}") from cause


def require_rows(
    folder: AnyFolder,
    table: str,
    rows: "pl.DataFrame",
    executions: "pl.DataFrame",
    counted: "pl.DataFrame",
) -> None:
    """Refuse rows of runs that are not in their batch, and results without rows.

    `rows` and `executions` have the columns `run` and `batch`, and those that count also `failed`.
    Another batch's file has taken the place of the right one. A command that cleans the dataset
    removes the rows of executions that do not count.
    """
    import polars as pl

    key = ["run", "batch"]
    faults = {"it has rows of another batch": rows.join(executions, on=key, how="anti")}
    if table in _EACH_RUN:
        well = counted.filter(~pl.col("failed"))
        faults["it lacks the rows of a run"] = well.join(rows, on=key, how="anti")
    for fault, found in faults.items():
        if not found.is_empty():
            file = f"{table}/{found['batch'][0]}"
            run = found["run"][0]
            raise DatasetError(f"{folder}/{file}: {fault}, {run}; {reading.remedy(folder, file)}")


def require_runs(folder: AnyFolder, missing: "pl.DataFrame", planned: int) -> None:
    """Refuse a dataset that was complete and lacks runs; `missing` has their points."""
    if missing.is_empty():
        return
    # Tables of a batch whose completing file is away.
    orphans = sorted(set(folder.list("flows")) - set(folder.list("runs")))
    lost = f"{folder}/runs/{orphans[0]}: it is missing" if orphans else f"{folder}: it lost batches"
    raise DatasetError(
        f"{lost}, with {missing.height:,} of {planned:,} runs of a complete sweep, such as "
        f"{_described(missing.row(0, named=True))}; {reading.AGAIN}"
    )


def _described(point: Mapping[str, object]) -> str:
    values = ", ".join(f"{name}={value}" for name, value in point.items() if name != "run")
    return f"{point['run']} ({values})"


def damaged_batches(folder: AnyFolder) -> Iterator[str]:
    """Yield the batches that lack a file, or have a damaged one or that of another batch.

    Every file is read as a whole: its beginning and its end may be intact. Raise `ColumnsError` for
    an intact batch that another program, or another version of Sojourn, may have written.
    """
    names = {one: set(folder.list(one)) for one in (*TABLES, *SERIES, *WHOLE)}
    for name in sorted(names[TABLES[0]]):
        have = [one for one in names if name in names[one]]
        lacks = set(_tables_with(have)).difference(have)
        # Every file is read: one with other columns must not be removed with a damaged one.
        frames = {one: _readable(folder, f"{one}/{name}") for one in have}
        if lacks or not _belong_together(folder, name, frames):
            yield name


def _tables_with(have: Sequence[str]) -> Sequence[str]:
    """Return the tables of a batch that has some of them: each detail has those of the former."""
    if any(one in WHOLE for one in have):
        return (*TABLES, *SERIES, *WHOLE)
    return (*TABLES, *SERIES) if any(one in SERIES for one in have) else TABLES


def _readable(folder: AnyFolder, file: str) -> "pl.DataFrame | None":
    """Return the content of a file, or `None` for a damaged one."""
    try:
        return reading.table(folder, file)
    except reading.ColumnsError:
        raise
    except DatasetError:
        return None


def _belong_together(
    folder: AnyFolder, name: str, frames: "Mapping[str, pl.DataFrame | None]"
) -> bool:
    """Whether the tables of a batch can be read, and have rows of its runs alone."""
    import polars as pl

    batch = pl.lit(name).alias("batch")
    found = {table: frame for table, frame in frames.items() if frame is not None}
    if len(found) < len(frames):
        return False
    runs = found[TABLES[0]].select("run", pl.col("error").is_not_null().alias("failed"), batch)
    try:
        for table, frame in found.items():
            require_rows(folder, table, frame.select("run", batch), runs, runs)
    except DatasetError:
        return False
    return True
