"""The verdict on each change of capacity, and the unavoidable delay of traces."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
import sojourn
from sojourn.cli import main
from sojourn.record import verdicts
from sojourn.record.summary import Summary
from support import ROOT

CELLULAR = ROOT / "scenarios" / "cellular.toml"


def spike(**figures: Any) -> dict[str, Any]:
    """Return a fall from 60 to 20 Mbit/s with a loop delay of 50 ms, and a spike at the bound."""
    return {
        "link": "neck",
        "at_s": 30.0,
        "complete_at_s": 30.0,
        "from_bps": 60e6,
        "to_bps": 20e6,
        "spike_s": 0.1,
        "bound_s": 0.1,
        "excess_s": 0.0,
        "recovery_s": 0.9,
        "queue_delay_before_s": 0.0,
        "carried_loop_bps": 60e6,
        "offered_loop_bps": 60e6,
        "loop_s": 0.05,
        "dropped_to_peak_packets": 0,
        "utilisation_after": 1.0,
        **figures,
    }


def summary(**spikes: dict[str, Any]) -> Summary:
    runs = [
        {"control": name, "seed": 1, "duration_s": 60.0, "flows": [], "links": [], "spikes": [one]}
        for name, one in spikes.items()
    ]
    made = {"format": 2, "scenario": "x", "version": "1", "runs": runs}
    return cast(Summary, made)


def text_of(**spikes: dict[str, Any]) -> str:
    (sentence,) = verdicts.of(summary(**spikes))["sentences"]
    return sentence


def test_one_sentence_has_the_fall_the_bound_and_each_response() -> None:
    late = spike(spike_s=0.256, excess_s=0.156)
    low = spike(bound_s=0.079, excess_s=0.0, carried_loop_bps=51.6e6)
    assert text_of(bbr=late, cubic=low, ideal=spike()) == (
        "At 30 s neck fell from 60 to 20 Mbit/s. 100 ms of queueing delay was unavoidable; bbr "
        "added 156 ms by reacting late, and took 900 ms to recover; ideal met the bound; cubic met "
        "its bound of 79 ms (86 % of the link was in use)."
    )


def test_runs_with_bounds_of_their_own_are_judged_by_them() -> None:
    near = spike(bound_s=0.06, spike_s=0.09, excess_s=0.03)
    assert text_of(far=spike(), near=near) == (
        "At 30 s neck fell from 60 to 20 Mbit/s. 100 ms of queueing delay was unavoidable; near "
        "added 30 ms to its bound of 60 ms by reacting late, and took 900 ms to recover; far met "
        "the bound."
    )


@pytest.mark.parametrize(
    ("figures", "cause", "part"),
    [
        # A queue of 40 ms at 60 Mbit/s takes 120 ms at 20 Mbit/s.
        ({"queue_delay_before_s": 0.04}, "queue", 0.12),
        # 90 Mbit/s for 50 ms is 1.5 Mbit more than the link carried: 75 ms at 20 Mbit/s.
        ({"offered_loop_bps": 90e6, "excess_s": 0.08}, "faster", 0.075),
        ({}, "late", 0.15),
        ({"queue_delay_before_s": None}, None, None),
    ],
)
def test_the_largest_part_of_an_excess_is_its_cause(
    figures: dict[str, Any], cause: str | None, part: float | None
) -> None:
    (verdict,) = verdicts.of(summary(a=spike(**{"excess_s": 0.15, **figures})))["verdicts"]
    (one,) = verdict["controllers"]
    assert one["outcome"] == "above"
    assert one["cause"] == cause
    assert one["cause_s"] == (None if part is None else pytest.approx(part))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"dropped_to_peak_packets": 7}, "because the queue dropped packets"),
        ({"offered_loop_bps": 40e6}, "because senders slowed before they could know"),
        # A drop before the change slowed the senders; one after it saves 0.6 ms.
        (
            {
                "offered_loop_bps": 40e6,
                "dropped_to_peak_packets": 1,
            },
            "because senders slowed before they could know",
        ),
        ({}, "for a reason that was not measured"),
    ],
)
def test_a_spike_below_the_bound_has_its_reason(figures: dict[str, Any], words: str) -> None:
    assert words in text_of(a=spike(excess_s=-0.03, **figures))


def test_a_rise_a_ramp_and_an_outage_have_their_own_words() -> None:
    rise = spike(from_bps=20e6, to_bps=60e6, excess_s=None, utilisation_after=0.9)
    assert "rose from 20 to 60 Mbit/s. A rise builds up no queue: a used 90 %" in text_of(a=rise)
    assert text_of(a=spike(complete_at_s=31.0)).startswith("From 30 s to 31 s neck fell")
    ending = spike(to_bps=0.0, bound_s=None, excess_s=None)
    assert "did not return, so every queueing delay was unavoidable" in text_of(a=ending)
    assert "and did not recover" in text_of(a=spike(excess_s=0.1, recovery_s=None))


def test_the_verdict_says_why_bbr3_may_never_drain_its_queue() -> None:
    lasting = spike(excess_s=0.5, recovery_s=None, utilisation_after=1.0)
    why = (
        "did not recover: each ProbeRTT may keep its old estimate of the bandwidth, "
        "unless max_bw_filter is repaired"
    )
    assert why in text_of(bbr3=lasting)
    assert why not in text_of(bbr=lasting)
    # A link with idle time has no queue that stays.
    assert why not in text_of(bbr3={**lasting, "utilisation_after": 0.9})


def test_the_verdict_names_a_receive_window_that_limits_a_flow() -> None:
    text = """
