"""What `paper run --json` prints and `paper.json` holds: add, never rename."""

from typing import TypedDict


class ClaimSummary(TypedDict):
    """One claim of a figure. `published` is null where the paper has no value for it.

    `holds` says whether ours agrees with what is published, within what `why` says; null where
    there is nothing to agree with.
    """

    claim: str
    published: float | str | None
    ours: float | str | None
    unit: str
    holds: bool | None
    why: str


class FigureSummary(TypedDict):
    """One figure: its pictures stand beside as `NAME.svg` and `NAME.png`."""

    figure: str
    title: str
    pictures: list[str]
    claims: list[ClaimSummary]
    notes: list[str]


class PaperSummary(TypedDict):
    """One paper, as far as it was run."""

    version: str
    paper: str
    title: str
    source: str
    quick: bool
    figures: list[FigureSummary]
