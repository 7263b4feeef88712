"""Shared helpers of the paper tests."""

from sojourn_papers import Claim, Lab, runner
from support import ROOT

PAPERS = ROOT / "papers"


def claims_of(lab: Lab, figure: str) -> dict[str, Claim]:
    """Run a figure of the lab's paper and return its checked claims by name."""
    paper = runner.load(lab.folder)
    claims = runner.claims_of(paper, lab, figure)
    assert all((lab.out / f"{picture}.png").is_file() for picture in lab.pictures)
    return {claim.claim: claim for claim in claims}
