"""`sojourn theory`: several flows, users, mitigations, random links, and fits."""

import json
import signal
from pathlib import Path

import pytest
from sojourn import theory
from support import Sojourn

DROP = ("theory", "spike", "--from", "60Mbit", "--to", "20Mbit")
ONE = (*DROP, "--delay", "50ms")
# 864 million steps per day need 14 GB for the capacity alone.
FINE = ("theory", "trace", "--process", "cellular,tick=100us")
SPIKE = {"r", "delay_s", "spike_s", "lost_fraction", "time_to_peak_s"}
PERCENTILES = {"p50_s", "p95_s", "p99_s", "max_s"}
TRACE = PERCENTILES | {"drained", "delay_s", "duration_s", "mean_rate_bps", "worst", "by_delay"}


def test_several_flows_weigh_by_their_shares(sojourn: Sojourn) -> None:
    done = sojourn(*DROP, "--delay", "20ms,100ms", "--share", "3,1", "--json")
    found = json.loads(done.stdout)
    assert set(found) == SPIKE
    # (0.75 x 20 + 0.25 x 100) ms x (3 - 1); the signal reaches the distant flow last.
    assert found["spike_s"] == pytest.approx(0.080)
    assert found["time_to_peak_s"] == pytest.approx(0.100)
    assert (
        "3 x 20ms + 1 x 100ms" in sojourn(*DROP, "--delay", "20ms,100ms", "--share", "3,1").stdout
    )


def test_users_of_a_fair_queue(sojourn: Sojourn) -> None:
    asked = ("theory", "spike", "--from", "60Mbit", "--users", "1,3", "--delay", "50ms")
    assert json.loads(sojourn(*asked, "--json").stdout)["r"] == 3
    assert "of a user 60Mbit / 1 -> 60Mbit / 3, r = 3" in sojourn(*asked).stdout


def test_the_mitigations_are_a_table(sojourn: Sojourn, tmp_path: Path) -> None:
    plot = ("--plot", str(tmp_path / "spike.svg"))
    done = sojourn(*ONE, "--mitigations", "headroom=0.2,ramp=100ms", *plot, "--json")
    found = json.loads(done.stdout)
    assert set(found) == SPIKE | {"mitigations"}
    after = {one["name"]: (one["setting"], one["after_s"]) for one in found["mitigations"]}
    # (0.8 x 3 - 1) x 50 ms; 2 x 50^2 / (2 x 100) ms.
    assert after["headroom"] == ("0.2", pytest.approx(0.070))
    assert after["ramp"] == ("100ms", pytest.approx(0.025))
    assert len(after) == 8
    drawn = (tmp_path / "spike.svg").read_text()
    assert "signal at dequeue" in drawn
    shown = sojourn(*ONE, "--mitigations").stdout
    assert "headroom               100 ms     85 ms  0.1 of the capacity left unused" in shown


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((*DROP[:4], "--delay", "50ms"), "--to is missing"),
        ((*DROP, "--delay", "20ms,100ms", "--share", "1"), "2 delays and 1 shares"),
        ((*DROP, "--delay", "20ms,100ms", "--share", "1,-1"), "a share of -1"),
        ((*DROP, "--delay", "20ms,100ms", "--share", "1,x"), "'x' is not a number"),
        ((*ONE, "--users", "1"), "is not two numbers of users"),
        ((*ONE, "--users", "0,1"), "users change from 0 to 1"),
        ((*ONE, "--mitigations", "headroom=2"), "2 is not a share of the capacity from 0 to 1"),
        ((*ONE, "--mitigations", "near=1s"), "longer than the loop delay d = 50ms"),
        ((*ONE, "--mitigations", "hope=1"), "there is no mitigation `hope`"),
        (("theory", "trace", "--delay", "40ms"), "give a FILE, or --process"),
        (("theory", "trace", "--process", "lte", "--delay", "40ms"), "there are: wifi, cellular"),
        (
            ("theory", "trace", "--process", "wifi", "--fit", "--delay", "40ms"),
            "--fit needs a FILE",
        ),
        (
            ("theory", "trace", "x", "--seed", "1", "--delay", "40ms"),
            "--seed needs --process or --fit",
        ),
        (
            (*FINE, "--duration", "86400s", "--delay", "40ms"),
            "a duration of 500s, or steps that last",
        ),
    ],
)
def test_what_a_model_does_not_assume_is_refused(
    sojourn: Sojourn, asked: tuple[str, ...], expected: str
) -> None:
    done = sojourn(*asked)
    assert done.returncode == 2
    assert expected in done.stderr


def test_a_link_at_random_prints_its_contract(sojourn: Sojourn, tmp_path: Path) -> None:
    asked = ("theory", "trace", "--process", "wifi,snr=15", "--duration", "20s", "--delay", "40ms")
    found = json.loads(sojourn(*asked, "--json").stdout)
    assert set(found) == TRACE
    assert found["drained"]["p99_s"] <= found["p99_s"]
    assert json.loads(sojourn(*asked, "--seed", "2", "--json").stdout) != found
    plot = ("--plot", str(tmp_path / "wifi.svg"))
    assert "the process wifi,snr=15" in sojourn(*asked, *plot).stdout
    assert (tmp_path / "wifi.svg").is_file()


def test_a_long_calculation_hears_that_the_user_has_had_enough() -> None:
    """Signals come every 20 ms; without a handler call before the end, they coalesce into one."""
    heard = 0

    class EnoughError(Exception):
        pass

    def enough(_signal: int, _frame: object) -> None:
        nonlocal heard
        heard += 1
        if heard == 3:
            raise EnoughError

    before = signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        with pytest.raises(EnoughError):
            theory.process("cellular", "40ms", params={"tick": "100us"}, duration="100s")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_fit_shows_what_it_keeps(sojourn: Sojourn, tmp_path: Path) -> None:
    rows = [f"{place / 100:.2f},{30 if place % 7 < 4 else 10}Mbit" for place in range(1001)]
    (tmp_path / "measured.csv").write_text("\n".join(rows))
    asked = ("theory", "trace", "measured.csv", "--fit", "--levels", "2", "--delay", "40ms")
    found = json.loads(sojourn(*asked, "--json").stdout)
    assert set(found) == TRACE | {"fitted"}
    fitted = found["fitted"]
    assert fitted["rates_bps"] == [10_000_000, 30_000_000]
    # Of seven consecutive intervals, four are high, and one of these is the last.
    assert fitted["moves"][1][0] == pytest.approx(1 / 4, abs=0.01)
    assert "chain fitted to measured.csv" in sojourn(*asked).stdout


def test_no_loop_has_no_delay(sojourn: Sojourn, tmp_path: Path) -> None:
    (tmp_path / "drop.csv").write_text("0,60Mbit\n1,20Mbit\n2,20Mbit\n")
    found = json.loads(sojourn("theory", "trace", "drop.csv", "--delay", "0ms", "--json").stdout)
    assert [one["delay_s"] for one in found["by_delay"]] == [0]
    assert (found["max_s"], found["worst"]) == (0, [])


def test_the_api() -> None:
    assert theory.spike("60Mbit", "20Mbit", ["20ms", "100ms"], shares=[3, 1])["spike_s"] == 0.08
    with pytest.raises(TypeError, match="delay is"):
        theory.spike("60Mbit", "20Mbit", 0.05)  # type: ignore[arg-type]
    found = theory.process("cellular", "40ms", params={"sigma": "1Mbit"}, duration="5s")
    assert found["duration_s"] == 5
