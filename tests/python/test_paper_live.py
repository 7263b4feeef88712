"""`sojourn paper run NAME --live` at its smallest size, where this machine allows live runs."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import sojourn as package
from paper_claims import PAPERS
from sojourn_papers import Lab, PaperSummary, runner
from sojourn_papers.live_runs import LiveRuns
from support import ROOT, Sojourn, command, environment, kernel_lock, leave_out_live
from test_bad_input import refused


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder; skip the tests on a machine without live runs."""
    scenario = ROOT / "scenarios" / "testbed.toml"
    try:
        package.live(scenario, "cubic", set={"duration": "100ms", "link.bottleneck.rate": "60Mbit"})
    except package.LiveError as error:
        leave_out_live(error)
    return tmp_path_factory.mktemp("papers")


def run(name: str, out: Path, ipv6: bool = False, figures: list[str] | None = None) -> PaperSummary:
    """Run these live figures of a paper, or all, at the smallest size."""
    out.mkdir()
    folder = PAPERS / name
    lab = Lab(folder, out, quick=True, live_runs=LiveRuns(ipv6, 1))
    paper = runner.load(folder)
    found = runner.run(paper, lab, figures or list(paper.live))
    for figure in found["figures"]:
        assert all((out / f"{picture}.png").is_file() for picture in figure["pictures"])
        for table in figure["tables"]:
            assert all(row.keys() == table["columns"].keys() for row in table["rows"])
    assert found["live"]
    assert (out / "paper.json").is_file()
    return found


def rows(found: PaperSummary) -> list[dict[str, Any]]:
    """Return the rows of all tables of measured values."""
    return [
        row for figure in found["figures"] for table in figure["tables"] for row in table["rows"]
    ]


def test_spikes_of_real_hosts_are_beside_their_bound(place: Path) -> None:
    found = run("latency_spike", place / "spikes")
    (figure,) = found["figures"]
    assert figure["pictures"] == ["spikes-live"]
    assert figure["timing"]["runs"] == 2
    cubic, lola = rows(found)
    assert (cubic["control"], cubic["stack"]) == ("cubic", "kernel")
    assert (lola["control"], lola["stack"]) == ("lola", "udp")
    for row in (cubic, lola):
        # (r - 1) d, with the delay of the data's path, and r = 2.
        assert row["bound_ms"] == pytest.approx(25.2)
        assert row["bound_corrected_ms"] <= row["bound_ms"]
        assert 0 <= row["spike_min_ms"] == row["spike_median_ms"] == row["spike_max_ms"]
        excess = row["spike_min_ms"] - row["bound_corrected_ms"]
        assert row["excess_min_ms"] == pytest.approx(excess)
        assert row["is_at_or_above"] == (excess >= 0)
        assert 0 <= row["simulated_p5_ms"] <= row["simulated_median_ms"] <= row["simulated_p95_ms"]


@pytest.mark.parametrize("ipv6", [False, True])
def test_live_layers_measure_the_same_path(place: Path, ipv6: bool) -> None:
    found = run("bufferbloat", place / f"layers{ipv6:d}", ipv6)
    assert [one["figure"] for one in found["figures"]] == ["4", "5", "layers"]
    # The figures share their runs: one for each of two queues.
    assert [one["timing"]["runs"] for one in found["figures"]] == [2, 0, 0]
    measured = {(row["queue_bytes"], row["layer"], row["host"]): row for row in rows(found)}
    for size in (10_000, 100_000):
        for host in ("A", "B"):
            for layer in ("ICMP", "TCP", "application", "links"):
                row = measured[size, layer, host]
                assert row["samples"] > 0
                # The delay of both links.
                assert row["min_ms"] >= 0.5
                assert row["simulated_min_ms"] >= 0.5
            assert measured[size, "TCP_INFO", host]["samples"] > 0
            whole, links = (measured[size, layer, host] for layer in ("ICMP", "links"))
            # A host takes time to answer, and to read the answer.
            if whole["samples"] == links["samples"]:
                assert links["mean_ms"] <= whole["mean_ms"]


@pytest.mark.parametrize("figure", ["6", pytest.param("8", marks=pytest.mark.long)])
def test_rapid_over_udp_is_beside_its_model(place: Path, figure: str) -> None:
    found = run("packet_scale", place / f"rapid{figure}", figures=[figure])
    assert [one["figure"] for one in found["figures"]] == [figure]
    assert found["figures"][0]["timing"]["runs"] == 1
    (row,) = rows(found)
    # The link carries at most its rate, up to one packet in the measured time.
    for key in ("utilisation_median", "simulated_utilisation", "model_utilisation"):
        assert 0.1 < row[key] < 1.001
    assert row["utilisation_min"] == row["utilisation_median"] == row["utilisation_max"]
    assert 0 < row["delay_min_ms"] == row["delay_median_ms"] == row["delay_max_ms"]
    # The paper's closed forms of figure 6, at a tenth of the rate.
    if figure == "6":
        assert row["model_utilisation"] == pytest.approx(0.903, abs=0.001)
        assert row["model_delay_ms"] == pytest.approx(49.95, abs=0.2)
    else:
        assert row["model_utilisation"] > 0.904


@pytest.mark.parametrize(
    "runs",
    [
        # Figures 4a and 4b share a run.
        {"4a": 1, "4b": 0, "6": 1},
        pytest.param({"4a": 1, "4b": 0, "4c": 1, "4d": 1, "6": 1}, marks=pytest.mark.long),
    ],
    ids=len,
)
def test_lola_in_the_kernel_is_beside_its_simulation(place: Path, runs: dict[str, int]) -> None:
    with kernel_lock():
        try:
            found = run("lola", place / f"lola{len(runs)}", figures=list(runs))
        except package.LiveError as error:
            leave_out_live(error)
    assert {one["figure"]: one["timing"]["runs"] for one in found["figures"]} == runs
    for row in rows(found):
        for key in ("utilisation", "simulated_utilisation"):
            assert 0.1 < row[key] < 1.001
        for key in ("jain", "simulated_jain"):
            assert 0 < row[key] <= 1
        assert 0 <= row["queue_p50_ms"] <= row["queue_p99_ms"]


def test_without_privilege_a_paper_writes_nothing(place: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is missing, which drops privileges")
    unprivileged = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--clear-groups"]
    papers = ROOT / "papers"
    args = command("paper", "run", "bufferbloat", "--live", "--quick", "--papers", papers)
    done = subprocess.run(
        [*unprivileged, *args], cwd=place, env=environment(), capture_output=True, text=True
    )
    refused(done, "cannot create a user namespace", "run as root")
    assert done.stderr.count("\n") == 1
    assert not (place / "runs" / "paper-bufferbloat-live").exists()


def test_a_paper_without_live_figures_is_refused(sojourn: Sojourn, tmp_path: Path) -> None:
    papers = ROOT / "papers"
    refused(
        sojourn("paper", "run", "l4s-prague", "--live", "--papers", papers),
        "l4s-prague has no live figures",
        "latency-spike",
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("option", [["--ipv6"], ["--runs", "2"]])
def test_options_of_live_runs_need_live(sojourn: Sojourn, option: list[str]) -> None:
    papers = ROOT / "papers"
    done = sojourn("paper", "run", "latency-spike", *option, "--papers", papers)
    refused(done, option[0], "add --live")
