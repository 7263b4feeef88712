"""`papers/bufferbloat`: three layers over queues that are too long."""

from bisect import bisect_left
from pathlib import Path

import pytest
from sojourn.papers import Lab, find
from support import ROOT

PLACE = ROOT / "papers"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(PLACE / "bufferbloat", tmp_path, quick=True)


def test_the_layers_agree(lab: Lab) -> None:
    claims = find.load(PLACE, "bufferbloat").figures["layers"].run(lab)
    published = [claim for claim in claims if claim.published is not None]
    # Means and medians at four sizes. With 180 samples of a sawtooth of 75 ms a median is known
    # to some 3 ms (1.25 of the mean's 75/sqrt(12)/sqrt(180)), whatever the layers have in common.
    assert len(published) == 8
    assert all(isinstance(claim.ours, float) and claim.ours < 3.0 for claim in published)
    assert all(claim.holds for claim in published if "means" in claim.claim)


def test_what_the_capture_gives_is_what_the_sender_measured(lab: Lab) -> None:
    figure = find.load(PLACE, "bufferbloat").figures["5"]
    figure.run(lab)
    recordings = [one for one in lab.made() if hasattr(one, "tcp")]
    assert len(recordings) == 2
    for one in recordings:
        # The server on A sends the responses to the client on B.
        for host, flow in (("A", "client_b"), ("B", "client_a")):
            own = [1e3 * rtt for rtt in one.run.flow(flow).series["rtt_s"].drop_nulls()]
            passive = sorted(ms for _, ms in one.tcp[host])
            # Of requests and of responses; some are still on their way at the end.
            assert len(own) >= 175
            assert 2 * len(own) - 2 <= len(passive) <= 2 * len(own) + 2
            # To a microsecond: a capture counts nanoseconds, and no host takes any time.
            assert all(abs(passive[bisect_left(passive, ms - 1e-3)] - ms) < 2e-3 for ms in own)


def test_the_sawtooth_is_as_high_as_the_queue(lab: Lab) -> None:
    claims = {claim.claim: claim for claim in find.load(PLACE, "bufferbloat").figures["5"].run(lab)}
    for name, leaves in (("CUBIC", 0.7), ("Reno", 0.5)):
        high = claims[f"{name}: the sawtooth goes up to"].ours
        low = claims[f"{name}: the sawtooth goes down to"].ours
        assert isinstance(high, float)
        assert isinstance(low, float)
        # 300 kB at 10 Mbit/s are 240 ms, less a packet (1.2 ms) that does not fit; the other
        # queue, nearly empty then, adds up to a twentieth.
        assert 238 < high < 252
        # What a reduction leaves is the least; the two flows seldom reduce at the same moment.
        assert leaves * high - 5 < low < leaves * high + 25
    assert sorted(lab.pictures) == ["figure-5-cubic", "figure-5-reno"]
