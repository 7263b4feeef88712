"""Execution of batches of runs. Every engine uses it, in this process or another one."""

import io
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from sojourn import _core, memory
from sojourn.run_summary import RunSummary
from sojourn.sweeps import tables
from sojourn.sweeps.tables import SERIES, Rows

if TYPE_CHECKING:
    import polars as pl

# Real time between two checks for an interrupt.
_PIECE_WALL_S = 0.05


class Target(Protocol):
    """The folder of a dataset."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file completely or not at all."""


Run = tuple[str, int, int]
"""Identity, controller and seed of a run."""


@dataclass(frozen=True)
class Part:
    """Runs of one point, and its changes of the scenario."""

    assignments: tuple[str, ...]
    runs: tuple[Run, ...]


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
    """Executes batches of one sweep. It parses the scenario once."""

    def __init__(self, base: _core.Scenario, target: Target, series: bool) -> None:
        self.base = base
        self.target = target
        self.series = series

    def execute(self, batch: Batch) -> Done:
        """Simulate the runs of a batch and write its files, the completing one last."""
        began = time.perf_counter()
        rows = tables.empty()
        kept: dict[str, list[pl.DataFrame]] = {what: [] for what in SERIES} if self.series else {}
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
            core = self._scenario(part.assignments)
            for run in part.runs:
                yield core, run

    def _scenario(self, assignments: Sequence[str]) -> _core.Scenario | Exception:
        """Return the scenario of a point, or the error that refuses it here."""
        core = self.base.copy()
        try:
            for assignment in assignments:
                core.set(assignment)
        except Exception as error:
            return error
        return core

    def _write(self, name: str, rows: Rows, kept: dict[str, list["pl.DataFrame"]]) -> None:
        memory.require_polars()
        import polars as pl

        for what, frames in kept.items():
            if frames:
                self.target.write(f"{what}/{name}.parquet", _parquet(pl.concat(frames)))
        for table in (*tables.TABLES[1:], tables.TABLES[0]):
            if rows[table] or table == "runs":
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
    for what, frames in kept.items():
        frames.append(_series(outcome, what, key))


def _simulated(core: _core.Scenario, control: int, seed: int) -> _core.Outcome:
    running = core.simulation(control, seed)
    while running.now_s < running.duration_s:
        running.advance(running.duration_s, _PIECE_WALL_S)
    return running.finish()


def _series(outcome: _core.Outcome, what: str, key: str) -> "pl.DataFrame":
    import polars as pl

    data = _core.series_parquet([outcome], "flows" if what == "series_flows" else "links")
    frame = pl.read_parquet(io.BytesIO(data))
    return frame.with_columns(pl.lit(key).alias("run"))


def _parquet(frame: "pl.DataFrame") -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, statistics=False)
    return file.getvalue()


def to_json(batch: Batch) -> str:
    """Format a batch as one line."""
    parts = [[list(part.assignments), [list(run) for run in part.runs]] for part in batch.parts]
    return json.dumps([batch.name, parts, batch.time_s])


def from_json(line: str) -> Batch:
    """Read the line of `to_json`."""
    name, parts, time_s = json.loads(line)
    read = (
        Part(tuple(assignments), tuple((key, control, seed) for key, control, seed in runs))
        for assignments, runs in parts
    )
    return Batch(name, tuple(read), time_s)
