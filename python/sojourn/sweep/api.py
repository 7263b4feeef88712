"""`sojourn.sweep`: the sweeps of the command line, for Python."""

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

from sojourn import _core, memory
from sojourn.arguments import checked
from sojourn.errors import ArgumentError
from sojourn.run import api, experiment
from sojourn.sweep import batch, controllers, dataset, engine
from sojourn.sweep import plan as plans
from sojourn.sweep.batch import Worker
from sojourn.sweep.cluster import Dask, description
from sojourn.sweep.engine import Queue, Tally, Watcher
from sojourn.sweep.local import Processes
from sojourn.sweep.plan import Plan
from sojourn.sweep.result import Dataset
from sojourn.sweep.store import AnyFolder
from sojourn.sweep.tables import Detail
from sojourn.user.controllers import UserControllers

# Memory of a worker process without runs, measured: Python with polars.
_PROCESS_BYTES = 150 << 20
_TRIAL_S = 0.3


@checked
def sweep(
    scenario: api.Source,
    vary: Mapping[str, Sequence[object] | str] | None = None,
    out: str | PathLike[str] | None = None,
    control: str | Sequence[str] | None = None,
    runs: int | None = None,
    let: Mapping[str, str] | None = None,
    where: str | None = None,
    design: str | None = None,
    points: int | None = None,
    seed: int | None = None,
    set: Mapping[str, object] | Iterable[str] = (),
    spread: str | None = None,
    series: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
) -> Dataset:
    """Simulate a scenario at every point of a design, and return the dataset.

        >>> sweep("dsl.toml", {"link.down.queue": ["droptail", "codel"]}, "runs/queues")
        ... # doctest: +SKIP

    `vary` maps keys, or keys joined by `+`, to lists of values or to ranges such as
    "1ms..20ms:log:5". It adds axes to the table `[sweep]` of the scenario. `let` derives values of
    keys by expressions, and `where` is the condition of the points that run. `design` is "grid",
    "random", "latin-hypercube" or "sobol"; all but the grid need `points`. `runs` is the number of
    consecutive seeds of each point. `series` keeps the samples of flows and links.

    `out` is the folder of the dataset, or a URL such as "s3://bucket/sweep". A run that it holds is
    not simulated again. Without `out`, the dataset is in a temporary folder, which exists until the
    program ends. `jobs` is the number of processes (default: one a core), and
    `cluster` is the address of a Dask scheduler, whose workers are used instead; "slurm" and "pbs"
    submit `jobs` jobs to a batch system, and "kubernetes" starts `jobs` workers. The other
    parameters are those of `run`.

    Raises `ScenarioError` for a fault in the scenario or in an axis, before any simulation, and
    `UsageError` for a folder with other content or of another version. A run that fails is a row of
    `runs` with its error.
    """
    source = api.as_scenario(scenario)
    core = experiment.prepare(
        source.compile(), assignments=set, control=control, seed=seed, spread=spread
    )
    study = plans.study(
        core,
        vary=[_argument(key, values) for key, values in (vary or {}).items()],
        let=[f"{key}={text}" for key, text in (let or {}).items()],
        where=where,
        design=design,
        points=points,
        runs=runs,
    )
    plan = plans.plan(core, source.origin, study)
    if plan.note:
        # Above this function and its checks.
        warnings.warn(plan.note, UserWarning, stacklevel=3)
    base_dir = source._base_dir
    setup = Setup(base_dir, detail_of(series), jobs, cluster=cluster)
    execute(plan, setup, folder := folder_of(out))
    return Dataset(folder)


def _argument(key: str, values: Sequence[object] | str) -> str:
    if isinstance(values, str):
        return f"{key}={values}"
    if not isinstance(values, Iterable):
        raise ArgumentError(
            f"vary[{key!r}] is {values!r}; it must be a list of values, or a range as text"
        )
    return f"{key}={','.join(map(experiment.toml_value, values))}"


