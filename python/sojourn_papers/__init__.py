"""Reproductions of papers: one folder of `papers/` each, with scenarios and published values.

The folder `papers/some_name` has a file `paper.py` that defines `PAPER`. `sojourn paper run
some-name` computes its figures and compares its claims with the published values.
"""

from sojourn_papers.lab import Ask, Lab
from sojourn_papers.measured import Table
from sojourn_papers.paper import Claim, Figure, Paper, PaperSummary

__all__ = ["Ask", "Claim", "Figure", "Lab", "Paper", "PaperSummary", "Table"]
