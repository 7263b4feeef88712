"""Tables of a figure and the timing of its live runs, as the JSON of a paper has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

Value = float | int | str | bool | None


@dataclass(frozen=True)
class Table:
    """Measured values: `columns` has the head of each key, and each row a value for each key.

    Keys end in their unit, as all keys of the JSON.
    """

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Value]]


class TableSummary(TypedDict):
    """A table of measured values, with the head of each key of its rows."""

    title: str
    columns: dict[str, str]
    rows: list[dict[str, Value]]


class Timing(TypedDict):
    """The live runs of a figure, and how the machine kept their time.

    A run whose timing was bad (`warning` of its `live`) is repeated up to twice.
    `repeated_runs` counts the repetitions, and `flagged_runs` the runs that stayed bad.
    Latenesses and the stolen time are the greatest of the runs that count. The load averages
    are those of the system over one minute, which include the runs themselves.
    """

    runs: int
    repeated_runs: int
    flagged_runs: int
    lateness_p50_s: float | None
    lateness_p99_s: float | None
    stolen_s: float | None
    load_average_min: float | None
    load_average_max: float | None
    cores: int
