"""The dataset of a sweep: a folder of Parquet files (docs/guide/sweeps.md).

Each batch of runs is one file in each of the folders `flows`, `links`, `spikes` and, last, `runs`.
The file in `runs` completes the batch; files of other folders without it are of a batch that was
interrupted.
"""

import copy
import fcntl
import io
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from sojourn import _core, memory
from sojourn.arguments import checked
from sojourn.errors import DatasetError, UsageError
from sojourn.sweep import damage, fairness, quantities, reading, tables
from sojourn.sweep.axes import Range
from sojourn.sweep.executions import Executions, remove_damaged, remove_interrupted
from sojourn.sweep.plan import Plan
from sojourn.sweep.quantities import Quantity
from sojourn.sweep.store import LOCK, AnyFolder, Folder, make, open_folder
from sojourn.sweep.tables import DOCUMENTS, POINTS, SERIES, TABLES, Detail, Table

if TYPE_CHECKING:
    import polars as pl

D = TypeVar("D", bound="StoredDataset")
FORMAT = 2
"""Version of the dataset's format. It increases only if a reader would misread the files."""

_ABOUT = "sweep.json"
# The columns of the points that are no axes.
_OWN = ("run", "control", "seed")
_LOCK_WAIT_S = 2.0


class _Plan(TypedDict):
    format: int
    version: str
    scenario: str
    title: str
    axes: list[str]
    keys: dict[str, str]
    derived: list[str]
    logarithmic: list[str]
    design: str
    points: int
    runs: int


class About(_Plan, total=False):
    """`sweep.json`."""

    complete: bool
    """Whether every run of the plan has ended: one that is missing then has been lost."""


