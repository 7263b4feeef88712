"""What a folder of `papers/` offers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.papers.lab import Lab


@dataclass(frozen=True)
class Claim:
    """What a paper says, what is measured here, and what differs and why.

    `published` is None where it goes beyond the paper; `holds` is None there, and nowhere else.
    Numbers are in `unit`.
    """

    claim: str
    published: float | str | None
    ours: float | str | None
    unit: str = ""
    holds: bool | None = None
    why: str = ""


Run = Callable[["Lab"], list[Claim]]
"""Runs what a figure needs, draws it, and says what holds."""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper."""

    title: str
    run: Run


@dataclass(frozen=True)
class Paper:
    """A paper: its figures by their names, in its order."""

    title: str
    source: str
    """Authors, where and when."""
    figures: Mapping[str, Figure]
