"""Any source is explained, and the same run gives the same path by every export."""

import json
from pathlib import Path
from typing import Any

import pytest
import sojourn
from sojourn.cli import main
from sojourn.errors import UsageError
from support import ROOT

SCENARIO = """
title = "an upload"
duration = "12s"

[link.up]
rate = "10Mbit"
delay = "10ms"
buffer = "100kB"

[link.down]
delay = "10ms"

[flow.upload]
path = ["up"]
back = ["down"]
control = "cubic"
source = "bulk"
"""


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run the scenario once, with all exports."""
    place = tmp_path_factory.mktemp("explain")
    (place / "up.toml").write_text(SCENARIO)
    exported = [("--out", "run"), ("--pcapng", "packets"), ("--qlog", "events")]
    options = [part for option, name in exported for part in (option, str(place / name))]
    assert main(["run", str(place / "up.toml"), *options]) == 0
    return {
        "capture": next(place.glob("packets/*.sender.pcapng")),
        "qlog": next(place.glob("events/*.sender.sqlog")),
        "run": place / "run",
    }


@pytest.fixture(scope="module")
def paths(exports: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Explain each export, without cures."""
    return {kind: sojourn.explain(file, cures=False) for kind, file in exports.items()}


@pytest.mark.parametrize("kind", ["capture", "qlog", "run"])
def test_every_export_of_a_run_shows_the_same_path(
    paths: dict[str, dict[str, Any]], kind: str
) -> None:
    found = paths[kind]
    assert found["source"] == kind
    rates = [piece["rate_bps"] for piece in found["path"]["capacity"]]
    # Windows of a fifth of a second have whole packets at both edges: 1 in 170 of them. The samples
    # of a run are 10 ms apart, with as much at their edges.
    assert rates == [pytest.approx(10e6, rel=0.01)]
    # qlog names no header sizes, so that the length of TCP's options is an average; the samples of
    # a run begin with the least round trip, which includes the packet's own 1.2 ms.
    assert found["path"]["base_rtt_s"] == pytest.approx(0.02, abs=0.0015)
    assert found["flows"][0]["goodput_bps"] == pytest.approx(
        paths["capture"]["flows"][0]["goodput_bps"], rel=0.01
    )
    # The greatest round trip of 10 ms stands for all of them in a run's samples.
    assert found["flows"][0]["rtt_p50_s"] == pytest.approx(
        paths["capture"]["flows"][0]["rtt_p50_s"], rel=0.03
    )


def test_packets_show_the_buffer_and_samples_do_not(paths: dict[str, dict[str, Any]]) -> None:
    for kind in ("capture", "qlog"):
        # The queue is full within a few packets of each loss.
        assert paths[kind]["path"]["buffer_bytes"] == pytest.approx(100e3, rel=0.1)
    assert paths["run"]["path"]["buffer_bytes"] is None
    assert any("no times of" in line for line in paths["run"]["unsure"])


def test_a_named_controller_is_known(paths: dict[str, dict[str, Any]]) -> None:
    assert paths["run"]["flows"][0]["named_controller"] == "cubic"
    assert paths["capture"]["flows"][0]["named_controller"] is None


def test_the_command_prints_what_the_function_returns(
    exports: dict[str, Path], paths: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(exports["qlog"]), "--json", "--no-cures"]) == 0
    assert json.loads(capsys.readouterr().out) == paths["qlog"]


def test_a_twin_is_compared_with_its_capture_and_drawn(
    exports: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    file = str(exports["capture"])
    options = ["--no-cures", "--out", "twin.toml", "--report", "report.html"]
    assert main(["explain", file, *options]) == 0
    page = Path("report.html").read_text()
    assert "capacity" in page
    assert "twin" in page
    assert main(["run", "twin.toml", "--out", "twin"]) == 0
    capsys.readouterr()
    assert main(["compare", file, "twin", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    [flow] = compared["flows"]
    goodput = flow["goodput_bps"]
    # The fit of a good twin is within a tenth.
    assert goodput["b"] == pytest.approx(goodput["a"], rel=0.1)


def test_cures_are_a_table_whose_commands_name_a_twin_that_exists(
    exports: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    file = str(exports["capture"])
    assert main(["explain", file, "--report", "report.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"First write the twin: sojourn explain {file} --out twin.toml" in lines
    place = next(k for k, line in enumerate(lines) if "as it is" in line)
    assert lines[place - 1].split() == ["change", "median", "p99", "goodput"]
    # The first change is one of the queue, which its owner can make alone.
    command = lines[place + 2].strip()
    assert command.startswith("sojourn run twin.toml --set 'link.bottleneck.")
    page = Path("report.html").read_text()
    assert "as it is" in page
    assert f"sojourn explain {file} --out twin.toml &amp;&amp; sojourn run twin.toml" in page
    assert main(["explain", file, "--out", "own.toml"]) == 0
    shown = capsys.readouterr().out
    assert "First write" not in shown
    assert command.replace("twin.toml", "own.toml") in shown


def test_other_content_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.pcap"
    file.write_text("a packet is not here\n")
    assert main(["explain", str(file)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    for kind in ("pcapng", "qlog", "Flent", "iperf3", "ss -ti", "run directory"):
        assert kind in line
    with pytest.raises(UsageError, match="run directory"):
        sojourn.explain(file)


def test_a_twin_that_was_asked_for_and_not_found_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # A short capture shows no capacity.
    assert main(["explain", str(ROOT / "tests/captures/ipv6.pcapng"), "--out", "own.toml"]) in (
        0,
        2,
    )
    assert "own.toml is not written: there is no twin" in capsys.readouterr().err
    assert not Path("own.toml").exists()