class StoredDataset:
    """The frames of a dataset (`sojourn.sweep.result.Dataset`)."""

    @checked
    def __init__(self, directory: str | PathLike[str]) -> None:
        self.folder = open_folder(directory)
        if not self.folder.exists(_ABOUT):
            raise UsageError(
                f"{self.folder}: not a dataset of a sweep: it has no {_ABOUT}; "
                "`sojourn sweep FILE --vary KEY=A,B --out DIR` writes one"
            )
        self.about = _described(self.folder)
        self._executions = Executions(self.folder)
        self._only: frozenset[str] | None = None

    def only(self: D, runs: Iterable[str]) -> D:
        """Return the dataset with these runs alone."""
        selected = copy.copy(self)
        selected._only = frozenset(runs)
        return selected

    @property
    def axes(self) -> list[str]:
        """The columns of the axes and of the derived values."""
        return [name for name in self.points.columns if name not in _OWN]

    @property
    def derived(self) -> list[str]:
        """Those of the axes whose values follow from others (`let`)."""
        return self.about["derived"]

    @property
    def points(self) -> "pl.DataFrame":
        """The runs of the plan."""
        memory.require_polars()
        import polars as pl

        try:
            points = reading.table(self.folder, POINTS)
        except FileNotFoundError as error:
            damage.raise_missing(self.folder, [POINTS], error)
        if missing := [axis for axis in self.about["axes"] if axis not in points.columns]:
            raise DatasetError(
                f"{self.folder}/{POINTS}: it has no column `{missing[0]}`; "
                + reading.remedy(self.folder, POINTS)
            )
        return points if self._only is None else points.filter(pl.col("run").is_in(self._only))

    @property
    def runs(self) -> "pl.DataFrame":
        """A row for each completed or failed run; `error` is null for a completed one."""
        return self.table("runs")

    @property
    def flows(self) -> "pl.DataFrame":
        """A row for each flow of each run."""
        return self.table("flows")

    @property
    def links(self) -> "pl.DataFrame":
        """A row for each link of each run."""
        return self.table("links")

    @property
    def spikes(self) -> "pl.DataFrame":
        """A row for each change of capacity of each run."""
        return self.table("spikes")

    def series(self, what: str) -> "pl.DataFrame":
        """Return the samples of `flows` or `links`, if the sweep kept them."""
        if f"series_{what}" not in SERIES:
            raise UsageError(f"there are no series of {what!r}; there are: flows, links")
        return self._joined(self._read(f"series_{what}"), "control", "seed")

    def table(self, name: Table) -> "pl.DataFrame":
        """Return a table with the columns of the points first, sorted by point and seed."""
        own = self._read(name)
        if own.is_empty():
            own = tables.frame(name, [])
        if name == "runs":
            return self._joined(own, "control", "seed")
        if name == "flows":
            own = fairness.added(own)
        return self._joined(own.rename({"control": "flow_control"}, strict=False))

    def _joined(self, own: "pl.DataFrame", *repeated: str) -> "pl.DataFrame":
        points = self.points.with_row_index("_order")
        # A join may change the order of the rows of a run.
        rows = own.drop(repeated, strict=False).with_row_index("_row")
        joined = points.join(rows, on="run", how="inner")
        return joined.sort("_order", "_row").drop("_order", "_row")

    @property
    def missing(self) -> "pl.DataFrame":
        """The points whose runs the dataset lacks, and which the same sweep simulates."""
        import polars as pl

        held = self._executions.update().counted["run"].implode()
        return self.points.filter(~pl.col("run").is_in(held))

    def require_whole(self) -> None:
        """Refuse a dataset that has lost files or runs, as the tables do when they are read."""
        for table in TABLES:
            self._read(table, ("run", "error") if table == TABLES[0] else ("run",))

    def _read(self, table: str, columns: Sequence[str] | None = None) -> "pl.DataFrame":
        """Read a table, with the rows of one execution of each run."""
        rows = self._executions.read(lambda counted: self._rows(table, counted, columns))
        if self.about.get("complete"):
            self._require_runs()
        return rows

    def _require_runs(self) -> None:
        missing = self.missing
        # Another command may have begun a larger plan.
        if not missing.is_empty() and _described(self.folder).get("complete"):
            damage.require_runs(self.folder, missing, self.points.height)

    def _rows(
        self, table: str, executions: "pl.DataFrame", columns: Sequence[str] | None
    ) -> "pl.DataFrame":
        import polars as pl

        is_own = self.about["version"] == _core.__version__
        names = sorted(set(executions["batch"]))
        if is_own:
            names = damage.require_files(self.folder, table, names)
        else:
            names = sorted(set(names).intersection(self.folder.list(table)))
        files = [f"{table}/{name}" for name in names]
        frames = [
            frame.with_columns(pl.lit(name).alias("_batch"))
            for name, frame in zip(
                names, reading.all_of(self.folder, files, columns, is_own=is_own), strict=True
            )
        ]
        if not frames:
            return pl.DataFrame(schema={"run": pl.String})
        counted = executions.select("run", pl.col("batch").alias("_batch"))
        # Series have columns that depend on the controller.
        every = pl.concat(frames, how="diagonal")
        own = self._executions.every.filter(pl.col("batch").is_in(names))
        rows = every.select("run", pl.col("_batch").alias("batch"))
        counting = executions.filter(pl.col("batch").is_in(names))
        damage.require_rows(self.folder, table, rows, own, counting)
        kept = every.join(counted, on=["run", "_batch"], how="semi", maintain_order="left")
        return kept.drop("_batch")

    def __repr__(self) -> str:
        return f"<sojourn.Dataset {self.folder}: {', '.join(self.axes)}>"

    def _repr_html_(self) -> str:
        from sojourn.record import notebook

        return notebook.of_dataset(str(self.folder), self.axes, self.points)


@dataclass(frozen=True)
class Opened:
    """A dataset that is being written."""

    folder: AnyFolder
    held: set[str]
    """The identities of its completed runs."""
    damaged: int
    """Number of batches that could not be read, and whose runs are repeated."""


