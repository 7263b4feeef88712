"""Types of `paper run --json` and `paper.json`: changes may add keys but never rename one."""

from typing import TypedDict


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


class FigureSummary(TypedDict):
    """One figure; its pictures are `NAME.svg` and `NAME.png` in the same folder."""

    figure: str
    title: str
    pictures: list[str]
    claims: list[ClaimSummary]
    notes: list[str]


class PaperSummary(TypedDict):
    """One paper, with the figures that were run."""

    version: str
    paper: str
    title: str
    source: str
    quick: bool
    figures: list[FigureSummary]
