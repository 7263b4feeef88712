"""Execution of batches of runs. Every engine uses it, in this process or another one."""

import io
import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from sojourn import _core, memory
from sojourn.record.record_types import RunSummary
from sojourn.sweep import tables
from sojourn.sweep.executions import FREE
from sojourn.sweep.tables import SERIES, WHOLE, Detail, Rows

if TYPE_CHECKING:
    import polars as pl

# Real time between two checks for an interrupt.
_PIECE_WALL_S = 0.05


def reader(
    origin: str, base_dir: str, own: _core.Catalogue
) -> Callable[["Document"], _core.Scenario]:
    """Return the function that reads documents whose files are in a folder."""

    def read(document: Document) -> _core.Scenario:
        toml, folder = document
        core = _core.Scenario.from_toml(origin, toml, str(Path(base_dir) / folder))
        core.use_controllers(own)
        return core

    return read


class Target(Protocol):
    """The folder of a dataset."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file completely or not at all."""


Document = tuple[str, str]
"""A scenario in TOML, and the folder of its files below that of the sweep's files."""
Run = tuple[str, int, int]
"""Identity, controller and seed of a run."""


@dataclass(frozen=True)
class Part:
    """Runs of one point, and its changes of the sweep's scenario or of another one."""

    assignments: tuple[str, ...]
    runs: tuple[Run, ...]
    document: Document | None = None


@dataclass(frozen=True)
class Batch:
    """Runs that one worker executes one after the other, until its time is over."""

    name: str
    parts: tuple[Part, ...]
    time_s: float
    """Real time after which no further run begins."""

    def __len__(self) -> int:
        return sum(len(part.runs) for part in self.parts)


@dataclass(frozen=True)
class Done:
    """The end of a batch: the number of its first runs that are in the dataset."""

    name: str
    runs: int
    failures: int
    took_s: float


class Worker:
    """Executes batches of one sweep. It parses the scenario once.

    Without the lock of the folder (`locked`), several workers may execute the same batch, such as
    one that the scheduler believes to be dead. Each then writes files of its own.
    """

    def __init__(
        self,
        base: _core.Scenario,
        target: Target,
        detail: Detail = "figures",
        locked: bool = True,
        read: Callable[[Document], _core.Scenario] | None = None,
    ) -> None:
        self.base = base
        self.target = target
        self.kept = {"figures": (), "series": SERIES, "whole": (*SERIES, *WHOLE)}[detail]
        self.locked = locked
        self.read = read

    def execute(self, batch: Batch) -> Done:
        """Simulate the runs of a batch and write its files, the completing one last."""
        began = time.perf_counter()
        rows = tables.empty()
        kept: dict[str, list[pl.DataFrame]] = {table: [] for table in self.kept}
        for core, run in self._prepared(batch):
            if rows["runs"] and time.perf_counter() - began > batch.time_s:
                break
            _run(core, run, rows, kept)
        self._write(batch.name, rows, kept)
        failures = sum(row[2] is not None for row in rows["runs"])
        return Done(batch.name, len(rows["runs"]), failures, time.perf_counter() - began)

    def fail(self, batch: Batch, error: str) -> Done:
        """Record that every run of a batch failed outside the simulation."""
        rows = tables.empty()
        for part in batch.parts:
            for key, _, seed in part.runs:
                tables.add_failure(rows, key, _core.__version__, seed, error)
        self._write(batch.name, rows, {})
        return Done(batch.name, len(batch), len(batch), 0.0)

    def _prepared(self, batch: Batch) -> Iterator[tuple[_core.Scenario | Exception, Run]]:
        """Yield each run with the scenario of its point, which the runs of a part share.

        The scenario stays local: threads of a cluster's worker execute batches at the same time.
        """
        for part in batch.parts:
            core = self._scenario(part)
            for run in part.runs:
                yield core, run

    def _scenario(self, part: Part) -> _core.Scenario | Exception:
        """Return the scenario of a point, or the error that refuses it here."""
        try:
            core = self.read(part.document) if self.read and part.document else self.base.copy()
            for assignment in part.assignments:
                core.set(assignment)
        except Exception as error:
            return error
        return core

    def _write(self, name: str, rows: Rows, kept: dict[str, list["pl.DataFrame"]]) -> None:
        memory.require_polars()
        import polars as pl

        if not self.locked:
            name += FREE + uuid.uuid4().hex[:8]
        empty = pl.DataFrame(schema={"run": pl.String})
        # A table without rows has a file too: one that is absent has been lost.
        for what in self.kept:
            # Series have columns that depend on the controller.
            content = _parquet(pl.concat([empty, *kept.get(what, ())], how="diagonal"))
            self.target.write(f"{what}/{name}.parquet", content)
        for table in (*tables.TABLES[1:], tables.TABLES[0]):
            content = _parquet(tables.frame(table, rows[table]))
            self.target.write(f"{table}/{name}.parquet", content)


def _run(
    core: _core.Scenario | Exception, run: Run, rows: Rows, kept: dict[str, list["pl.DataFrame"]]
) -> None:
    """Simulate a run, and add its rows and series."""
    key, control, seed = run
    try:
        if isinstance(core, Exception):
            raise core
        outcome = _simulated(core, control, seed)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        tables.add_failure(rows, key, _core.__version__, seed, text)
        return
    summary = cast(RunSummary, json.loads(outcome.summary_json()))
    tables.add(rows, key, _core.__version__, summary)
    for table, frames in kept.items():
        frames += _kept(outcome, table, key)


def _simulated(core: _core.Scenario, control: int, seed: int) -> _core.Outcome:
    running = core.simulation(control, seed)
    while running.now_s < running.duration_s:
        running.advance(running.duration_s, _PIECE_WALL_S)
    return running.finish()


def _kept(outcome: _core.Outcome, table: str, key: str) -> "list[pl.DataFrame]":
    """Return the rows of a run in one of the tables of series, or in one of `WHOLE`."""
    import polars as pl

    if table == "summaries":
        return [pl.DataFrame({"run": [key], "summary": [outcome.summary_json()]})]
    if table == "transfers":
        data = _core.transfers_parquet([outcome])
    elif table == "frames":
        data = _core.frames_parquet([outcome])
    else:
        data = _core.series_parquet([outcome], "flows" if table == "series_flows" else "links")
    if not data:
        return []
    return [pl.read_parquet(io.BytesIO(data)).with_columns(pl.lit(key).alias("run"))]


def _parquet(frame: "pl.DataFrame") -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, statistics=False)
    return file.getvalue()


def to_json(batch: Batch) -> str:
    """Format a batch as one line."""
    parts = [[part.assignments, part.runs, part.document] for part in batch.parts]
    return json.dumps([batch.name, parts, batch.time_s])


def from_json(line: str) -> Batch:
    """Read the line of `to_json`."""
    name, parts, time_s = json.loads(line)
    read = (
        Part(
            tuple(assignments),
            tuple((key, control, seed) for key, control, seed in runs),
            (document[0], document[1]) if document else None,
        )
        for assignments, runs, document in parts
    )
    return Batch(name, tuple(read), time_s)