@contextmanager
def opened(place: str | PathLike[str], plan: Plan, detail: Detail = "figures") -> Iterator[Opened]:
    """Prepare a new or an existing dataset.

    A run with less than the asked `detail` is not complete.
    """
    folder = open_folder(place)
    if folder.exists(_ABOUT):
        _require_version(folder)
    else:
        folder.require_free()
    with _locked(folder):
        damaged = remove_damaged(folder)
        executions = _cleaned(folder, Executions(folder))
        write_plan(folder, plan)
        folder.write("scenario.toml", plan.base.to_toml().encode())
        _write_documents(folder, plan)
        yield Opened(folder, executions.completed(detail), damaged)
        # A worker that died may have left files, or runs that were repeated.
        held = set(_cleaned(folder, executions).every["run"])
        if held.issuperset(task.key for task in plan.tasks):
            # A copy: a search adds points to its plan, whose columns have been described.
            folder.write(_ABOUT, _about(replace(plan), is_complete=True))


def _write_documents(folder: AnyFolder, plan: Plan) -> None:
    """Write the scenario of each run whose point is no change of the dataset's scenario."""
    import polars as pl

    documents = {task.key: plan.points[task.point].document for task in plan.tasks}
    rows = [(run, document[0]) for run, document in documents.items() if document]
    if rows:
        file = io.BytesIO()
        pl.DataFrame(rows, schema=["run", "scenario"], orient="row").write_parquet(file)
        folder.write(DOCUMENTS, file.getvalue())


def document(dataset: StoredDataset, run: str) -> str | None:
    """Return the scenario of a run whose point has one of its own."""
    import polars as pl

    if not dataset.folder.exists(DOCUMENTS):
        return None
    rows = reading.table(dataset.folder, DOCUMENTS)
    return next(iter(rows.filter(pl.col("run") == run)["scenario"]), None)


def _cleaned(folder: AnyFolder, executions: Executions) -> Executions:
    remove_interrupted(folder)
    executions.update().clean()
    return executions


def write_plan(folder: AnyFolder, plan: Plan) -> None:
    """Write the points and the description of the plan in the place of the last plan's.

    The description comes last: `opened` refuses a folder with other files and without it.
    """
    if folder.exists(_ABOUT):
        # The runs of the new points are not lost ones of the last plan.
        folder.write(_ABOUT, _about(plan))
    file = io.BytesIO()
    _frame(plan).write_parquet(file)
    folder.write(POINTS, file.getvalue())
    folder.write(_ABOUT, _about(plan))


@contextmanager
def _locked(folder: AnyFolder) -> Iterator[None]:
    """Keep other commands on this machine from writing the same folder."""
    if not isinstance(folder, Folder):
        yield
        return
    make(folder.path)
    # Neither follow a link nor wait for a pipe, which another program may have put there.
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    lock = os.open(folder.path / LOCK, flags, 0o666)
    try:
        _lock(lock, folder)
        folder.lock = lock
        yield
    finally:
        os.close(lock)


def _described(folder: AnyFolder) -> About:
    """Read the description of a dataset."""
    import msgspec

    found = reading.json_of(folder, _ABOUT)
    if isinstance(found, dict) and found.get("format", FORMAT) != FORMAT:
        raise UsageError(
            f"{folder}: its format is {found['format']}, and this version of Sojourn reads {FORMAT}"
        )
    try:
        return msgspec.convert(found, About)
    except msgspec.ValidationError as error:
        remedy = reading.remedy(folder, _ABOUT)
        raise DatasetError(f"{folder}/{_ABOUT}: {error}; {remedy}") from error


def _require_version(folder: AnyFolder) -> None:
    try:
        version = _described(folder)["version"]
    except DatasetError:
        # The plan replaces a damaged description.
        version = next(iter(_versions(folder) - {_core.__version__}), _core.__version__)
    if version != _core.__version__:
        raise UsageError(
            f"{folder} was written by Sojourn {version}, and this is {_core.__version__}, whose "
            "results may differ; write to another folder with --out"
        )


