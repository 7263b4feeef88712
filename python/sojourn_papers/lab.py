"""The tools of a paper's figures: simulations, live runs, published values, and pictures."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from sojourn import _core, inputs
from sojourn.live.real_time import Stack
from sojourn.picture.chart import Document
from sojourn.picture.pictures import Pictures, warn
from sojourn.record import run_directory
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import File
from sojourn.run import api, experiment
from sojourn.run.exports import Captures
from sojourn.run.results import Run
from sojourn.sweep.cells import Cells, Place, Result
from sojourn.sweep.jobs import simulate

from sojourn_papers.form import Form
from sojourn_papers.live_runs import LiveRuns
from sojourn_papers.measured import Table

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


@dataclass(frozen=True)
class Ask:
    """A scenario of the paper's folder, and the changes for one simulation."""

    scenario: str
    set: Mapping[str, object] = field(default_factory=dict)
    control: str | Sequence[str] | None = None
    spread: str | None = None

    def key(self, runs: int) -> str:
        """Return a key that equal simulations share."""
        asked = [self.scenario, dict(self.set), self.control, runs, self.spread]
        return json.dumps(asked, sort_keys=True)


def paper_name(folder: Path) -> str:
    """Return the name of the paper in this folder: `latency-spike` for `latency_spike`."""
    return folder.name.replace("_", "-")


