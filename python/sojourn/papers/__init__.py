"""Papers reproduced: a folder of `papers/` each, with scenarios, published values and figures.

A folder `papers/some-name` has a file `some_name.py` that offers `PAPER`; `sojourn paper run
some-name` runs its figures and lays what they claim beside what was published.
"""

from sojourn.papers.contract import PaperSummary
from sojourn.papers.lab import Ask, Lab
from sojourn.papers.paper import Claim, Figure, Paper

__all__ = ["Ask", "Claim", "Figure", "Lab", "Paper", "PaperSummary"]