def folder_of(out: str | PathLike[str] | None) -> str:
    """Return the folder of a dataset; without a name, one that exists until the program ends."""
    if out is not None:
        return os.fspath(out)
    import atexit

    folder = tempfile.mkdtemp(prefix="sojourn-sweep-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def detail_of(series: bool) -> Detail:
    """Return the detail of a sweep with or without series."""
    return "series" if series else "figures"


@dataclass(frozen=True)
class Setup:
    """The settings of an execution."""

    base_dir: str
    """Folder of the files that the scenario names."""
    detail: Detail = "figures"
    jobs: int | None = None
    controllers: UserControllers = field(default_factory=lambda: UserControllers({}))
    """The user's own controllers, from files."""
    cluster: str | None = None
    """Address of a Dask scheduler, or the name of a batch system; then with `jobs` jobs."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files of the points' own documents, for a cluster."""


@dataclass(frozen=True)
class Ended:
    """The end of an execution."""

    known: int
    """Runs that the dataset held already."""
    tally: Tally
    took_s: float
    damaged: int
    """Batches that could not be read, and whose runs were repeated."""


def _ignore(done: int, failures: int, total: int) -> None:
    """Show no progress."""


def execute(plan: Plan, setup: Setup, out: str, watcher: Watcher = _ignore) -> Ended:
    """Simulate every run of a plan that the dataset does not hold."""
    if setup.cluster is None:
        advice = "shorten the scenario or use fewer processes (jobs)"
        memory.require(memory_bytes(plan, setup), advice)
    began = time.perf_counter()
    with dataset.opened(out, plan, setup.detail) as opened:
        folder, held = opened.folder, opened.held
        tasks = [task for task in _distinct(plan) if task.key not in held]
        known = len(held & {task.key for task in plan.tasks})
        queue, tally = Queue(plan, tasks), Tally(len(tasks))
        read = batch.reader(plan.origin, setup.base_dir, setup.controllers.catalogue)
        worker = Worker(plan.base, folder, setup.detail, folder.lock is not None, read)
        watcher(0, 0, len(tasks))
        if setup.cluster is None:
            engine.execute_here(queue, worker, tally, watcher, engine.FIRST_S)
        if setup.cluster is None and _stays_here(queue, tally, setup):
            engine.execute_here(queue, worker, tally, watcher, float("inf"))
        elif queue:
            workers = start_workers(plan, setup, folder, len(tasks) - tally.done)
            try:
                engine.execute(queue, workers, worker, tally, watcher)
            finally:
                workers.close()
    return Ended(known, tally, time.perf_counter() - began, opened.damaged)


def _stays_here(queue: Queue, tally: Tally, setup: Setup) -> bool:
    """Whether this process alone executes the rest."""
    remaining = tally.total - tally.done
    return api.threads_of(setup.jobs) == 1 or engine.is_short(queue, tally, remaining)


def start_workers(plan: Plan, setup: Setup, folder: AnyFolder, remaining: int) -> engine.Engine:
    """Start the engine: processes of this machine, or the connection to a cluster."""
    common = {
        "controllers": controllers.packed(setup.controllers),
        "out": str(folder),
        "detail": setup.detail,
        "locked": folder.lock is not None,
    }
    if setup.cluster is not None:
        own = {**description(plan.base, plan.origin, setup.files), **common}
        return Dask(setup.cluster, own, api.threads_of(setup.jobs))
    local = {"origin": plan.origin, "toml": plan.base.to_toml(), "base_dir": setup.base_dir}
    count = min(api.threads_of(setup.jobs), remaining)
    return Processes(count, {**local, **common}, folder.lock)


def _distinct(plan: Plan) -> list[plans.Task]:
    """Return the runs without those that equal an earlier one."""
    return list({task.key: task for task in reversed(plan.tasks)}.values())[::-1]


def memory_bytes(plan: Plan, setup: Setup) -> int:
    """Estimate the memory of all processes."""
    processes = min(api.threads_of(setup.jobs), len(plan.tasks))
    return processes * (plan.memory_bytes + _PROCESS_BYTES)


def estimated_s(plan: Plan, setup: Setup) -> float:
    """Estimate the duration of a plan by simulating parts of a few of its runs."""
    count = min(len(plan.tasks), 5)
    picked = [
        plan.tasks[place * (len(plan.tasks) - 1) // max(count - 1, 1)] for place in range(count)
    ]
    mean_s = sum(_run_s(plan.scenario(task.point), task) for task in picked) / count
    return mean_s * len(plan.tasks) / min(api.threads_of(setup.jobs), len(plan.tasks))


def _run_s(core: _core.Scenario, task: plans.Task) -> float:
    began = time.perf_counter()
    running = core.simulation(task.control, task.seed)
    running.advance(running.duration_s, _TRIAL_S)
    took_s = time.perf_counter() - began
    return took_s * running.duration_s / max(running.now_s, 1e-9)
