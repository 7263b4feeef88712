"""`sojourn run --pcapng`: capture files, checked with tshark."""

import json
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import sojourn
from support import Sojourn, command, environment

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

LOSSY = """\
duration = "5s"

[link.bottleneck]
rate   = "10Mbit"
delay  = "10ms"
buffer = "60ms"
loss   = 0.002

[link.back]
delay = "15ms"

[flow.upload]
control   = "{control}"
path      = ["bottleneck"]
back      = ["back"]
host = "{host}"
"""


def tshark(file: Path, *args: str) -> list[list[str]]:
    """Run tshark and split its output into lines and fields."""
    done = subprocess.run(
        ["tshark", "-r", file, *args], capture_output=True, text=True, check=True, timeout=300
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def fields(file: Path, where: str, *names: str) -> list[list[str]]:
    asked = [arg for name in names for arg in ("-e", name)]
    return tshark(file, "-Y", where, "-T", "fields", *asked)


def captured(tmp_path: Path, scenario: str) -> tuple[Any, Path, Path]:
    """Return the flow's summary, and the files of its sender and its receiver."""
    source = tmp_path / "it.toml"
    source.write_text(scenario)
    run = sojourn.run(source, pcapng=tmp_path / "captures")
    files = sorted((tmp_path / "captures").iterdir())
    assert [file.name for file in files] == ["run-1.receiver.pcapng", "run-1.sender.pcapng"]
    return run.runs[0]["flows"][0], files[1], files[0]


@needs_tshark
@pytest.mark.parametrize("control", ["reno", "cubic", "prague"])
def test_tshark_sees_the_losses_of_the_run(tmp_path: Path, control: str) -> None:
    flow, sender, receiver = captured(tmp_path, LOSSY.format(control=control, host="rfc"))
    sent = fields(sender, "tcp.len > 0", "tcp.seq", "frame.len")
    assert len(sent) == flow["sent_packets"]
    assert {size for _, size in sent} == {"1500"}
    again = len(sent) - len({seq for seq, _ in sent})
    assert again == flow["retransmitted_packets"] > 0
    # tshark also recognises each repeated segment: as a retransmission, or as out of order if it
    # arrives within a few ms of the segment that overtook it.
    seen = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    assert len(fields(sender, f"({seen}) && tcp.len > 0", "frame.number")) == again
    arrived = fields(receiver, "tcp.len > 0", "tcp.seq")
    under_way = len(sent) - flow["dropped_packets"] - len(arrived)
    # 10 Mbit/s hold little more than 70 packets in 85 ms.
    assert 0 <= under_way < 80


@needs_tshark
@pytest.mark.parametrize("host", ["rfc", "quic"])
def test_nothing_is_malformed(tmp_path: Path, host: str) -> None:
    _, *files = captured(tmp_path, LOSSY.format(control="reno", host=host))
    for file in files:
        checked = ("-o", "ip.check_checksum:TRUE")
        bad = "_ws.malformed || ip.checksum.status == 0 || _ws.expert.severity >= 0x00800000"
        assert tshark(file, *checked, "-Y", bad) == []


@needs_tshark
def test_passive_round_trips_are_those_of_the_run(tmp_path: Path) -> None:
    scenario = LOSSY.format(control="reno", host="rfc").replace("loss   = 0.002", "")
    scenario = scenario.replace("60ms", "10s")
    flow, sender, _ = captured(tmp_path, scenario)
    rows = fields(sender, "tcp.analysis.ack_rtt", "tcp.analysis.ack_rtt")
    rtts = sorted(float(row[0]) for row in rows)
    assert flow["retransmitted_packets"] == 0
    # Both measure by the last packet that an acknowledgement covers. The run's percentiles come
    # from a histogram with a resolution of 0.2 %.
    assert rtts[0] == pytest.approx(flow["rtt_min_s"], abs=1e-6)
    assert median(rtts) == pytest.approx(flow["rtt_p50_s"], rel=0.003)
    assert rtts[-1] == pytest.approx(flow["rtt_max_s"], rel=0.003)


def test_captures_are_written_for_every_run_or_not_at_all(sojourn: Sojourn, small: Path) -> None:
    done = sojourn("run", small, "--pcapng", "captures", "--json", "--runs", "2", "--spread", "1s")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    names = {f"{run['control']}-{run['seed']}.{end}.pcapng" for run in runs for end in _ends()}
    assert {file.name for file in small.with_name("captures").iterdir()} == names
    again = sojourn("run", small, "--pcapng", "captures", "--json")
    assert (again.returncode, again.stdout) == (2, "")
    assert "name another with --pcapng" in again.stderr
    assert not small.with_name("runs").exists()


def _ends() -> Iterator[str]:
    yield from ("sender", "receiver")


def test_where_the_disk_is_full_nothing_is_left(small: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))

    done = subprocess.run(
        command("run", small, "--pcapng", "captures"),
        cwd=small.parent,
        env=environment(),
        capture_output=True,
        text=True,
        preexec_fn=limited,
        timeout=300,
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert [file.name for file in small.parent.iterdir()] == [small.name]
