"""Simulations of several scenarios on the engines of sweeps: `matrix` and `paper run`.

Without a dataset, the threads of `experiment` simulate them in memory, without the time that
processes and Polars need to start.
"""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from sojourn import _core, api, experiment
from sojourn.errors import UsageError
from sojourn.experiment import Job
from sojourn.run_directory import File
from sojourn.run_summary import RunSummary
from sojourn.user_controllers import UserControllers

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


class Result(Protocol):
    """A completed run."""

    @property
    def summary(self) -> RunSummary:
        """Its figures, as an entry of `runs` in `sojourn run --json`."""

    def table(self, what: File) -> "pl.DataFrame":
        """Its series or transfers."""


@dataclass(frozen=True)
class Place:
    """The engine of a command's runs, and the dataset that keeps them."""

    jobs: int | None = None
    dataset: str | None = None
    """A folder or URL. If absent, the runs are simulated here and kept in memory."""
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.cluster is not None and self.dataset is None:
            raise UsageError(
                "--cluster needs a --dataset: a folder or URL that all workers can write to"
            )


@dataclass(frozen=True)
class Cells:
    """The jobs of a command, the columns of its points, and the values of each job's point."""

    jobs: Sequence[Job]
    columns: tuple[str, ...]
    values: Sequence[tuple[str, ...]]


def simulate(
    cells: Cells,
    place: Place,
    take: Callable[[Result], T],
    progress: experiment.Progress | None = None,
    base_dir: str = "",
    controllers: UserControllers | None = None,
) -> list[T]:
    """Apply `take` to the result of each job, in the order of the jobs.

    `base_dir` is the folder of the files that the scenarios name, and `controllers` are the user's
    own.
    """
    if place.dataset is None or not cells.jobs:
        threads = api.threads_of(place.jobs)
        return experiment.simulate(cells.jobs, threads, lambda one: take(InMemory(one)), progress)
    from sojourn.sweeps import stored

    return stored.simulate(cells, place, base_dir, controllers, take, progress)


class InMemory:
    """The result of a simulation in this process."""

    def __init__(self, outcome: _core.Outcome) -> None:
        self._outcome = outcome

    @cached_property
    def summary(self) -> RunSummary:
        """Its figures."""
        return cast(RunSummary, json.loads(self._outcome.summary_json()))

    def table(self, what: File) -> "pl.DataFrame":
        """Its series or transfers."""
        import polars as pl

        if what == "transfers":
            data = _core.transfers_parquet([self._outcome])
        else:
            data = _core.series_parquet([self._outcome], what)
        return pl.read_parquet(io.BytesIO(data)) if data else pl.DataFrame()
