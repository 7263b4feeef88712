"""The evaluation of worlds on the engines of sweeps, into a dataset that resumes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sojourn import _core
from sojourn.run import api
from sojourn.sweep import api as sweeps
from sojourn.sweep import dataset, engine
from sojourn.sweep.adversary.damage import Damages, Measure
from sojourn.sweep.adversary.worlds import Limits, World
from sojourn.sweep.batch import Worker
from sojourn.sweep.engine import Engine, Queue, Tally
from sojourn.sweep.plan import Plan, Point, Study, Task, identity
from sojourn.sweep.store import AnyFolder

# Evaluations between two decisions of the search. They do not depend on the number of workers, so
# that a search gives the same result on any.
GENERATION = 16
_COLUMNS = ("evaluation", "rates", "delays", "loss")


@dataclass(frozen=True)
class Problem:
    """A scenario with one controller, the link that changes, its limits, and the damage."""

    base: _core.Scenario
    origin: str
    link: str
    limits: Limits
    measure: Measure

    def scenario(self, world: World) -> _core.Scenario:
        """Return the scenario with a world. Raise `ScenarioError` if it refuses the world."""
        core = self.base.copy()
        for assignment in self.assignments(world):
            core.set(assignment)
        core.check()
        return core

    def assignments(self, world: World) -> tuple[str, ...]:
        """Return the changes of the scenario.

        The spike of a change is measured until the next change may come, and the time before the
        first change is a warm-up.
        """
        gap = _core.quantity_text("time", round(self.limits.gap_s * 1e9))
        settings = (f"record.spike_window={gap}", f"measure.from={gap}")
        return (*settings, *world.assignments(self.link))


@dataclass
class Evaluator:
    """Simulates worlds that the dataset does not hold."""

    problem: Problem
    folder: AnyFolder
    plan: Plan
    worker: Worker
    engine: Engine | None
    """Other workers; if absent, this process simulates."""
    found: Damages
    watcher: Callable[[int], None]
    """Callback with the number of evaluations."""
    simulated: int = field(default=0, init=False)

    def damages(self, worlds: Sequence[World]) -> list[float]:
        """Return the damage of each world."""
        tasks = [self._add(world) for world in worlds]
        new = {task.key: task for task in tasks if task.key not in self.found}
        self._simulate(list(new.values()))
        self.found.update()
        self.watcher(len(self.plan.points))
        return [self.found[task.key] for task in tasks]

    def search_for(self, measure: Measure) -> None:
        """Search another damage from now on, with the runs that the dataset holds."""
        self.problem = replace(self.problem, measure=measure)
        self.found = self._known(measure)

    def utilisation(self, world: World) -> float:
        """Return the share of the link that was used in a world, which has been simulated."""
        core = self.problem.scenario(world)
        return 1 - self._known("utilisation")[identity(core.digest(0), core.seed())]

    def _known(self, measure: Measure) -> Damages:
        found = Damages(self.folder, measure, self.problem.link)
        found.update(repeats_failures=True)
        return found

    def _add(self, world: World) -> Task:
        core = self.problem.scenario(world)
        place, seed = len(self.plan.points), core.seed()
        texts = [text.partition("=")[2] for text in world.assignments(self.problem.link)]
        values = (texts[0], texts[1] if world.delays_s else "", texts[-1] if world.loss else "0")
        changes = (*self.problem.assignments(world), "record.interval=0s")
        self.plan.points.append(Point((str(place), *values), changes))
        self.plan.labels[place, 0] = core.controls()[0] or ""
        task = Task(identity(core.digest(0), seed), place, 0, seed)
        self.plan.tasks.append(task)
        return task

    def _simulate(self, tasks: list[Task]) -> None:
        queue, tally = Queue(self.plan, tasks), Tally(len(tasks))
        self.simulated += len(tasks)
        if self.engine is None:
            engine.execute_here(queue, self.worker, tally, _silent, float("inf"))
        else:
            engine.execute(queue, self.engine, self.worker, tally, _silent)


def _silent(done: int, failures: int, total: int) -> None:
    """Show no progress of one generation."""


@contextmanager
def evaluator(
    problem: Problem, setup: sweeps.Setup, out: str, watcher: Callable[[int], None]
) -> Iterator[Evaluator]:
    """Open the dataset, start the workers, and write all points at the end."""
    plan = Plan(problem.base, problem.origin, Study(()), _COLUMNS)
    with dataset.opened(out, plan) as opened:
        folder = opened.folder
        worker = Worker(plan.base, folder, locked=folder.lock is not None)
        alone = setup.cluster is None and api.threads_of(setup.jobs) == 1
        engine = None if alone else sweeps.start_workers(plan, setup, folder, GENERATION)
        found = Damages(folder, problem.measure, problem.link)
        found.update(repeats_failures=True)
        try:
            yield Evaluator(problem, folder, plan, worker, engine, found, watcher)
        finally:
            if engine is not None:
                engine.close()
            # A copy: kinds of columns are computed once.
            dataset.write_plan(folder, replace(plan))