class Cell:
    """One simulation of a sweep. Its series are decoded on first use."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def summary(self) -> RunSummary:
        """Its figures, as an entry of `runs` in `sojourn run --json`."""
        return self._result.summary

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """The series of its flows."""
        return self._read("flows")

    @cached_property
    def links(self) -> "pl.DataFrame":
        """The series of its links."""
        return self._read("links")

    def _read(self, what: run_directory.What) -> "pl.DataFrame":
        return run_directory.complete_series(self._result.table(what), what)


def _columns(results: Sequence[Result]) -> tuple[list[RunSummary], dict[File, bytes]]:
    """Return the summaries of a run, and its tables as Parquet files."""
    import polars as pl

    tables: dict[File, bytes] = {}
    for what in get_args(File):
        frames = [frame for one in results if not (frame := one.table(what)).is_empty()]
        if frames or what != "transfers":
            every = pl.concat(frames or [pl.DataFrame()], how="diagonal")
            order = [one.name for one in run_directory.COLUMNS[what] if one.name in every.columns]
            content = io.BytesIO()
            every.select(order).write_parquet(content)
            tables[what] = content.getvalue()
    return [one.summary for one in results], tables


@dataclass
class Lab:
    """The run of one paper. Equal simulations of several figures run once."""

    folder: Path
    """The paper's own folder, with its scenarios and published values."""
    out: Path
    """The output folder of the pictures."""
    quick: bool = False
    data: Path | None = None
    """A folder or file of measurements that Sojourn does not include, if available."""
    jobs: int | None = None
    dataset: str | None = None
    """Folder or URL that keeps the simulations; absent if they are kept in memory."""
    cluster: str | None = None
    """The cluster that simulates into the dataset."""
    progress: experiment.Progress | None = None
    drawn: Pictures = field(default_factory=lambda: Pictures(warn))
    """Draws the pictures; a picture that fails does not end the run."""
    pictures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    live_runs: LiveRuns | None = None
    """The live runs of `paper run --live`; absent if the lab only simulates."""
    stack: str | None = None
    """The QUIC stack of `paper run --stack`; absent if only the model of QUIC is used."""
    _made: dict[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> Form:
        """The form of the figures that this lab runs."""
        if self.live_runs is not None:
            return "live figure" if self.stack is None else "live stack figure"
        return "figure" if self.stack is None else "stack figure"

    @property
    def name(self) -> str:
        """The paper's name."""
        return paper_name(self.folder)

    def pick(self, full: T, quick: T) -> T:
        """Return `quick` in a quick run, else `full`."""
        return quick if self.quick else full

    def published(self, name: str = "published.json") -> Any:
        """Load the published values from the paper's folder."""
        return json.loads(inputs.text(self.folder / name))

    def value(self, name: str) -> Any:
        """Return a published value; `published.json` has each with its source, `where`."""
        return self.published()[name]["value"]

    def run(
        self,
        scenario: str,
        set: Mapping[str, object] | None = None,
        control: str | Sequence[str] | None = None,
        runs: int = 1,
        spread: str | None = None,
        pcapng: Path | None = None,
        qlog: Path | None = None,
    ) -> Run:
        """Simulate a scenario of the paper's folder with its series, as `sojourn.run` does.

        With `pcapng` or `qlog`, which must be new folders, the scenario runs even if the result is
        known, and its packets or events are written.
        """
        ask = Ask(scenario, set or {}, control, spread)
        if pcapng is None and qlog is None:
            return self.runs([ask], runs)[0]
        core, origin = self._prepared(ask)
        captures = Captures(pcapng, qlog)
        captures.require_possible(core)
        with captures.opened() as files:
            return api.record(core, origin, runs, self.jobs, self.progress, files=files)

    def live(
        self,
        scenario: str,
        set: Mapping[str, object] | None = None,
        control: str | Sequence[str] | None = None,
        spread: str | None = None,
        seed: int = 1,
        stack: Stack = "kernel",
        pcapng: Path | None = None,
    ) -> Run:
        """Run a scenario of the paper's folder in real time with one seed, as `sojourn.live` does.

        A run is repeated if its timing was bad. `pcapng` must be a new folder.
        """
        if self.live_runs is None:
            raise ValueError("live runs need a lab with `live_runs`")
        core, origin = self._prepared(Ask(scenario, set or {}, control, spread), seed)
        return self.live_runs.run(core, origin, stack, self.progress, pcapng)

    def live_count(self, full: int, quick: int = 1) -> int:
        """Return the number of live runs of each measurement, which `--runs` may set."""
        asked = self.live_runs.runs if self.live_runs else None
        return asked or self.pick(full, quick)

    def runs(self, asks: Sequence["Ask"], runs: int = 1, keep: bool = True) -> list[Run]:
        """Simulate several scenarios in one thread pool, each with `runs` seeds.

        Series are large; without `keep`, other figures cannot reuse them.
        """
        keys = [one.key(runs) for one in asks]
        missing = {key: one for key, one in zip(keys, asks, strict=True) if key not in self._made}
        known = {key: self._made[key] for key in keys if key in self._made}
        if missing:
            prepared = [self._prepared(one) for one in missing.values()]
            found = self._recorded(prepared, runs)
            known.update(zip(missing, found, strict=True))
        if keep:
            self._made.update(known)
        return [known[key] for key in keys]

    def _recorded(self, prepared: list[tuple[_core.Scenario, str]], runs: int) -> list[Run]:
        if self.dataset is None:
            return api.record_all(prepared, runs, self.jobs, self.progress)
        plans = [experiment.jobs_of(core, runs) for core, _ in prepared]
        found = iter(self._simulated([job for plan in plans for job in plan], lambda one: one))
        return [
            api.assembled(core, name, runs, *_columns([next(found) for _ in plan]))
            for plan, (core, name) in zip(plans, prepared, strict=True)
        ]

    def _simulated(self, jobs: Sequence[experiment.Job], take: Callable[[Result], T]) -> list[T]:
        """Simulate in threads here, or into the dataset."""
        cells = Cells(jobs, ("job",), [(str(number),) for number in range(len(jobs))])
        place = Place(self.jobs, self.dataset, self.cluster)
        return simulate(cells, place, take, self.progress, str(self.folder))

    def _prepared(self, ask: "Ask", seed: int | None = None) -> tuple[_core.Scenario, str]:
        source = api.as_scenario(self.folder / ask.scenario)
        core = experiment.prepare(
            source.compile(),
            assignments=ask.set,
            control=ask.control,
            seed=seed,
            spread=ask.spread,
        )
        return core, source.origin

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, which is called once for all figures that use this key."""
        if key not in self._made:
            self._made[key] = make()
        return cast(T, self._made[key])

    def sweep(
        self,
        scenario: str,
        cells: Sequence[Mapping[str, object]],
        take: Callable[[RunSummary], T],
    ) -> list[T]:
        """Apply `take` to the summary of each cell, as `measure` does."""
        return self.measure(scenario, cells, lambda cell: take(cell.summary))

    def measure(
        self,
        scenario: str,
        cells: Sequence[Mapping[str, object]],
        take: Callable[[Cell], T],
    ) -> list[T]:
        """Simulate the cells in a thread pool and apply `take` to each summary and series.

        A cell lists the values to set. The scenario must name one controller. Only the results of
        `take` stay in memory.
        """
        source = api.as_scenario(self.folder / scenario)
        jobs = []
        for cell in cells:
            core = experiment.prepare(source.compile(), assignments=cell)
            jobs.append(experiment.Job(core, 0, core.seed()))
        return self._simulated(jobs, lambda result: take(Cell(result)))

    def draw(self, name: str, figure: Document) -> None:
        """Write a figure as `NAME.html`, and as SVG and PNG if matplotlib is installed."""
        if self.drawn.draw(figure, self.out / name):
            self.pictures.append(name)

    def table(self, table: Table) -> None:
        """Add a table of measured values to the figure."""
        self.tables.append(table)

    def note(self, text: str) -> None:
        """Add a note below the figure's table."""
        self.notes.append(text)
