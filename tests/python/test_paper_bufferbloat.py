"""`papers/bufferbloat`: three layers over oversized queues."""

from bisect import bisect_left

import pytest
from paper_claims import claims_of, fresh, shared
from sojourn_papers import Lab

from papers.bufferbloat.runs import hosts

simulated = shared("bufferbloat")


@pytest.fixture
def lab(simulated: Lab) -> Lab:
    return fresh(simulated)


def test_the_layers_agree(lab: Lab) -> None:
    claims = claims_of(lab, "layers")
    published = [claim for claim in claims.values() if claim.published is not None]
    # Means and medians at four sizes, over all recordings.
    assert len(published) == 8
    assert all(isinstance(claim.ours, float) and claim.ours <= 2.0 for claim in published)
    assert all(claim.holds for claim in published)
    # The same for the single recording with the largest difference.
    for size in (10, 100, 200, 300):
        claim = claims[f"{size} kB: worst single recording: means; medians within"]
        mean, median = (float(one.removesuffix(" ms")) for one in str(claim.ours).split("; "))
        # With 180 samples of a sawtooth of 75 ms, the standard error of a median is some 2 ms (1.25
        # of the mean's 75/sqrt(12)/sqrt(180)), so the medians of six layers may differ by up to
        # twice that.
        assert 0 < mean <= 2.0
        assert 0 < median < 4.0


def test_of_figure_4_the_text_says_only_that_rtts_grow(lab: Lab) -> None:
    claims = claims_of(lab, "4")
    assert [claim.claim for claim in claims.values() if claim.holds] == ["RTTs grow with the queue"]
    # 300 kB at 10 Mbit/s, a rate that the paper does not give, and up to an eighth for the other
    # queue.
    greatest = claims["300 kB: maximum RTT"].ours
    assert isinstance(greatest, float)
    assert 238 < greatest < 270


def test_what_the_capture_gives_is_what_the_sender_measured(lab: Lab) -> None:
    for one in (hosts(lab, 300, control) for control in ("cubic", "reno")):
        # The server on A sends the responses to the client on B.
        for host, flow in (("A", "client_b"), ("B", "client_a")):
            own = [1e3 * rtt for rtt in one.run.flow(flow).series["rtt_s"].drop_nulls()]
            passive = sorted(ms for _, ms in one.tcp[host])
            # Requests and responses; some are still in flight at the end.
            assert len(own) >= 175
            assert 2 * len(own) - 2 <= len(passive) <= 2 * len(own) + 2
            # Within a microsecond: captures count nanoseconds, and hosts have no processing time.
            assert all(abs(passive[bisect_left(passive, ms - 1e-3)] - ms) < 2e-3 for ms in own)


def test_the_sawtooth_is_as_high_as_the_queue(lab: Lab) -> None:
    claims = claims_of(lab, "5")
    for name, leaves in (("CUBIC", 0.7), ("Reno", 0.5)):
        high = claims[f"{name}: top of the sawtooth"].ours
        low = claims[f"{name}: bottom of the sawtooth"].ours
        assert isinstance(high, float)
        assert isinstance(low, float)
        # 300 kB at 10 Mbit/s are 240 ms, minus a packet (1.2 ms) that does not fit. The other queue
        # is nearly empty then, and adds up to an eighth.
        assert 238 < high < 270
        # The minimum follows a reduction; the two flows rarely reduce at the same time.
        assert leaves * high - 5 < low < leaves * high + 25
    assert sorted(lab.pictures) == ["figure-5-cubic", "figure-5-reno"]
