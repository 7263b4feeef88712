"""`papers/l4s-prague`: four downloads, and what a pause does."""

import json
from pathlib import Path

import pytest
import qlog_schema
from jsonschema import Draft202012Validator
from sojourn.papers import Claim, Lab, find
from support import ROOT

PLACE = ROOT / "papers"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(PLACE / "l4s-prague", tmp_path, quick=True)


def claims_of(lab: Lab, figure: str) -> dict[str, Claim]:
    """What a figure claims, by its words."""
    return {claim.claim: claim for claim in find.load(PLACE, "l4s-prague").figures[figure].run(lab)}


def test_the_repair_and_early_marks_save_time(lab: Lab) -> None:
    claims = claims_of(lab, "times")
    assert claims["Prague with the repair is faster than New Reno, by"].holds
    saved = claims["the repair saves"].ours
    # Published: 3.7 s before, under 3.5 s after.
    assert isinstance(saved, float)
    assert saved > 0.2
    assert claims["losses of New Reno for each of Prague's, at least"].holds
    assert claims["the floor, nearly reached by the fastest"].holds
    assert lab.pictures == ["times"]


def test_prague_is_nearly_as_fast_as_published(lab: Lab) -> None:
    claims = claims_of(lab, "3")
    ours = claims["Prague with the repair: four files"].ours
    assert isinstance(ours, float)
    # Under 3.5 s, which it misses by less than a round trip (20 ms).
    assert ours < 3.52
    assert claims["Prague with the repair: peaks of the RTT over the least"].holds


def test_a_full_bucket_is_marked_after_a_pause(lab: Lab) -> None:
    claims = claims_of(lab, "idle")
    assert all(claim.holds for claim in claims.values())
    assert (lab.out / "idle.png").stat().st_size > 10_000


def test_every_qlog_keeps_to_the_schema(lab: Lab) -> None:
    claims = claims_of(lab, "qlog")
    unharmed = "the same counts as the run itself has; 0 of its lines cannot be read"
    assert all(claim.why == unharmed for claim in claims.values())
    header = Draft202012Validator(qlog_schema.HEADER)
    data = {name: Draft202012Validator(one) for name, one in qlog_schema.DATA.items()}
    files = sorted((lab.out / "qlog").glob("*/*.sqlog"))
    # Both ends of the downloads and of their requests, for each of the senders.
    assert len(files) == 4 * len(claims)
    for file in files:
        first, *events = [json.loads(text) for text in file.read_text().split("\x1e")[1:]]
        header.validate(first)
        # The first hundreds, and one of each fifty of the thousands that are like them.
        for event in events[:200] + events[200::50]:
            data[event["name"]].validate(event["data"])
