"""`sojourn.run` and its companions: the functions of the command line, for Python."""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sojourn import _core, memory
from sojourn.arguments import checked
from sojourn.errors import ArgumentError, UsageError
from sojourn.record import parts, run_directory, stats, verdicts
from sojourn.record.parts import Chosen
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import File
from sojourn.record.summary import FORMAT, Summary
from sojourn.run import experiment, results
from sojourn.run.exports import Captures, Files
from sojourn.run.results import Run
from sojourn.run.scenario import Scenario
from sojourn.user.controllers import Factory, UserControllers

if TYPE_CHECKING:
    from sojourn.run.comparison import Comparison

T = TypeVar("T")

Source = str | PathLike[str] | Mapping[str, Any] | Scenario


@checked
def run(
    scenario: Source,
    control: str | Sequence[str] | None = None,
    seed: int | None = None,
    runs: int = 1,
    set: Mapping[str, object] | Iterable[str] = (),
    jobs: int | None = None,
    progress: bool = False,
    spread: str | None = None,
    controllers: Mapping[str, Factory] | None = None,
    pcapng: str | PathLike[str] | None = None,
    qlog: str | PathLike[str] | None = None,
) -> Run:
    """Simulate a scenario and return its `Run`.

        run = sojourn.run("scenarios/capacity-drop.toml", control=["cubic", "bbr"], runs=10)
        run.table()                              # a row for each flow of each run (Polars)
        run.flow("upload", control="bbr", seed=1).series   # its samples
        run.plot().save("drop.svg")
        run.save("runs/mine")

    `scenario` is the path of a TOML file, TOML text of several lines, a dict with the same keys,
    or a `Scenario`.

    `control` replaces the scenario's list of controllers, and `seed` replaces its seed. `runs`
    repeats each simulation with that many consecutive seeds. `set` changes single values, such
    as {"link.bottleneck.delay": "10ms"}. `jobs` is the number of threads (default: one per
    core); it does not affect the results. `spread` delays every change of a link by a random
    time up to this value ("5s"), so that repeated runs differ. `controllers` maps names to your
    own controller classes (`sojourn.Controller`); the scenario and `control` refer to them by
    these names. They are slow, and only one thread runs Python at a time. `pcapng` and `qlog`
    are folders that receive the packets of every run and the transports' events. `progress`
    shows a bar on standard error.

    The result has one simulation for each controller and seed. Raises `ScenarioError` for a fault
    in the scenario, before any simulation; `ControllerError` for an exception in your own
    controller; `NotEnoughMemoryError` if the runs do not fit into memory; `OutputExistsError` for a
    folder that is not empty; `OSError` for a file that cannot be read; `ArgumentError`, which is a
    `TypeError`, for an argument of another type.
    """
    source = as_scenario(scenario)
    user_controllers = UserControllers(controllers or {})
    for sentence in user_controllers.misspelled:
        # Above this function and its checks.
        warnings.warn(sentence, UserWarning, stacklevel=3)
    core = experiment.prepare(
        source.compile(),
        assignments=set,
        control=control,
        seed=seed,
        spread=spread,
        user_controllers=user_controllers,
    )
    captures = Captures.to(pcapng, qlog)
    captures.require_possible(core)
    if not progress:
        with captures.opened() as files:
            return record(
                core, source.origin, runs, jobs, user_controllers=user_controllers, files=files
            )
    from sojourn.run.progress import Bar

    began = time.perf_counter()
    with Bar() as bar, captures.opened() as files:
        done = record(core, source.origin, runs, jobs, bar.simulating, user_controllers, files)
    if slowness := user_controllers.slowness(done.summary, time.perf_counter() - began):
        print(slowness, file=sys.stderr)
    return done


