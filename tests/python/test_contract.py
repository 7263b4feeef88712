"""The machine-readable output: the keys of `--json`, alone on standard output."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import Sojourn

# The contract: new keys may be added, but none renamed or removed.
RUN = {"control", "seed", "flows", "links", "spikes"}
FLOW = {
    *("name", "control", "goodput_bps", "rtt_min_s", "rtt_p50_s", "rtt_p99_s"),
    *("sent_packets", "retransmitted_packets", "marked_packets", "completion_s"),
}
LINK = {
    *("name", "utilisation", "queue_delay_p50_s", "queue_delay_p99_s", "queue_delay_max_s"),
    *("dropped_packets", "marked_packets"),
}
SPIKE = {
    *("link", "at_s", "from_bps", "to_bps", "spike_s", "bound_s"),
    *("excess_s", "recovery_s"),
}
THEORY = {"r", "delay_s", "spike_s", "lost_fraction", "time_to_peak_s"}
RAPID = {
    *("case", "D_s", "queue_max_bytes", "throughput_bps", "utilisation"),
    *("rate_high_bps", "rate_low_bps", "rate_middle_bps", "course"),
    *("rtt_remainder_s", "rtt_remainder_max_s", "capacity_bps", "burst_bps", "on_s", "off_s"),
}
PERCENTILES = {"p50_s", "p95_s", "p99_s", "max_s"}
TRACE = {"drained", "delay_s", "duration_s", "mean_rate_bps", "worst", "by_delay"}
# Keys that were added later.
RUN_MORE = {"duration_s", "measured_from_s"}
FLOW_MORE = {
    *("base_rtt_s", "rtt_max_s", "dropped_packets", "timeouts"),
    *("completed_transfers", "response_p50_s", "response_p99_s"),
    *("rtt_mean_s", "response_mean_s", "start_s", "rtt_missing_share"),
    *("spurious_retransmissions", "undone_reductions", "host"),
}
LINK_MORE = {
    *("capacity_bps", "arrived_packets", "delivered_packets"),
    *("duplicated_packets", "reordered_packets"),
}
SPIKE_MORE = {
    *("utilisation_before", "utilisation_after", "peak_at_s", "carried_before_bps"),
    *("bound_lost_fraction", "complete_at_s", "queue_delay_before_s"),
    *("loop_s", "carried_loop_bps", "offered_loop_bps", "dropped_to_peak_packets"),
}


def run_json(sojourn: Sojourn, *args: str | Path) -> Any:
    done = sojourn("run", *args, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_run_prints_the_contract_and_nothing_else(sojourn: Sojourn, small: Path) -> None:
    summary = run_json(sojourn, small)
    assert list(summary) == ["format", "scenario", "version", "runs", "verdicts", "picture"]
    assert summary["format"] == 2
    assert summary["scenario"] == str(small)
    assert [one["control"] for one in summary["runs"]] == ["cubic", "dctcp"]
    for one in summary["runs"]:
        assert set(one) == RUN | RUN_MORE
        assert [set(flow) for flow in one["flows"]] == [FLOW | FLOW_MORE]
        assert [set(link) for link in one["links"]] == [LINK | LINK_MORE] * 2
        assert [set(spike) for spike in one["spikes"]] == [SPIKE | SPIKE_MORE]


def test_json_alone_writes_nothing(sojourn: Sojourn, small: Path) -> None:
    run_json(sojourn, small, "--control", "cubic")
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_summary_file_holds_what_json_prints(without_report: Sojourn, small: Path) -> None:
    out = small.parent / "out"
    printed = without_report("run", small, "--json", "--out", out)
    assert printed.returncode == 0, printed.stderr
    assert (out / "summary.json").read_text() == printed.stdout


def test_figures_make_sense_together(sojourn: Sojourn, small: Path) -> None:
    one = run_json(sojourn, small, "--control", "cubic")["runs"][0]
    spike, flow, link = one["spikes"][0], one["flows"][0], one["links"][0]
    assert (spike["link"], spike["at_s"]) == ("bottleneck", 3.0)
    assert (spike["from_bps"], spike["to_bps"]) == (12e6, 6e6)
    # (r - 1) d with r = 2 and d the base RTT of 20 ms.
    assert spike["bound_s"] == pytest.approx(0.020)
    assert spike["excess_s"] == pytest.approx(spike["spike_s"] - spike["bound_s"])
    assert 0 <= spike["bound_lost_fraction"] <= 1
    assert flow["base_rtt_s"] == pytest.approx(0.020)
    assert flow["rtt_min_s"] <= flow["rtt_p50_s"] <= flow["rtt_p99_s"]
    assert flow["rtt_p99_s"] <= flow["rtt_max_s"]
    assert link["queue_delay_p50_s"] <= link["queue_delay_p99_s"] <= link["queue_delay_max_s"]
    # The carried traffic is at most the mean of both capacities.
    assert 0 < flow["goodput_bps"] < 9e6


def test_a_rise_has_no_excess(sojourn: Sojourn, small: Path) -> None:
    rise = "link.bottleneck.rate.steps.0.rate=24Mbit"
    args = ("--control", "cubic", "--set", rise, "--spread", "1s", "--runs", "2")
    summary = run_json(sojourn, small, *args)
    for entry in (*summary["runs"], *summary["medians"]):
        assert entry["spikes"][0]["excess_s"] is None


def test_controls_seeds_and_settings_are_taken(sojourn: Sojourn, small: Path) -> None:
    faster = "link.bottleneck.rate.steps.0.rate=10Mbit"
    summary = run_json(
        sojourn, small, "--control", "reno,cubic", "--seed", "7", "--runs", "2", "--set", faster
    )
    order = [(one["control"], one["seed"]) for one in summary["runs"]]
    assert order == [("reno", 7), ("reno", 8), ("cubic", 7), ("cubic", 8)]
    assert {one["spikes"][0]["to_bps"] for one in summary["runs"]} == {10e6}


def test_runs_give_medians_with_intervals(sojourn: Sojourn, small: Path) -> None:
    summary = run_json(
        sojourn, small, "--control", "cubic", "--runs", "7", "--spread", "1s", "--seed", "1"
    )
    (medians,) = summary["medians"]
    assert (medians["control"], medians["runs"]) == ("cubic", 7)
    goodputs = sorted(one["flows"][0]["goodput_bps"] for one in summary["runs"])
    spread = medians["flows"][0]["goodput_bps"]
    # Seven values: ranks 1 and 7 bound the median with probability 1 - 2/128.
    assert spread["n"] == 7
    assert spread["median"] == goodputs[3]
    assert (spread["low"], spread["high"]) == (goodputs[0], goodputs[6])
    (spike,) = medians["spikes"]
    assert spike["link"] == "bottleneck"
    moments = [one["spikes"][0]["at_s"] for one in summary["runs"]]
    assert min(moments) >= 3.0
    assert max(moments) < 4.0
    assert len(set(moments)) > 1


def test_theory_prints_its_contract(sojourn: Sojourn) -> None:
    asked = ("--from", "60Mbit", "--to", "20Mbit", "--delay", "50ms", "--max-queue", "20ms")
    done = sojourn("theory", "spike", *asked, "--json")
    figures = json.loads(done.stdout)
    assert set(figures) == THEORY
    assert figures["r"] == 3
    # Equation 3: (Q - q) / Q with Q = 100 ms.
    assert figures["lost_fraction"] == pytest.approx(0.8)


def test_theory_of_rapid_prints_its_contract(sojourn: Sojourn, tmp_path: Path) -> None:
    asked = ("--capacity", "1Gbit", "--load", "111Mbit", "--on", "100ms", "--off", "200ms")
    plot = ("--plot", tmp_path / "rapid.svg")
    done = sojourn("theory", "rapid", *asked, "--tau", "200ms", "--eta", "175ms", "--json", *plot)
    figures = json.loads(done.stdout)
    assert set(figures) == RAPID
    # The paper's figure 8 with corrections: docs/theory/rapid.md.
    assert figures["case"] == "S5"
    assert figures["D_s"] == pytest.approx(26.4e-3, abs=0.05e-3)
    assert "case S5" in (tmp_path / "rapid.svg").read_text("utf-8")


def test_theory_of_a_trace_prints_its_contract(sojourn: Sojourn, tmp_path: Path) -> None:
    (tmp_path / "drop.csv").write_text("t,rate\n0,60Mbit\n1,20Mbit\n2,20Mbit\n")
    plot = ("--plot", tmp_path / "drop.svg")
    done = sojourn("theory", "trace", "drop.csv", "--delay", "50ms", "--json", *plot)
    figures = json.loads(done.stdout)
    assert set(figures) == {*PERCENTILES, *TRACE}
    assert set(figures["drained"]) == PERCENTILES
    # One drop gives the bound on the spike, (r - 1) d, for both senders.
    assert figures["max_s"] == pytest.approx(0.1)
    assert figures["drained"]["max_s"] == pytest.approx(0.1)
    assert figures["worst"][0]["at_s"] == pytest.approx(1.05)
    assert [one["delay_s"] for one in figures["by_delay"]] == [0.00625, 0.0125, 0.025, 0.05, 0.1]
    assert "drop.csv" in (tmp_path / "drop.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,60Mbit\n1,x\n", "line 2"),
        ("0,60Mbit\n1,0\n", "ends without capacity"),
        ("3\n2\n", "2 ms is less than the 3 ms before it"),
        ("", "is empty"),
    ],
)
def test_a_malformed_trace_is_refused(
    sojourn: Sojourn, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "trace").write_text(text)
    done = sojourn("theory", "trace", "trace", "--delay", "50ms")
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("what", "more"), [("controllers", "needs"), ("queues", "default_packets")]
)
def test_listings_say_everything(sojourn: Sojourn, what: str, more: str) -> None:
    entries = json.loads(sojourn(what, "--json").stdout)
    assert entries
    for entry in entries:
        assert {"name", "title", "source", "params", more} <= set(entry)
        for param in entry["params"]:
            assert {"name", "default", "unit", "range", "doc", "source"} <= set(param)
            assert param["doc"]
            assert param["source"]
            # The greatest number of bytes is a limit that is off.
            assert not param["default"].startswith("18446744073")


def test_series_have_their_columns(without_report: Sojourn, small: Path) -> None:
    import polars as pl

    assert without_report("run", small, "--out", "out").returncode == 0
    flows = pl.read_parquet(small.parent / "out" / "flows.parquet")
    links = pl.read_parquet(small.parent / "out" / "links.parquet")
    assert set(flows.columns) >= {
        *("control", "seed", "flow", "t_s", "cwnd_bytes", "in_flight_bytes", "ssthresh_bytes"),
        *("srtt_s", "rtt_s", "min_rtt_s", "pacing_bps", "goodput_bps", "delivered_bytes"),
        *("lost_packets", "retransmitted_packets", "marked_packets", "phase", "alpha"),
        "bandwidth_bps",
        "response_s",
    }
    assert set(links.columns) >= {
        *("control", "seed", "link", "t_s", "capacity_bps", "carried_bps", "queue_bytes"),
        *("queue_packets", "queue_delay_s", "dropped_packets", "marked_packets"),
    }
    assert set(flows["control"].unique()) == {"cubic", "dctcp"}
