"""The execution of a plan: batches sized by time, in this process or in several."""

import time
import uuid
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from sojourn.sweep import plan
from sojourn.sweep.batch import Batch, Done, Part, Worker
from sojourn.sweep.local import Lost
from sojourn.sweep.plan import Plan, Task

# Real time of a batch. It limits the loss by a kill; starting processes takes a third of it.
_BATCH_S = 2.0
# The same for each worker of many: Dask's scheduler needs some 2 ms a task.
_BATCH_A_SLOT_S = 0.005
# Work for this process alone, before others start.
_FIRST_S = 1.0


class Engine(Protocol):
    """Workers that execute batches."""

    @property
    def slots(self) -> int:
        """Number of batches that are executed at the same time."""

    def submit(self, batch: Batch) -> None:
        """Give a batch to an idle worker."""

    @property
    def has_room(self) -> bool:
        """Whether a worker is idle."""

    def wait(self) -> list[Done | Lost]:
        """Wait for the end of batches, for a moment at most."""

    def close(self) -> None:
        """End all workers."""


class Watcher(Protocol):
    """Callback for progress."""

    def __call__(self, done: int, failures: int, total: int) -> None:
        """Report the number of completed runs, those that failed among them, and all."""


@dataclass
class Tally:
    """Counts of an execution."""

    total: int
    done: int = 0
    failures: int = 0
    work_s: float = 0.0
    """Time in batches, summed over workers."""

    def add(self, done: Done) -> None:
        """Count a batch."""
        self.done += done.runs
        self.failures += done.failures
        self.work_s += done.took_s


class Queue:
    """The runs that have not begun, and the sizes of their batches."""

    def __init__(self, given: Plan, tasks: Iterable[Task]) -> None:
        self._plan = given
        self._tasks = deque(tasks)
        self._out: dict[str, list[Task]] = {}
        # Runs that a dead worker had; each is then a batch of its own.
        self._suspects: deque[Task] = deque()
        self._lost: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._tasks or self._suspects)

    @property
    def has_out(self) -> bool:
        """Whether batches are being executed."""
        return bool(self._out)

    def take(self, tally: Tally, slots: int, time_s: float = _BATCH_S) -> Batch:
        """Return the next batch. It has a share of the runs that ends at about the same time."""
        if self._suspects:
            return self._batch([self._suspects.popleft()], time_s)
        mean_s = tally.work_s / tally.done if tally.done else 0.0
        share = max(1, -(-len(self._tasks) // (2 * slots)))
        count = min(share, max(1, int(2 * time_s / mean_s))) if mean_s else share
        return self._batch(
            [self._tasks.popleft() for _ in range(min(count, len(self._tasks)))], time_s
        )

    def end(self, done: Done) -> None:
        """Take back the runs that a batch had no time for."""
        left = self._out.pop(done.name)[done.runs :]
        self._tasks.extendleft(reversed(left))

    def lose(self, lost: Lost) -> bool:
        """Take back the runs of a dead worker; return whether the batch is given up."""
        tasks = self._out.pop(lost.batch.name)
        if len(tasks) == 1:
            key = tasks[0].key
            self._lost[key] = self._lost.get(key, 0) + 1
            if self._lost[key] > 1:
                return True
        self._suspects.extend(tasks)
        return False

    def _batch(self, tasks: list[Task], time_s: float) -> Batch:
        name = uuid.uuid4().hex[:16]
        self._out[name] = tasks
        parts = tuple(
            Part(
                self._plan.points[point].assignments,
                tuple((task.key, task.control, task.seed) for task in group),
                self._plan.points[point].document,
            )
            for point, group in plan.grouped(tasks)
        )
        return Batch(name, parts, time_s)


def execute_here(
    queue: Queue, worker: Worker, tally: Tally, watcher: Watcher, time_s: float
) -> None:
    """Execute runs in this process for a time."""
    began = time.perf_counter()
    while queue and time.perf_counter() - began < time_s:
        done = worker.execute(queue.take(tally, 1, min(time_s, _BATCH_S)))
        queue.end(done)
        tally.add(done)
        watcher(tally.done, tally.failures, tally.total)


def execute(queue: Queue, engine: Engine, worker: Worker, tally: Tally, watcher: Watcher) -> None:
    """Execute all runs on the workers of an engine; `worker` records those that kill a worker."""
    while queue or queue.has_out:
        while queue and engine.has_room:
            slots = engine.slots
            engine.submit(queue.take(tally, slots, max(_BATCH_S, slots * _BATCH_A_SLOT_S)))
        for ended in engine.wait():
            if isinstance(ended, Done):
                queue.end(ended)
                tally.add(ended)
            elif queue.lose(ended):
                tally.add(worker.fail(ended.batch, str(ended)))
        watcher(tally.done, tally.failures, tally.total)


def is_short(queue: Queue, tally: Tally, remaining: int) -> bool:
    """Whether the rest takes less time than processes need to start."""
    mean_s = tally.work_s / tally.done if tally.done else 0.0
    return not queue or remaining * mean_s < _FIRST_S


FIRST_S = _FIRST_S
