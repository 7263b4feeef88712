"""Runs each controller of a scenario with each seed, on a thread pool, in a fixed order."""

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, overload

from sojourn import _core, memory
from sojourn.arguments import require_text
from sojourn.errors import UsageError
from sojourn.run.exports import Files
from sojourn.user.controllers import UserControllers

T = TypeVar("T")

# Wall-clock time between checks whether to stop. The pieces do not affect the results; they only
# limit the latency of Ctrl-C and of the progress bar.
_PIECE_WALL_S = 0.05
_LOOK_UP_S = 0.1
# Time for stopped simulations to end.
_END_S = 0.3


class Progress(Protocol):
    """Callback for progress; several threads call it, one at a time."""

    def __call__(self, done_s: float, total_s: float) -> None:
        """Report the completed and the total simulated seconds, summed over all runs."""


class Running(Protocol):
    """A run that has begun: a simulation, or a live run."""

    @property
    def duration_s(self) -> float:
        """The simulated time, or the real time, that it takes."""

    @property
    def now_s(self) -> float:
        """The time that it has reached."""

    def advance(self, until_s: float, within_s: float | None = None) -> None:
        """Continue up to a time, for about this much real time."""

    def finish(self) -> _core.Outcome:
        """Continue to the end, and return the record."""


@dataclass(frozen=True)
class Job:
    """One run: a checked scenario, the index of its controller, and the seed."""

    scenario: _core.Scenario
    control: int
    seed: int
    captures: tuple[str | None, str | None] = (None, None)
    """Path prefixes of the files for its packets and its events."""

    def start(self) -> Running:
        """Start the simulation."""
        return self.scenario.simulation(self.control, self.seed, *self.captures)


class Stopped(BaseException):
    """A simulation was stopped. Not an `Exception`, which a user's controller might catch."""


def prepare(
    scenario: _core.Scenario,
    *,
    assignments: Mapping[str, object] | Iterable[str] = (),
    control: str | Sequence[str] | None = None,
    seed: int | None = None,
    spread: str | None = None,
    user_controllers: UserControllers | None = None,
    host: Mapping[str, str] | None = None,
) -> _core.Scenario:
    """Apply the requested changes to a scenario and check it.

    `host` is that of a scenario without a host for all flows.
    """
    if user_controllers:
        scenario.use_controllers(user_controllers.catalogue)
    texts = list(assignment_texts(assignments))
    document = json.loads(scenario.to_json()) if texts else {}
    try:
        _apply(scenario, texts, control, seed, spread, host)
        scenario.check()
    except _core.ScenarioError:
        # Loaded only after an error.
        from sojourn.record import key_names

        key_names.explain(document, texts)
        raise
    return scenario


def _apply(
    scenario: _core.Scenario,
    assignments: Sequence[str],
    control: str | Sequence[str] | None,
    seed: int | None,
    spread: str | None,
    host: Mapping[str, str] | None,
) -> None:
    for assignment in assignments:
        scenario.set(require_text(assignment, "set"))
    if host is not None and "host" not in json.loads(scenario.to_json()):
        scenario.set(f"host={toml_value(host)}")
    if spread is not None:
        scenario.set(f"spread={spread}")
    if seed is not None:
        scenario.set(f"seed={seed}")
    if control is not None:
        scenario.set_controls([control] if isinstance(control, str) else list(control))
        _require_effect(scenario, assignments)


def _require_effect(scenario: _core.Scenario, assignments: Iterable[str]) -> None:
    """Refuse an assignment to a flow's controller that `control` has replaced."""
    flows = json.loads(scenario.to_json()).get("flow", {})
    for assignment in assignments:
        key = assignment.split("=", 1)[0].strip()
        parts = key.split(".")
        if parts[0] != "flow" or parts[2:3] != ["control"]:
            continue
        flow = flows.get(parts[1].strip("\"'"))
        if isinstance(flow, dict) and "control" not in flow:
            raise UsageError(
                f"{key} has no effect, since the given control replaces the flow's own; leave the "
                'control out, and set controls=[{kind="cubic", beta=0.7}] with the controllers and '
                "their parameters"
            )


def require_room(
    scenarios: Sequence[_core.Scenario], runs: int, threads: int, series: bool = True
) -> None:
    """Refuse runs that need more memory than is available.

    Memory must hold all concurrent runs, and of each finished run its summary and, with
    `series`, its series until they are written.
    """
    counts = [len(core.controls()) * runs for core in scenarios]
    kept = [core.kept_bytes(series) for core in scenarios]
    running = max(
        (core.memory_bytes() - left for core, left in zip(scenarios, kept, strict=True)), default=0
    )
    memory.require(
        min(threads, sum(counts)) * max(running, 0)
        + sum(count * left for count, left in zip(counts, kept, strict=True)),
        "shorten the scenario, record less often (record.interval), make buffers or initial "
        "windows smaller, ask for fewer runs or use fewer threads (jobs)",
    )