@checked
def compare(
    a: str | PathLike[str] | Run,
    b: str | PathLike[str] | Run,
    flow: str | Sequence[str] | None = None,
    link: str | Sequence[str] | None = None,
    control: str | Sequence[str] | None = None,
    shift_b: float = 0.0,
    rename: Mapping[str, str] | None = None,
) -> "Comparison":
    """Compare two runs, given as run directories or as `Run` objects.

    `flow`, `link` and `control` select by name; without them, the comparison covers everything
    that both runs have. `shift_b` seconds are added to the times of `b`. `rename` maps names of
    flows of either run to new ones. A controller's flows are matched by position if the runs have
    the same number of them and no name in common.
    """
    memory.require_polars()
    from sojourn.record.comparison import renaming

    chosen = Chosen.of(flow, link, control)
    (name_a, run_a), (name_b, run_b) = _labelled(a), _labelled(b)
    run_a, run_b = renaming.everywhere([run_a, run_b], rename or {})
    return compare_selected(
        (name_a, parts.select(run_a, chosen, name_a)),
        (name_b, parts.select(run_b, chosen, name_b)),
        shift_b,
    )


def compare_selected(a: tuple[str, Run], b: tuple[str, Run], shift_b: float) -> "Comparison":
    """Compare two runs with their labels."""
    memory.require_polars()
    run_directory.require_room(
        (f"{label}: {what}.parquet", data)
        for label, run in (a, b)
        for what, data in run.series.items()
    )
    from sojourn.record.comparison.matching import Side
    from sojourn.run.comparison import Comparison

    return Comparison.compare(Side("a", *a), Side("b", *b, shift_b))


def controllers() -> list[dict[str, Any]]:
    """Return every congestion controller with its parameters, defaults, units and sources."""
    return cast(list[dict[str, Any]], json.loads(_core.controllers()))


def queues() -> list[dict[str, Any]]:
    """Return every queue discipline with its parameters, defaults, units and sources.

    `aliases` are its other names in a scenario.
    """
    variants = schema()["$defs"]["queue"]["anyOf"]
    kinds = (one["properties"]["kind"] for one in variants if "properties" in one)
    # A queue with one name has a `const`.
    aliases = {name: more for name, *more in (kind.get("enum", [""]) for kind in kinds)}
    return [{**one, "aliases": aliases.get(one["name"], [])} for one in json.loads(_core.queues())]


def hosts() -> list[dict[str, Any]]:
    """Return every host with its values, and the source of each."""
    return cast(list[dict[str, Any]], json.loads(_core.hosts()))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenarios."""
    return cast(dict[str, Any], json.loads(_core.schema()))


def _labelled(run: str | PathLike[str] | Run) -> tuple[str, Run]:
    return (run.title, run) if isinstance(run, Run) else (os.fspath(run), results.load(run))


def as_scenario(source: Source) -> Scenario:
    """Convert a path, TOML text, a dict or a `Scenario` to a `Scenario`."""
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return Scenario(source)
    # Text of one line is not a scenario, and a path has no line break.
    if isinstance(source, str) and "\n" in source:
        return Scenario.parse(source)
    if isinstance(source, (str, PathLike)):
        return Scenario.load(source)
    raise ArgumentError(
        f"a scenario cannot be of type {type(source).__name__}; give the path of a TOML file, TOML "
        "text of several lines, a dict with the same keys, or a sojourn.Scenario"
    )


def record(
    core: _core.Scenario,
    name: str,
    runs: int,
    jobs: int | None,
    progress: experiment.Progress | None = None,
    user_controllers: UserControllers | None = None,
    files: Files | None = None,
) -> Run:
    """Simulate a prepared scenario and keep the series."""
    experiment.require_room([core], runs, threads_of(jobs))
    outcomes = _simulated(core, runs, jobs, lambda outcome: outcome, progress, files)
    return recorded(core, name, runs, outcomes, user_controllers)


def record_all(
    scenarios: Sequence[tuple[_core.Scenario, str]],
    runs: int,
    jobs: int | None,
    progress: experiment.Progress | None = None,
) -> list[Run]:
    """Simulate prepared scenarios in one thread pool and keep the series of each."""
    experiment.require_room([core for core, _ in scenarios], runs, threads_of(jobs))
    plans = [_plan(core, runs) for core, _ in scenarios]
    every = [job for plan in plans for job in plan]
    outcomes = iter(experiment.simulate(every, threads_of(jobs), lambda one: one, progress))
    return [
        recorded(core, name, runs, [next(outcomes) for _ in plan])
        for plan, (core, name) in zip(plans, scenarios, strict=True)
    ]


def recorded(
    core: _core.Scenario,
    name: str,
    runs: int,
    outcomes: list[_core.Outcome],
    user_controllers: UserControllers | None = None,
) -> Run:
    """Combine the outcomes of a scenario's simulations or live runs, with their series."""
    series: dict[File, bytes] = {
        "flows": _core.series_parquet(outcomes, "flows"),
        "links": _core.series_parquet(outcomes, "links"),
    }
    if transfers := _core.transfers_parquet(outcomes):
        series["transfers"] = transfers
    if frames := _core.frames_parquet(outcomes):
        series["frames"] = frames
    done = [json.loads(one.summary_json()) for one in outcomes]
    return assembled(core, name, runs, done, series, user_controllers)


