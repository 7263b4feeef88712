"""The packet-scale paradigm: the model at any phase, and what is claimed packet by packet."""

from pathlib import Path

import pytest
from sojourn.papers import Claim, Lab, Paper, find
from support import ROOT

PAPERS = ROOT / "papers"


@pytest.fixture(scope="module")
def paper() -> Paper:
    """Loading it also puts its folder among those that can be imported from."""
    return find.load(PAPERS, "packet-scale")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(PAPERS / "packet-scale", tmp_path, quick=True, jobs=2)


def claims(paper: Paper, lab: Lab, figure: str) -> dict[str, Claim]:
    return {one.claim: one for one in paper.figures[figure].run(lab)}


def test_the_fluid_system_has_the_models_worst_case(paper: Paper) -> None:
    """Two ways to the same: closed forms, and steps of 0.1 ms at the phase that they name."""
    from packet_scale_cases import LARGE, SMALL
    from packet_scale_fluid import steady

    for case, setting in {**LARGE, **SMALL}.items():
        model = setting.model()
        found = steady(setting, 1.0)
        assert model["case"] == case
        # A step at each of four corners, of which one is worth half of C for 0.1 ms.
        assert found.used == pytest.approx(model["utilisation"], abs=0.001), case
        assert found.delay == pytest.approx(1e3 * model["D_s"], abs=0.2), case


def test_a_residual_queue_does_not_show(paper: Paper, lab: Lab) -> None:
    found = claims(paper, lab, "observation-1")
    exact = str(found["equation 5: the departure gap is (P + B_CT) / C"].ours).split(" of ")
    assert exact[0] == exact[1]
    # Three runs of 0.15 s at 660 Mbit/s: some 8000 packets each, most of them in a queue.
    assert int(exact[1]) > 10_000
    assert all(one.holds is not False for one in found.values()), found
    assert lab.pictures == ["observation-1"]


def test_the_rate_answers_a_round_trip_later(paper: Paper, lab: Lab) -> None:
    """Figure 3: RTT 125 ms, T_on 100 ms, and D = 49.95 ms for the end."""
    found = claims(paper, lab, "3")
    # Sampled every ms, and up to 0.7 ms until the stream that is leaving is out.
    assert found["rate falls at t0 + RTT"].ours == pytest.approx(125, abs=2)
    assert found["rate rises at t0 + T_on + RTT + D"].ours == pytest.approx(274.95, abs=2)
    # Equation 3: 833.6 Mbit/s; half a stream late at each turn is 0.1 % of C.
    assert found["throughput by equation 3"].ours == pytest.approx(833.6, abs=2)
