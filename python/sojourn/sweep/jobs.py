"""Simulations of several scenarios on the engines of sweeps: `matrix` and `paper run`.

Without a dataset, the threads of `experiment` simulate them in memory, without the time that
processes and Polars need to start.
"""

import io
import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from sojourn import _core
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import File
from sojourn.run import api, experiment
from sojourn.sweep.cells import Cells, Place, Result
from sojourn.user.controllers import UserControllers

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


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
    from sojourn.sweep import stored

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
        """Its series, transfers or frames."""
        import polars as pl

        if what == "transfers":
            data = _core.transfers_parquet([self._outcome])
        elif what == "frames":
            data = _core.frames_parquet([self._outcome])
        else:
            data = _core.series_parquet([self._outcome], what)
        return pl.read_parquet(io.BytesIO(data)) if data else pl.DataFrame()
