"""Shared helpers of the paper tests."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sojourn_papers import Claim, Lab, runner
from support import ROOT

PAPERS = ROOT / "papers"


def shared(name: str, jobs: int | None = None) -> Callable[[pytest.TempPathFactory], Lab]:
    """Define a module's fixture: the paper's lab, whose simulations all tests of it share."""

    @pytest.fixture(scope="module")
    def simulated(tmp_path_factory: pytest.TempPathFactory) -> Lab:
        return Lab(PAPERS / name, tmp_path_factory.mktemp(name), quick=True, jobs=jobs)

    return simulated


def fresh(simulated: Lab) -> Lab:
    """Return the lab with its simulations, and without the output of other tests."""
    return replace(simulated, pictures=[], notes=[], tables=[])


def claims_of(lab: Lab, figure: str) -> dict[str, Claim]:
    """Run a figure of the lab's paper and return its checked claims by name."""
    paper = runner.load(lab.folder)
    claims = runner.claims_of(paper, lab, figure)
    assert all((lab.out / f"{picture}.png").is_file() for picture in lab.pictures)
    return {claim.claim: claim for claim in claims}