def _versions(folder: AnyFolder) -> set[str]:
    """Return the versions that wrote the batches, as far as they can be read."""
    found: set[str] = set()
    for name in folder.list("runs"):
        with suppress(DatasetError):
            found |= set(reading.table(folder, f"runs/{name}", ("version",))["version"])
    return found


def _lock(lock: int, folder: Folder) -> None:
    # The workers of a killed command end a moment after it.
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                message = f"{folder}: another command is writing it; wait for its end"
                raise UsageError(message) from error
            time.sleep(0.05)


def _about(plan: Plan, is_complete: bool = False) -> bytes:
    study = plan.study
    about: About = {
        "format": FORMAT,
        "version": _core.__version__,
        "scenario": plan.origin,
        "title": plan.title or plan.base.title(),
        "axes": [column(plan, name) for name in plan.columns],
        # The columns of a search have no keys.
        "keys": dict(zip((column(plan, one) for one in plan.columns), _keys(plan), strict=False)),
        "derived": [column(plan, key) for key in _derived(plan)],
        "logarithmic": _logarithmic(plan),
        "design": study.design,
        "points": len(plan.points),
        "runs": len(plan.tasks),
        "complete": is_complete,
    }
    return (json.dumps(about, indent=1) + "\n").encode()


def _logarithmic(plan: Plan) -> list[str]:
    """Return the columns of the axes that were declared logarithmic."""
    declared = [
        isinstance(axis.values, Range) and axis.values.logarithmic
        for axis in plan.study.axes
        for _ in axis.keys
    ]
    names = zip(plan.columns, declared, strict=False)
    return [column(plan, name) for name, is_logarithmic in names if is_logarithmic]


def _derived(plan: Plan) -> list[str]:
    """Return the names of the values that expressions derive from the axes."""
    return list(plan.columns[len(plan.columns) - len(plan.study.derived) :])


def _keys(plan: Plan) -> list[str]:
    keys = [key for axis in plan.study.axes for key in axis.keys]
    return [*keys, *(key for key, _ in plan.study.derived)]


def column(plan: Plan, name: str) -> str:
    """Return the name of a column, which ends in the unit of its values."""
    kind = plan.kinds[name]
    return name + quantities.SUFFIX[kind] if kind is not None else name


def _frame(plan: Plan) -> "pl.DataFrame":
    """Return the rows of the points."""
    memory.require_polars()
    import polars as pl

    points = [task.point for task in plan.tasks]
    found: dict[str, Sequence[Any]] = {"run": [task.key for task in plan.tasks]}
    for place, name in enumerate(plan.columns):
        texts = [point.values[place] for point in plan.points]
        values = _column(texts, plan, name)
        found[column(plan, name)] = [values[point] for point in points]
    found["control"] = [plan.labels[task.point, task.control] for task in plan.tasks]
    found["seed"] = [task.seed for task in plan.tasks]
    # A run that two points share has one row.
    frame = pl.DataFrame(found, schema_overrides={"run": pl.String}, strict=False)
    return frame.unique("run", keep="first", maintain_order=True)


def _column(texts: list[str], plan: Plan, name: str) -> list[Any]:
    """Return numbers if all values are quantities of one kind, and else the texts."""
    kind = plan.kinds[name]
    if kind is None:
        return texts
    values = [quantities.parse(text) for text in texts]
    numbers = [
        quantities.column_value(value, kind) for value in values if isinstance(value, Quantity)
    ]
    if kind != "time" and all(number.is_integer() for number in numbers):
        return [int(number) for number in numbers]
    return numbers


def size_bytes(directory: Path) -> int:
    """Return the size of a dataset on disk."""
    return sum(
        os.stat(file).st_size  # noqa: PTH116
        for file in directory.rglob("*")
        if file.is_file()
    )
