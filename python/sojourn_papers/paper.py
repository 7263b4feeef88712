"""The types of a paper: the definitions in its folder, and the JSON of its results.

The JSON is that of `paper run --json` and `paper.json`: changes may add keys but never rename one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from sojourn_papers.form import Form
from sojourn_papers.measured import TableSummary, Timing

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
    stacks: Mapping[str, Figure] = field(default_factory=dict)
    """Figures of `paper run --stack`: a real QUIC stack in virtual time."""
    live_stacks: Mapping[str, Figure] = field(default_factory=dict)
    """Figures of `paper run --stack --live`: the stack over UDP as well."""

    def of(self, form: Form) -> Mapping[str, Figure]:
        """Return the figures of a form."""
        return {
            "figure": self.figures,
            "live figure": self.live,
            "stack figure": self.stacks,
            "live stack figure": self.live_stacks,
        }[form]


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
    """One paper, with the figures that were run.

    `stack` is the QUIC stack of `paper run --stack`, and null otherwise.
    """

    version: str
    paper: str
    title: str
    source: str
    quick: bool
    live: bool
    stack: str | None
    figures: list[FigureSummary]
