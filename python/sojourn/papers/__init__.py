"""Reproductions of papers: one folder of `papers/` each, with scenarios and published values.

The folder `papers/some-name` has a file `some_name.py` that defines `PAPER`. `sojourn paper run
some-name` computes its figures and compares its claims with the published values.
"""

from sojourn.papers.contract import PaperSummary
from sojourn.papers.lab import Ask, Lab
from sojourn.papers.paper import Claim, Figure, Paper

__all__ = ["Ask", "Claim", "Figure", "Lab", "Paper", "PaperSummary"]
