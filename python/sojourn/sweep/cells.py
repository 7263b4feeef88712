"""The runs of `matrix` and `paper run`: their jobs, their engine and their results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sojourn.errors import UsageError
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import File
from sojourn.run.experiment import Job

if TYPE_CHECKING:
    import polars as pl


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
    title: str = ""
    """The title of the dataset; by default, that of the first scenario."""
