"""The executions of the runs of a dataset, and the one that counts.

A run may be in several batches: a worker of a killed command may still write a batch whose runs
the next command repeats, and a failed run is repeated. Results are the same for the same identity,
so a reader takes each run from one batch, and all readers from the same one. A batch that has no
run of its own can be removed at any time: the batch that counts stays.
"""

import io
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from sojourn import memory
from sojourn.errors import UsageError
from sojourn.sweep import damage, reading
from sojourn.sweep.store import AnyFolder
from sojourn.sweep.tables import DETAILS, SERIES, TABLES, WHOLE, Detail

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
# The first execution in this order counts: with a result, with the most tables.
_ORDER, _DESCENDING = ("failed", "detail", "batch"), (False, True, False)
_TABLES = (*TABLES[1:], *SERIES, *WHOLE)
# A batch writes all its files at its end. Older files without the completing one have no writer.
_ABANDONED_S = 3600.0
_READS = 4
FREE = "-"
"""Part of the names of batches that are written without the lock of the folder."""


class Executions:
    """Every execution in a dataset, as far as it has been read."""

    def __init__(self, folder: AnyFolder) -> None:
        memory.require_polars()
        import polars as pl

        self._folder = folder
        self._seen: set[str] = set()
        schema = {"run": pl.String, "failed": pl.Boolean, "detail": pl.Int8, "batch": pl.String}
        self._all = pl.DataFrame(schema=schema)
        self.counted = self._all
        """The batch of each run that counts."""

    def update(self) -> "Executions":
        """Read the batches that have been added, and forget those that have been removed."""
        import polars as pl

        names = self._folder.list("runs")
        new = [name for name in names if name not in self._seen]
        detailed = [set(self._folder.list(one)) if new else () for one in (SERIES[0], WHOLE[0])]
        frames = [self._all.filter(pl.col("batch").is_in(names))]
        files = [f"runs/{name}" for name in new]
        found = reading.all_of(self._folder, files, ("run", "error"), is_own=True)
        for name, runs in zip(new, found, strict=True):
            frames.append(
                runs.select(
                    "run",
                    pl.col("error").is_not_null().alias("failed"),
                    pl.lit(sum(name in one for one in detailed), pl.Int8).alias("detail"),
                    pl.lit(name).alias("batch"),
                )
            )
        self._all, self._seen = pl.concat(frames), set(names)
        ordered = self._all.sort(_ORDER, descending=_DESCENDING)
        self.counted = ordered.unique("run", keep="first", maintain_order=True)
        return self

    def read(self, read: "Callable[[pl.DataFrame], T]") -> T:
        """Return the result of `read` for the batches that count.

        A command that cleans the dataset removes rows of runs that count elsewhere by then, so
        `read` is repeated if a run that it read counts in another batch after it.
        """
        for _ in range(_READS):
            try:
                found, before = self._read_once(read)
            # A listed batch has been removed.
            except FileNotFoundError:
                continue
            if found and self._still_count(before):
                return found[0]
        raise UsageError(
            f"{self._folder}: another command changes it while it is read; wait for its end"
        )

    def _read_once(self, read: "Callable[[pl.DataFrame], T]") -> "tuple[list[T], pl.DataFrame]":
        before = self.update().counted
        try:
            return [read(before)], before
        except FileNotFoundError:
            raise
        except Exception:
            # Rows that are missing cause other exceptions in the reader.
            if self._still_count(before):
                raise
        return [], before

    def _still_count(self, before: "pl.DataFrame") -> bool:
        """Whether these executions still count; more runs change nothing."""
        after = self.update().counted
        return before.join(after, on=["run", "batch"], how="anti").is_empty()

    @property
    def every(self) -> "pl.DataFrame":
        """Every execution, also those that do not count."""
        return self._all

    def completed(self, detail: Detail) -> set[str]:
        """Return the runs that have a result with this detail."""
        import polars as pl

        wanted = ~pl.col("failed") & (pl.col("detail") >= DETAILS.index(detail))
        return set(self._all.filter(wanted)["run"].to_list())

    def counting(self, rows: "pl.DataFrame", batch: str) -> "pl.DataFrame":
        """Return the rows of the runs that count in this batch."""
        import polars as pl

        own = self.counted.filter(pl.col("batch") == batch)
        return rows.join(own, on="run", how="semi", maintain_order="left")

    def repeated(self) -> Iterator[str]:
        """Yield the batches with runs that count in another one."""
        yield from self._all.join(self.counted, on=["run", "batch"], how="anti")["batch"].unique(
            maintain_order=True
        )

    def clean(self) -> None:
        """Remove the rows of runs that count in another batch.

        The tables come first: a command that is killed here leaves the batch in `repeated`.
        """
        counted = set(self.counted["batch"])
        for name in list(self.repeated()):
            if name not in counted:
                _remove(self._folder, name)
                continue
            for table in (*_TABLES, TABLES[0]):
                self._shorten(table, name)

    def _shorten(self, table: str, name: str) -> None:
        file = f"{table}/{name}"
        if not self._folder.exists(file):
            return
        rows = reading.table(self._folder, file)
        kept = self.counting(rows, name)
        if kept.height < rows.height:
            content = io.BytesIO()
            kept.write_parquet(content, statistics=False)
            self._folder.write(file, content.getvalue())


def remove_damaged(folder: AnyFolder) -> int:
    """Remove the damaged batches, so that their runs are repeated; return the number.

    Raise `ColumnsError` before anything is removed if an intact batch has other columns.
    The objects of a store are complete or absent, and reading all of them takes long.
    """
    if folder.lock is None:
        return 0
    damaged = list(damage.damaged_batches(folder))
    for name in damaged:
        _remove(folder, name)
    return len(damaged)


def _remove(folder: AnyFolder, name: str) -> None:
    """Remove a batch. A command that is killed here leaves an interrupted one."""
    for table in (TABLES[0], *_TABLES):
        if folder.exists(f"{table}/{name}"):
            folder.remove(f"{table}/{name}")


def remove_interrupted(folder: AnyFolder) -> None:
    """Remove the files of batches that a killed process began."""
    for name in list(folder.partial()):
        folder.remove(name)
    # In this order: the completing file is the last one.
    found = {table: folder.list(table) for table in _TABLES}
    complete = set(folder.list(TABLES[0]))
    for table, names in found.items():
        for name in names:
            file = f"{table}/{name}"
            if name not in complete and _is_abandoned(folder, name, file):
                folder.remove(file)


def _is_abandoned(folder: AnyFolder, name: str, file: str) -> bool:
    """Whether the worker that wrote a file has ended."""
    if folder.lock is not None and FREE not in name:
        return True
    written_s = folder.modified_s(file)
    return written_s is not None and time.time() - written_s > _ABANDONED_S