class Jobs(Sequence[Job]):
    """Every simulation for `runs` seeds, grouped by controller.

    Jobs are created on demand: a hundred million of them would take gigabytes before the check of
    available memory.
    """

    def __init__(self, scenario: _core.Scenario, runs: int, files: Files | None = None) -> None:
        self._scenario = scenario
        self._files = files or Files()
        self._controls = scenario.controls()
        self._seeds = range(scenario.seed(), scenario.seed() + runs)

    def __len__(self) -> int:
        return len(self._controls) * len(self._seeds)

    @overload
    def __getitem__(self, place: int) -> Job: ...
    @overload
    def __getitem__(self, place: slice) -> list[Job]: ...
    def __getitem__(self, place: int | slice) -> Job | list[Job]:
        places = range(len(self))[place]
        return (
            [self._job(one) for one in places] if isinstance(places, range) else self._job(places)
        )

    def _job(self, place: int) -> Job:
        control, seed = divmod(place, len(self._seeds))
        files = self._files.prefixes(self._controls[control], self._seeds[seed])
        return Job(self._scenario, control, self._seeds[seed], files)


def jobs_of(scenario: _core.Scenario, runs: int, files: Files | None = None) -> Jobs:
    """Return every simulation for `runs` seeds, grouped by controller."""
    return Jobs(scenario, runs, files)


def simulate(
    jobs: Sequence[Job],
    threads: int,
    take: Callable[[_core.Outcome], T],
    progress: Progress | None = None,
) -> list[T]:
    """Apply `take` to each outcome; results are in the order of `jobs` for any thread count."""
    pool = _Pool(jobs, take, progress)
    workers = max(1, min(threads, len(jobs)))
    with ThreadPoolExecutor(max_workers=workers) as executor:
        futures: list[Future[None]] = []
        try:
            with suppress(RuntimeError):
                # A limit of memory may leave room for fewer threads, or for none.
                futures.extend(executor.submit(pool.work) for _ in range(workers))
            # Only now: Ctrl-C before this line may leave a thread that `futures` does not hold.
            pool.begin.set()
            if not futures:
                pool.work()
            _wait(futures)
        finally:
            # After Ctrl-C or an error, no new job starts and running ones end after their piece.
            pool.stop.set()
            pool.begin.set()
            if wait(futures, timeout=_END_S).not_done:
                pool.interrupt_workers()
    pool.raise_first()
    return [pool.results[place] for place in range(len(jobs))]


def _wait(futures: Sequence[Future[None]]) -> None:
    """Wait until all workers are done or one has failed.

    Another thread than this one may receive a signal; this thread then detects Ctrl-C only when its
    wait times out.
    """
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_LOOK_UP_S, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            return


class _Pool(Generic[T]):
    """The jobs that several workers take in turn, and their results."""

    def __init__(
        self,
        jobs: Sequence[Job],
        take: Callable[[_core.Outcome], T],
        progress: Progress | None,
    ) -> None:
        self.jobs = jobs
        self.take = take
        self.progress = progress
        self.total_s = sum(job.scenario.duration_s() for job in jobs)
        self.done_s = 0.0
        self.lock = threading.Lock()
        self.begin = threading.Event()
        self.stop = threading.Event()
        self.working_threads: set[int] = set()
        self.results: dict[int, T] = {}
        self._places = itertools.count()
        self._errors: dict[int, BaseException] = {}

    def work(self) -> None:
        """Run one job after another, until none is left or the work is stopped."""
        self.begin.wait()
        thread = threading.get_ident()
        self.working_threads.add(thread)
        try:
            while not self.stop.is_set() and (place := next(self._places)) < len(self.jobs):
                self._run(place)
        finally:
            self.working_threads.discard(thread)

    def _run(self, place: int) -> None:
        try:
            self.results[place] = self._simulated(self.jobs[place])
        except BaseException as error:
            self._errors[place] = error
            raise

    def raise_first(self) -> None:
        """Raise the original error rather than `Stopped` of the jobs that it stopped."""
        for _, error in sorted(self._errors.items()):
            if not any(isinstance(e, Stopped) for e in (error, error.__cause__)):
                raise error

    def interrupt_workers(self) -> None:
        """Raise `Stopped` inside the threads' Python code: a user's controller may never return."""
        from ctypes import c_ulong, py_object, pythonapi

        for thread in self.working_threads.copy():
            pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), py_object(Stopped))

    def _simulated(self, job: Job) -> T:
        running = job.start()
        now = 0.0
        while now < running.duration_s:
            if self.stop.is_set():
                raise Stopped
            running.advance(running.duration_s, _PIECE_WALL_S)
            self._report(running.now_s - now)
            now = running.now_s
        return self.take(running.finish())

    def _report(self, advanced_s: float) -> None:
        if self.progress is None:
            return
        with self.lock:
            self.done_s += advanced_s
            self.progress(self.done_s, self.total_s)


def assignment_texts(given: Mapping[str, object] | Iterable[str]) -> list[str]:
    """Format changes of a scenario as `PATH=VALUE`."""
    if isinstance(given, Mapping):
        return [f"{key}={toml_value(value)}" for key, value in given.items()]
    return list(given)


def toml_value(value: object) -> str:
    """Format a value for `--set`: text unchanged, everything else as TOML."""
    return value if isinstance(value, str) else _toml(value)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        import json

        return json.dumps(value)
    return repr(value)
