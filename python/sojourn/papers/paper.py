"""The types that a folder of `papers/` uses: claims, figures and the paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.papers.lab import Lab


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
