"""The packet-scale paradigm: the model at any phase, and the claims at packet level."""

import pytest
from paper_claims import PAPERS, claims_of, fresh, shared
from sojourn_papers import Lab, Paper, runner


@pytest.fixture(scope="module")
def paper() -> Paper:
    return runner.load(PAPERS / "packet_scale")


simulated = shared("packet_scale", jobs=2)


@pytest.fixture
def lab(simulated: Lab) -> Lab:
    return fresh(simulated)


def test_the_fluid_system_has_the_models_worst_case(paper: Paper) -> None:
    """Closed forms and 0.1 ms steps at the worst phase give the same result."""
    from papers.packet_scale.cases import LARGE, SMALL
    from papers.packet_scale.fluid import steady

    for case, setting in {**LARGE, **SMALL}.items():
        model = setting.model()
        found = steady(setting, 1.0)
        assert model["case"] == case
        # One step at each of four corners; one corner weighs half of C for 0.1 ms.
        assert found.used == pytest.approx(model["utilisation"], abs=0.001), case
        assert found.delay == pytest.approx(1e3 * model["D_s"], abs=0.2), case


def test_a_perfect_sender_has_the_models_worst_case(paper: Paper, lab: Lab) -> None:
    """The paper prints no values for these settings, but packets must still follow the fluid."""
    from papers.packet_scale.cases import LARGE, SHARE, SMALL, WAIT_MS
    from papers.packet_scale.setting import MODEL_SENDER, Job, measure

    cases = {**LARGE, **SMALL}
    found = measure(lab, [Job(one, MODEL_SENDER, 1) for one in cases.values()])
    for (case, setting), one in zip(cases.items(), found, strict=True):
        model = setting.model()
        assert one.used == pytest.approx(model["utilisation"], abs=SHARE), case
        assert one.delay == pytest.approx(1e3 * model["D_s"], abs=WAIT_MS), case


def test_estimates_are_told_apart_by_time(paper: Paper) -> None:
    """A wrong estimate of a burst counts for the burst; estimates at a turn do not count."""
    from papers.packet_scale.setting import Setting
    from papers.packet_scale.timeline import Timeline
    from papers.packet_scale.validation import estimates_by_time

    # R_on is 400 Mbit/s and the burst ends with a 20 ms queue: signals arrive at 125 and at 245 ms.
    setting = Setting(on=100, off=300, load=100, tau=150, eta=75, rtt=125)
    wait = [(0.0, 0.0), (100.0, 20.0)]
    told = [(127.0, 1.0), (180.0, 900.0), (235.0, 300.0), (247.0, 1.0), (300.0, 800.0)]
    busy, free = estimates_by_time(Timeline([], wait, told), setting)
    assert busy == [1.5, 0.5]
    assert free == [0.8]
    assert estimates_by_time(Timeline([], wait), setting) == ([], [])


def test_departures_count_every_dot(paper: Paper) -> None:
    """A single outlier among three dots shows, for bursts of any size."""
    from papers.packet_scale.setting import AS_PRINTED, Setting
    from papers.packet_scale.sheet import Curve, Sheet, near, used

    small = Setting(on=100, off=350, load=50, tau=50, eta=25)
    great = Setting(on=100, off=200, load=300, tau=50, eta=49)
    curve = Curve("a", "b", {1.0: small, 2.0: small, 3.0: great}, {})
    dots = [(1.0, used(small)), (2.0, used(small) - 0.01), (3.0, used(great) + 0.25)]
    [row] = near(Sheet("x", "", "", [curve], 1), {AS_PRINTED: {("a", "b"): dots}})
    assert row.published is None
    assert row.holds is None
    text = "median 1.00, p95 25.0, maximum 25.0 points (-1.0 to +25.0) over 3"
    assert row.ours == text
    assert "at most half of C: median 0.50" in row.why


def test_figure_6_as_printed_departs_over_time(paper: Paper, lab: Lab) -> None:
    """The utilisation may agree because errors cancel, but the rate over time differs."""
    from papers.packet_scale.cases import FIGURE_6
    from papers.packet_scale.setting import AS_PRINTED, MODEL_SENDER
    from papers.packet_scale.timeline import modelled, simulated
    from papers.packet_scale.validation import course

    model = modelled(FIGURE_6, 1)
    perfect, printed = (
        course("quite well", kind, simulated(lab, FIGURE_6, kind, 1), model)
        for kind in (MODEL_SENDER, AS_PRINTED)
    )
    # With a sender that matches the model's assumptions, packets are the only difference.
    assert perfect.holds
    # The printed filter is exponential, and the model's ramps are linear.
    apart = [float(str(one.ours).removesuffix(" % of C")) for one in (perfect, printed)]
    assert apart[1] > 10 * apart[0]


def test_a_residual_queue_does_not_show(paper: Paper, lab: Lab) -> None:
    found = claims_of(lab, "observation-1")
    exact = str(found["equation 5: the departure gap is (P + B_CT) / C"].ours).split(" of ")
    assert exact[0] == exact[1]
    # Three runs of 0.15 s at 660 Mbit/s have some 8000 packets each, most of which are queued.
    assert int(exact[1]) > 10_000
    assert all(one.holds is not False for one in found.values()), found
    name = "beyond the paper: Rapid's mean estimate, residual queue: {}"
    none, short, long = (found[name.format(one)].ours for one in ("none", "10 ms", "40 ms"))
    # Less than one step of the stream, 4.5 %.
    assert short == pytest.approx(none, rel=0.03)
    assert long == pytest.approx(none, rel=0.03)
    assert lab.pictures == ["observation-1"]


def test_the_rate_answers_a_round_trip_later(paper: Paper, lab: Lab) -> None:
    """Figure 3: RTT 125 ms, T_on 100 ms, and D = 49.95 ms for the end."""
    found = claims_of(lab, "3")
    # The sampling interval is 1 ms, and the current stream takes up to 0.7 ms to finish.
    assert found["rate falls at t0 + RTT"].ours == pytest.approx(125, abs=2)
    assert found["rate rises at t0 + T_on + RTT + D"].ours == pytest.approx(274.95, abs=2)
    # Equation 3: 833.6 Mbit/s; half a stream of delay at each turn is 0.1 % of C.
    assert found["throughput by equation 3"].ours == pytest.approx(833.6, abs=2)
