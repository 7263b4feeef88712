"""Repeated runs: distinct seeds, correct intervals, and the display of both."""

import json
import re
import statistics
from math import log, sqrt
from pathlib import Path

import pytest
import sojourn
from sojourn.record import stats
from support import Sojourn

# Bulk flows over drop-tail: their losses depend only on their phases.
BULK = """\
title = "Bulk flows over drop-tail"
duration = "10s"
record = {{ interval = "0s" }}
{more}
[link.a]
rate = "12Mbit"
delay = "10ms"
buffer = "30ms"
[link.back]
delay = "10ms"
[flow.f]
count = 2
control = "cubic"
path = ["a"]
back = ["back"]
"""
STILL = 'start_jitter = "0s"\nnoise = "none"\n'


@pytest.fixture
def bulk(tmp_path: Path) -> Path:
    file = tmp_path / "bulk.toml"
    file.write_text(BULK.format(more=""))
    return file


def test_seeds_matter(sojourn: Sojourn, bulk: Path) -> None:
    done = sojourn("run", bulk, "--runs", "10", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    (medians,) = found["medians"]
    assert (medians["runs"], medians["distinct"]) == (10, 10)
    goodput = medians["flows"][0]["goodput_bps"]
    assert (goodput["n"], goodput["distinct"]) == (10, 10)
    assert goodput["low"] < goodput["median"] < goodput["high"]
    assert goodput["mean_low"] < goodput["mean"] < goodput["mean_high"]
    # Each flow starts at a different time within the first round trip.
    starts = {flow["start_s"] for run in found["runs"] for flow in run["flows"]}
    assert len(starts) == 20
    assert all(0 <= start < 20e-3 for start in starts)
    assert max(starts) > 10e-3
    assert sojourn("run", bulk, "--runs", "10", "--json").stdout == done.stdout


def test_either_source_of_noise_is_enough(sojourn: Sojourn, bulk: Path) -> None:
    # A packet takes 1 ms, so 10 us of noise alone do not reorder packets, but stalls of some ms do.
    for start, host in (("1ms", "none"), ("0s", "virtual")):
        noise = ("--set", f"start_jitter={start}", "--set", f"noise={host}")
        done = sojourn("run", bulk, "--runs", "6", *noise, "--json")
        (medians,) = json.loads(done.stdout)["medians"]
        assert medians["distinct"] == 6, (start, host)


def test_what_is_not_random_is_said_to_be_alike(sojourn: Sojourn, bulk: Path) -> None:
    bulk.write_text(BULK.format(more=STILL))
    done = sojourn("run", bulk, "--runs", "10")
    assert done.returncode == 0, done.stderr
    assert "start_jitter above 0s, or noise other than none" in done.stderr
    assert "10 runs, 1 distinct outcome: nothing in this scenario is random" in done.stdout
    assert "10 runs, 1 distinct outcome" in (bulk.parent / "runs/bulk/report.html").read_text()
    found = json.loads((bulk.parent / "runs/bulk/summary.json").read_text())
    assert found["medians"][0]["distinct"] == 1


def test_draws_go_by_name_and_not_by_place() -> None:
    """Reordering two flows does not change their start times."""
    flows = [f'[flow.{name}]\ncontrol = "cubic"\npath = ["a"]\n' for name in ("x", "y")]
    head = 'duration = "1s"\n[link.a]\nrate = "1Mbit"\n'
    starts = [
        {flow["name"]: flow["start_s"] for flow in sojourn.run(run).runs[0]["flows"]}
        for run in map(
            sojourn.Scenario.parse, (head + "".join(flows), head + "".join(reversed(flows)))
        )
    ]
    assert starts[0] == starts[1]
    assert len(set(starts[0].values())) == 2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("start_jitter=10s", ["start_jitter", "10s", "at or after the end of the run"]),
        ("start_jitter=1", ["start_jitter", "unit"]),
        ("noise=loud", ["noise", "idle, process, busy"]),
    ],
)
def test_bad_noise_is_refused(sojourn: Sojourn, bulk: Path, setting: str, words: list[str]) -> None:
    done = sojourn("run", bulk, "--set", setting)
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr


def test_a_ping_takes_the_noise_of_both_hosts() -> None:
    """Each host delays a ping once, so that the RTT grows by the times of two answers."""
    text = """
duration = "60s"
noise = "ns-2"
[link.out]
delay = "20ms"
[link.back]
delay = "20ms"
[flow.ping]
control = "none"
path = ["out"]
back = ["back"]
source = { kind = "ping", interval = "10ms" }
"""
    flow = sojourn.run(sojourn.Scenario.parse(text)).runs[0]["flows"][0]
    least, middle, greatest = flow["rtt_min_s"], flow["rtt_p50_s"], flow["rtt_max_s"]
    assert least is not None
    assert middle is not None
    assert greatest is not None
    # The sum of two uniform draws from [0, 10 us) lies between 0 and 20 us. Bins are 1 % wide.
    assert 0.040 <= least < 0.040001
    assert middle == pytest.approx(0.04001, rel=0.01)
    assert 0.040019 < greatest < 0.04002


