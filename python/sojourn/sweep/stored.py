"""Simulations of several scenarios into a dataset, and their results from it."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from sojourn.errors import UsageError
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import File
from sojourn.run.experiment import Job, Progress
from sojourn.sweep import api as sweeps
from sojourn.sweep import damage, reading
from sojourn.sweep.cells import Cells, Place, Result
from sojourn.sweep.executions import Executions
from sojourn.sweep.plan import Plan, Point, Study, Task, identity
from sojourn.sweep.store import AnyFolder, open_folder
from sojourn.sweep.tables import SERIES, WHOLE
from sojourn.user.controllers import UserControllers

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
_TABLES: Mapping[File, str] = {
    "flows": SERIES[0],
    "links": SERIES[1],
    "transfers": WHOLE[1],
    "frames": WHOLE[2],
}


def simulate(
    cells: Cells,
    place: Place,
    base_dir: str,
    controllers: UserControllers | None,
    take: Callable[[Result], T],
    progress: Progress | None,
) -> list[T]:
    """Simulate the jobs that the dataset does not hold; apply `take` to the result of each."""
    assert place.dataset is not None
    files, documents = _documents(cells.jobs, place.cluster is not None)
    plan = _plan(cells, documents)
    setup = sweeps.Setup(
        base_dir,
        "whole",
        place.jobs,
        controllers or UserControllers({}),
        place.cluster,
        files,
    )

    def watch(done: int, failures: int, total: int) -> None:
        if progress is not None:
            progress(done, total)

    sweeps.execute(plan, setup, place.dataset, watch)
    keys = [task.key for task in plan.tasks]
    found = _results(open_folder(place.dataset), keys, take)
    return [found[key] for key in keys]


class _Stored:
    """A run of a dataset."""

    def __init__(self, key: str, frames: "Mapping[str, pl.DataFrame]") -> None:
        self._key = key
        self._frames = frames

    @cached_property
    def summary(self) -> RunSummary:
        return cast(RunSummary, json.loads(self._own("summaries")["summary"][0]))

    def table(self, what: File) -> "pl.DataFrame":
        return self._own(_TABLES[what])

    def _own(self, table: str) -> "pl.DataFrame":
        import polars as pl

        if table not in self._frames:
            return pl.DataFrame()
        rows = self._frames[table].filter(pl.col("run") == self._key).drop("run")
        # A batch has the columns of all its runs.
        return rows.select(one for one in rows if one.null_count() < rows.height)


def _documents(
    jobs: Sequence[Job], elsewhere: bool
) -> tuple[dict[str, str], dict[int, tuple[str, str]]]:
    """Return the files for other machines, and the document of each scenario by its `id`."""
    files: dict[str, str] = {}
    documents: dict[int, tuple[str, str]] = {}
    for core in (job.scenario for job in jobs):
        if id(core) in documents:
            continue
        if not elsewhere:
            documents[id(core)] = core.to_toml(), ""
            continue
        toml, own = core.portable()
        # Files of several scenarios may have the same name.
        home = hashlib.blake2b(json.dumps(own).encode(), digest_size=8).hexdigest() if own else ""
        files |= {f"{home}/{name}": text for name, text in own}
        documents[id(core)] = toml, home
    return files, documents


def _plan(cells: Cells, documents: Mapping[int, tuple[str, str]]) -> Plan:
    base = cells.jobs[0].scenario
    plan = Plan(base, base.title(), Study(()), cells.columns, title=cells.title)
    for place, (job, values) in enumerate(zip(cells.jobs, cells.values, strict=True)):
        core = job.scenario
        plan.points.append(Point(values, document=documents[id(core)]))
        key = identity(core.digest(job.control), job.seed)
        plan.tasks.append(Task(key, place, job.control, job.seed))
        plan.labels[place, job.control] = core.controls()[job.control] or ""
        plan.memory_bytes = max(plan.memory_bytes, core.memory_bytes())
    return plan


def _results(folder: AnyFolder, keys: Sequence[str], take: Callable[[Result], T]) -> dict[str, T]:
    """Apply `take` to runs of a dataset; only one batch is in memory at a time."""
    import polars as pl

    def taken(counted: pl.DataFrame) -> dict[str, T]:
        return _taken(folder, counted.filter(pl.col("run").is_in(keys)), take)

    return Executions(folder).read(taken)


def _taken(folder: AnyFolder, counted: "pl.DataFrame", take: Callable[[Result], T]) -> dict[str, T]:
    tables = ("summaries", *_TABLES.values())
    batches = set(counted["batch"])
    names = {table: set(damage.require_files(folder, table, batches)) for table in tables}
    found: dict[str, T] = {}
    for (batch,), runs in counted.group_by("batch", maintain_order=True):
        _require_completed(folder, runs, str(batch))
        paths = {table: f"{table}/{batch}" for table in tables if batch in names[table]}
        frames = {table: reading.table(folder, path) for table, path in paths.items()}
        found |= {key: take(_Stored(key, frames)) for key in runs["run"]}
    return found


def _require_completed(folder: AnyFolder, runs: "pl.DataFrame", batch: str) -> None:
    if runs["failed"].any():
        rows = reading.table(folder, f"runs/{batch}")
        raise UsageError(f"{folder}: a simulation failed: {rows['error'].drop_nulls()[0]}")
