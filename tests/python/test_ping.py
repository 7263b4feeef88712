"""A source of pings: its figures in a run, and tshark's figures from the capture."""

import shutil
import subprocess
from pathlib import Path

import pytest
import sojourn
from support import Sojourn as Command

# Every tenth request is lost, and another flow fills the queue of the second link.
SCENARIO = """\
duration = "20s"

[link.out]
rate  = "10Mbit"
delay = "10ms"
loss  = { every = 10 }

[link.back]
rate   = "10Mbit"
delay  = "10ms"
buffer = "100kB"

[flow.ping]
path    = ["out"]
back    = ["back"]
source  = { kind = "ping", interval = "100ms" }
stop    = "19s"

[flow.bulk]
control = "cubic"
path    = ["back"]
back    = []
start   = "5s"
"""


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_finds_the_pings_of_a_run(tmp_path: Path) -> None:
    source = tmp_path / "ping.toml"
    source.write_text(SCENARIO)
    run = sojourn.run(source, pcapng=tmp_path / "captures")
    ping = run.flow("ping").summary
    names = ["icmp.type", "icmp.seq", "icmp.resptime", "frame.len"]
    (file,) = (tmp_path / "captures").glob("*.sender.pcapng")
    asked = [part for name in names for part in ("-e", name)]
    done = subprocess.run(
        ["tshark", "-r", file, "-Y", "icmp", "-T", "fields", *asked],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    seen = [line.split("\t") for line in done.stdout.splitlines()]
    requests = [one for one in seen if one[0] == "8"]
    replies = [one for one in seen if one[0] == "0"]
    assert [int(one[1]) for one in requests] == list(range(1, ping["sent_packets"] + 1))
    assert len(replies) == ping["completed_transfers"] == ping["sent_packets"] * 9 // 10
    # 20 bytes of IP, and 64 of ICMP.
    assert all(one[3] == "84" for one in seen)
    times_ms = [float(one[2]) for one in replies]
    assert ping["rtt_min_s"] is not None
    assert ping["rtt_max_s"] is not None
    # tshark prints microseconds.
    assert min(times_ms) == pytest.approx(1e3 * ping["rtt_min_s"], abs=1e-3)
    assert max(times_ms) == pytest.approx(1e3 * ping["rtt_max_s"], abs=1e-3)
    in_series = run.flow("ping").series["rtt_s"].drop_nulls()
    assert sorted(times_ms) == pytest.approx(sorted(1e3 * in_series), abs=1e-3)


def test_a_ping_needs_no_controller(tmp_path: Path) -> None:
    source = tmp_path / "ping.toml"
    source.write_text(SCENARIO)
    run = sojourn.run(source)
    assert run.flow("ping").summary["control"] == "none"
    # `control` replaces the controllers of the other flows, as if the ping had control = "none".
    other = sojourn.run(source, control="reno")
    controls = [flow["control"] for flow in other.runs[0]["flows"]]
    assert controls == ["none", "reno"]
    with pytest.raises(sojourn.ScenarioError, match="has no congestion controller"):
        sojourn.run(source, set={"flow.ping.control": "cubic"})


def test_the_table_has_the_round_trips_of_pings(
    tmp_path: Path, small: Path, without_report: Command
) -> None:
    source = tmp_path / "ping.toml"
    source.write_text(SCENARIO)
    shown = without_report("run", source, "--explain").stdout
    assert "RTT p50, p99" in shown
    (ping,) = (line for line in shown.splitlines() if "●" in line and " ping " in line)
    # The queue is empty in five of 19 seconds, and adds up to 80 ms in the others.
    assert 80 < float(ping.split()[3]) < 20 + 80 + 2
    assert "RTT p50" not in without_report("run", small).stdout