# 1000 datagrams of 125 bytes, one per 10 ms; each is lost with p = 0.5.
LOSSY = """
duration = "9995ms"
record = { interval = "0s" }
[link.a]
loss = 0.5
[flow.f]
control = "none"
path = ["a"]
source = { kind = "on-off", rate = "100kbit", on = "1s", off = "0s" }
host = { mss = "125B" }
"""


def test_intervals_cover_a_known_mean() -> None:
    """Of 200 replications of ten runs, 90 to 99 % of the 95 % intervals contain the true mean.

    The mean has a closed form: half of 1000 packets over the time T - J, with the start J uniform
    in [0, 1 ms), so that E[1 / (T - J)] = ln(T / (T - 1 ms)) / 1 ms. The share of such intervals is
    binomial, 95 % +- 1.54 % for 200; 90 and 99 % are 3.2 and 2.6 standard deviations away.
    """
    length, jitter = 9.995, 1e-3
    known = 0.5 * 1000 * 125 * 8 * log(length / (length - jitter)) / jitter
    run = sojourn.run(sojourn.Scenario.parse(LOSSY), runs=2000)
    goodputs = [one["flows"][0]["goodput_bps"] for one in run.runs]
    tens = [goodputs[at : at + 10] for at in range(0, 2000, 10)]
    spreads = [stats.spread(ten) for ten in tens]
    assert all(spread["n"] == 10 for spread in spreads)
    ends = [(spread["mean_low"], spread["mean_high"]) for spread in spreads]
    held = sum(low <= known <= high for low, high in ends if low is not None and high is not None)
    assert 180 <= held <= 198, f"{held} of 200 intervals hold the mean"


@pytest.mark.parametrize(
    ("degrees", "t"),
    # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975.
    [(1, 12.706), (2, 4.303), (5, 2.571), (9, 2.262), (10, 2.228), (30, 2.042), (100, 1.984)],
)
def test_student_s_quantiles(degrees: int, t: float) -> None:
    values = [float(place) for place in range(degrees + 1)]
    around = stats.mean_interval(values)
    assert around is not None
    error = statistics.stdev(values) / sqrt(len(values))
    assert (around[1] - around[0]) / 2 / error == pytest.approx(t, abs=0.0005)


def test_a_single_value_has_no_interval() -> None:
    assert stats.mean_interval([1.0]) is None


MATRIX = ("--controls", "cubic,reno", "--queues", "droptail", "--rtts", "10ms")


def test_matrix_repeats_with_intervals(sojourn: Sojourn) -> None:
    asked = ("matrix", *MATRIX, "--duration", "3s", "--runs", "4")
    done = sojourn(*asked, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["runs"] == 4
    for cell in found["cells"]:
        assert (cell["runs"], len(cell["each"])) == (4, 4)
        assert cell["distinct"] == len({tuple(one["goodput_bps"]) for one in cell["each"]}) > 1
        for place, mean in enumerate(cell["goodput_bps"]):
            values = [one["goodput_bps"][place] for one in cell["each"]]
            assert mean == pytest.approx(sum(values) / 4)
            low, high = cell["intervals"]["goodput_bps"][place]
            assert low < mean < high
            assert (low, high) == pytest.approx(stats.mean_interval(values))
        assert (cell["jain"] is None) == (len(cell["controls"]) == 1)
    shown = sojourn(*asked)
    assert shown.returncode == 0, shown.stderr
    assert "means of 4 runs" in " ".join(shown.stdout.split())
    pair = next(line for line in shown.stdout.splitlines() if "cubic + reno" in line)
    assert re.search(r"\d+\.\d±\d+\.\d\+\d+\.\d±\d+\.\d", pair), pair


def test_a_matrix_of_one_run_has_no_intervals(sojourn: Sojourn) -> None:
    found = json.loads(sojourn("matrix", *MATRIX, "--duration", "2s", "--json").stdout)
    for cell in found["cells"]:
        assert (cell["runs"], cell["distinct"]) == (1, 1)
        assert (cell["intervals"], cell["each"]) == ({}, [])
    assert "±" not in sojourn("matrix", *MATRIX, "--duration", "2s").stdout
