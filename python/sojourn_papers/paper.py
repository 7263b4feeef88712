"""The types of a paper: the definitions in its folder, and the JSON of its results.

The JSON is that of `paper run --json` and `paper.json`: changes may add keys but never rename one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from sojourn_papers.lab import Lab


@dataclass(frozen=True)
class Claim:
    """A published value, our value, and the reason for their difference.

    `published` is None for results beyond the paper; exactly then, `holds` is None too. Numbers are
    in `unit`.
    """

    claim: str
    published: float | str | None
    ours: float | str | None
    unit: str = ""
    holds: bool | None = None
    why: str = ""


Run = Callable[["Lab"], list[Claim]]
"""Simulates and draws a figure, and returns its claims."""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper."""

    title: str
    run: Run


@dataclass(frozen=True)
class Paper:
    """A paper, with its figures by name, in the paper's order."""

    title: str
    source: str
    """Authors, venue and year."""
    figures: Mapping[str, Figure]
    live: Mapping[str, Figure] = field(default_factory=dict)
    """Figures of `paper run --live`: real hosts over real links."""


Value = float | int | str | bool | None


@dataclass(frozen=True)
class Table:
    """Measured values: `columns` has the head of each key, and each row a value for each key.

    Keys end in their unit, as all keys of the JSON.
    """

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Value]]


class ClaimSummary(TypedDict):
    """One claim of a figure. `published` is null if the paper has no value for it.

    `holds` states whether our value agrees with the published one, within the tolerance that `why`
    gives. It is null if `published` is null.
    """

    claim: str
    published: float | str | None
    ours: float | str | None
    unit: str
    holds: bool | None
    why: str


class TableSummary(TypedDict):
    """A table of measured values, with the head of each key of its rows."""

    title: str
    columns: dict[str, str]
    rows: list[dict[str, Value]]


class Timing(TypedDict):
    """The live runs of a figure, and how the machine kept their time.

    A run whose timing was bad (docs/live.md) is repeated up to twice. `repeated_runs` counts the
    repetitions, and `flagged_runs` the runs that stayed bad. Latenesses and the stolen time are the
    greatest of the runs that count. The load averages are those of the system over one minute,
    which include the runs themselves.
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


class _Live(TypedDict, total=False):
    timing: Timing


class FigureSummary(_Live):
    """One figure; its pictures are `NAME.svg` and `NAME.png` in the same folder.

    `timing` is present if it was run live.
    """

    figure: str
    title: str
    pictures: list[str]
    claims: list[ClaimSummary]
    tables: list[TableSummary]
    notes: list[str]


class PaperSummary(TypedDict):
    """One paper, with the figures that were run."""

    version: str
    paper: str
    title: str
    source: str
    quick: bool
    live: bool
    figures: list[FigureSummary]