def assembled(
    core: _core.Scenario,
    name: str,
    runs: int,
    done: list[RunSummary],
    series: dict[File, bytes],
    user_controllers: UserControllers | None = None,
) -> Run:
    """Combine the summaries and series of a scenario's simulations."""
    summary = _summary(core, name, runs, done)
    scenario, files = _as_run(core, runs)
    sources = user_controllers.record(summary) if user_controllers else {}
    return Run(summary, scenario, core.title(), series, {**files, **sources})


def summarise(
    core: _core.Scenario,
    name: str,
    runs: int,
    jobs: int | None,
    progress: experiment.Progress | None = None,
    user_controllers: UserControllers | None = None,
    files: Files | None = None,
) -> Summary:
    """Simulate a prepared scenario and keep only its summary."""
    experiment.require_room([core], runs, threads_of(jobs), series=False)

    def take(outcome: _core.Outcome) -> RunSummary:
        return cast(RunSummary, json.loads(outcome.summary_json()))

    done = _simulated(core, runs, jobs, take, progress, files)
    summary = _summary(core, name, runs, done)
    if user_controllers:
        user_controllers.record(summary)
    return summary


def _plan(core: _core.Scenario, runs: int, files: Files | None = None) -> experiment.Jobs:
    if runs < 1:
        raise UsageError(f"runs is {runs}; it must be 1 or more")
    return experiment.jobs_of(core, runs, files)


def _simulated(
    core: _core.Scenario,
    runs: int,
    jobs: int | None,
    take: Callable[[_core.Outcome], T],
    progress: experiment.Progress | None,
    files: Files | None,
) -> list[T]:
    """Run every simulation of the plan and capture its packets if `files` is given."""
    return experiment.simulate(_plan(core, runs, files), threads_of(jobs), take, progress)


def threads_of(jobs: int | None) -> int:
    """Return the requested number of threads, by default one per core."""
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs is {jobs}; it must be 1 or more")
    return jobs or os.cpu_count() or 1


def _summary(core: _core.Scenario, name: str, runs: int, done: list[RunSummary]) -> Summary:
    summary: Summary = {
        "format": FORMAT,
        "scenario": name,
        "version": _core.__version__,
        "runs": done,
    }
    if runs > 1:
        summary["medians"] = stats.medians(done)
    if traces := json.loads(core.unavoidable(json.dumps(summary))):
        summary["unavoidable"] = traces
    verdicts.judge(summary)
    return summary


def _as_run(core: _core.Scenario, runs: int) -> tuple[str, dict[str, str]]:
    first = core.seed()
    core.set(f"seed={first}")
    seeds = f"seed {first}" if runs == 1 else f"seeds {first} to {first + runs - 1}"
    toml, files = core.portable()
    return f"# As run by Sojourn {_core.__version__} with {seeds}.\n{toml}", dict(files)