duration = "20s"
[link.neck]
delay = "50ms"
buffer = "2MB"
[link.neck.rate]
start = "100Mbit"
steps = [{ at = "10s", rate = "50Mbit" }]
[link.back]
delay = "50ms"
[flow.upload]
control = "cubic"
path = ["neck"]
back = ["back"]
host = { receive_window = "1MB" }
"""
    run = sojourn.run(sojourn.Scenario.parse(text))
    (verdict,) = run.summary["verdicts"]
    assert verdict["controllers"][0]["limit"] == "window"
    assert "(the receive window let " in verdict["text"]
    # A window that opens from 64 KiB limits slow start alone.
    wide = sojourn.run(sojourn.Scenario.parse(text.replace("1MB", "20MB", 1)))
    assert wide.summary["verdicts"][0]["controllers"][0]["limit"] is None


def test_of_many_changes_the_greatest_have_sentences() -> None:
    made: Any = summary(a=spike())
    sizes = [0.1 + 0.01 * place for place in range(9)]
    made["runs"][0]["spikes"] = [
        spike(at_s=float(at), complete_at_s=float(at), spike_s=size, excess_s=size - 0.1)
        for at, size in enumerate(sizes)
    ]
    *shown, rest = verdicts.of(made)["sentences"]
    assert [line.split(" neck")[0] for line in shown] == [f"At {at} s" for at in range(4, 9)]
    assert rest == "4 more changes of capacity are in summary.json."


def test_the_verdict_is_in_the_json_the_table_and_the_report(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = small.parent / "out"
    assert main(["run", str(small), "--out", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    (verdict,) = json.loads((out / "summary.json").read_text())["verdicts"]
    assert verdict["text"] in shown
    assert verdict["text"] in (out / "report.html").read_text()
    bounds = {one["spikes"][0]["bound_s"] for one in sojourn.load(out).runs}
    assert verdict["unavoidable_s"] in bounds


def test_a_trace_has_the_delay_that_theory_computes() -> None:
    run = sojourn.run(CELLULAR, control="cubic")
    (found,) = run.summary["unavoidable"]
    # The trace lasts 8 s, and the run three times as long.
    theory = sojourn.theory.trace(ROOT / "scenarios" / "traces" / "cellular.trace", "50ms")
    assert (found["link"], found["loop_s"]) == ("downlink", 0.05)
    assert found["mean_rate_bps"] == pytest.approx(theory["mean_rate_bps"], rel=0.01)
    assert found["queue_delay_max_s"] == pytest.approx(theory["drained"]["max_s"], rel=0.1)
    measured = run.runs[0]["links"][0]["queue_delay_p99_s"] or 0.0
    (own,) = found["controllers"]
    assert own["avoidable_share"] == pytest.approx(1 - found["queue_delay_p99_s"] / measured)
    text = f"{100 * own['avoidable_share']:.0f} % of it avoidable"
    assert text in verdicts.of(run.summary)["sentences"][0]
    assert "unavoidable delay" in run.plot().svg


def test_each_swing_of_a_trace_has_a_bound() -> None:
    run = sojourn.run(CELLULAR, control="cubic")
    falls = [one for one in run.runs[0]["spikes"] if one["to_bps"] < one["from_bps"]]
    # Its period of 8 s has five waves, and one of their falls ends in an outage.
    assert len(falls) >= 9
    assert all(one["bound_s"] is not None for one in falls)
    assert max(one["bound_s"] or 0.0 for one in falls) > 0.5
