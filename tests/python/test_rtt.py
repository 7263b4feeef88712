"""`sojourn rtt`: the contract, malformed files, and agreement with tshark on new captures."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import made_captures as made
import pytest
import sojourn as api
from sojourn import captures
from support import ROOT, Sojourn, command, environment

CAPTURES = ROOT / "tests" / "captures"
NAMES = ("timestamps.pcapng", "no-timestamps.pcap", "ipv6.pcapng", "any-sll2.pcap")

# The contract: new keys may be added, but none renamed or removed.
WHOLE = {
    *("format", "file", "capture", "compression", "read_bytes", "packets", "begin_s", "duration_s"),
    *("flow_count", "flows", "skipped", "error"),
}
FLOW = {"a", "b", "opened", "begin_s", "duration_s", "directions"}
DIRECTION = {
    *("from", "to", "method", "samples", "min_s", "mean_s", "p50_s", "p95_s", "p99_s", "max_s"),
    *("packets", "payload_bytes", "resent_packets", "backward_pairs"),
    *("sack_samples", "unsampled_share", "acked_bytes", "goodput_bps"),
}
SKIPPED = {
    *("link_type", "not_ip", "not_tcp", "fragments", "cut", "malformed", "without_time"),
    *("beyond_max_flows", "copies"),
}


def test_json_has_its_contract(sojourn: Sojourn) -> None:
    done = sojourn("rtt", CAPTURES / "timestamps.pcapng", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert set(found) == WHOLE
    assert (found["format"], found["capture"], found["packets"]) == (1, "pcapng", 207)
    assert found["read_bytes"] == (CAPTURES / "timestamps.pcapng").stat().st_size
    assert set(found["skipped"]) == SKIPPED
    assert not any(found["skipped"].values())
    first, second = found["flows"]
    assert set(first) == FLOW
    assert all(set(one) == DIRECTION for one in first["directions"] + second["directions"])
    assert first["b"] == {"address": "192.0.2.2", "port": 5001}
    up = first["directions"][0]
    assert (up["to"], up["method"], up["payload_bytes"]) == ("192.0.2.2:5001", "timestamps", 121449)
    # 2 x 15 ms of propagation, plus the processing time of the forwarder.
    assert 0.030 <= up["min_s"] <= up["p50_s"] <= up["p95_s"] <= up["p99_s"] <= up["max_s"] < 0.05


def test_python_says_the_same(sojourn: Sojourn) -> None:
    file = CAPTURES / "no-timestamps.pcap"
    assert dict(captures.rtt(str(file))) == json.loads(sojourn("rtt", file, "--json").stdout)
    with pytest.raises(ValueError, match="auto, timestamps, acks, sack"):
        captures.rtt(file, "both")  # type: ignore[arg-type]


def test_method_is_the_one_asked_for() -> None:
    def methods(name: str, method: captures.Method) -> set[str | None]:
        flows = captures.rtt(CAPTURES / name, method)["flows"]
        return {one["method"] for flow in flows for one in flow["directions"]}

    assert methods("timestamps.pcapng", "auto") == {"timestamps"}
    assert methods("timestamps.pcapng", "acks") == {"acks"}
    assert methods("no-timestamps.pcap", "auto") == {"acks"}
    assert methods("no-timestamps.pcap", "timestamps") == {None}


def test_figure_and_standard_input(sojourn: Sojourn, tmp_path: Path) -> None:
    file = CAPTURES / "ipv6.pcapng"
    done = sojourn("rtt", file, "--json", "--plot", "rtt.svg")
    assert json.loads(done.stdout)["flows"] == captures.rtt(file)["flows"]
    assert "[2001:db8::2]:5001" in (tmp_path / "rtt.svg").read_text("utf-8")
    piped = subprocess.run(
        [*command("rtt", "-", "--json")], input=file.read_bytes(), capture_output=True, check=True
    )
    assert json.loads(piped.stdout)["packets"] == 141


def test_several_captures_have_a_table_each(sojourn: Sojourn, tmp_path: Path) -> None:
    files = [CAPTURES / name for name in NAMES[:2]]
    alone = [sojourn("rtt", file) for file in files]
    done = sojourn("rtt", *files)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(one.stdout for one in alone)
    assert all(f"{file}: " in done.stdout.replace("\n", "") for file in files)
    found = json.loads(sojourn("rtt", *files, "--json").stdout)
    assert found == [json.loads(sojourn("rtt", file, "--json").stdout) for file in files]
    assert [one["file"] for one in found] == [str(file) for file in files]
    (tmp_path / "empty.pcap").touch()
    done = sojourn("rtt", files[0], "empty.pcap", "--json")
    assert done.returncode == 2
    assert [one["packets"] for one in json.loads(done.stdout)] == [207, 0]
    refused = sojourn("rtt", *files, "--plot", "rtt.svg")
    assert (refused.returncode, "--plot draws one capture" in refused.stderr) == (2, True)


def test_a_cut_capture_gives_what_stood_before(sojourn: Sojourn, tmp_path: Path) -> None:
    whole = (CAPTURES / "timestamps.pcapng").read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(whole[:9000])
    done = sojourn("rtt", "cut.pcapng", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert found["packets"] == 66
    up = found["flows"][0]["directions"][0]
    assert (up["samples"], up["sack_samples"]) == (11, 8)
    assert found["error"]["offset"] == 8984
    assert "ends 16 bytes into a block of 148" in found["error"]["message"]
    assert "cut.pcapng: at byte 8,984: " in done.stderr
    shown = sojourn("rtt", "cut.pcapng")
    assert (shown.returncode, "66 packets" in shown.stdout) == (1, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"not a capture", "no pcap or pcapng capture"),
        (b"\x0a\x0d\x0d\x0a\0\0\0\0\x4d\x3c\x2b\x1a", "has length 0"),
        (None, "No such file"),
    ],
)
def test_what_is_no_capture_is_refused(
    sojourn: Sojourn, tmp_path: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "x.pcap").write_bytes(content)
    done = sojourn("rtt", "x.pcap")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def directions(found: captures.CaptureRtt) -> list[captures.Direction]:
    return [one for flow in found["flows"] for one in flow["directions"]]


def test_packets_captured_twice_count_once(sojourn: Sojourn, tmp_path: Path) -> None:
    """Each packet again 20 us later and a hop on, as at the two interfaces of a router."""
    once = made.transfer(20)
    again = [packet._replace(at_s=packet.at_s + 20e-6, ttl=63) for packet in once]
    for version in (made.Packet.v4, made.Packet.v6):
        frames = [(packet.at_s, version(packet)) for packet in sorted([*once, *again])]
        (tmp_path / "twice.pcap").write_bytes(made.pcap(101, frames))
        found = captures.rtt(tmp_path / "twice.pcap")
        assert found["skipped"]["copies"] == 40
        up, _ = directions(found)
        assert (up["samples"], up["packets"], up["resent_packets"]) == (20, 20, 0)
        assert up["p50_s"] == pytest.approx(made.RTT_S)
    shown = sojourn("rtt", "twice.pcap").stdout
    assert "skipped: 40 captured before, at another place" in shown


def test_retransmissions_are_no_copies(tmp_path: Path) -> None:
    """Another identification, or a time that only a timer explains."""
    once = made.transfer(20)
    late = [packet._replace(at_s=packet.at_s + 2e-3) for packet in once if packet.up]
    other = [packet._replace(at_s=packet.at_s + 1e-5, number=7_000) for packet in once if packet.up]
    for again, version in ((other, made.Packet.v4), (late, made.Packet.v6)):
        frames = [(packet.at_s, version(packet)) for packet in sorted([*once, *again])]
        (tmp_path / "again.pcap").write_bytes(made.pcap(101, frames))
        found = captures.rtt(tmp_path / "again.pcap", "acks")
        assert found["skipped"]["copies"] == 0
        assert [one["resent_packets"] for one in directions(found)] == [20, 0]


@pytest.mark.parametrize("program", ["gzip", "zstd"])
def test_compressed_captures_give_the_same(
    sojourn: Sojourn, tmp_path: Path, program: Literal["gzip", "zstd"]
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is missing")
    plain = CAPTURES / "timestamps.pcapng"
    packed = subprocess.run([program, "-c", plain], capture_output=True, check=True).stdout
    file = tmp_path / "packed"
    file.write_bytes(packed)
    same = {**captures.rtt(plain), "file": str(file), "compression": program}
    assert captures.rtt(file) == same
    # The second of two parts.
    (tmp_path / "cut").write_bytes(packed + packed[:-9])
    done = sojourn("rtt", "cut")
    assert done.returncode == 1
    place = r"cut: at byte [\d,]+ of its content: "
    assert re.search(f"{place}the {program} data of the file cannot be unpacked", done.stderr)


def test_figures_are_those_of_the_simulation(tmp_path: Path) -> None:
    """In a simulated transfer with drops, goodput, retransmissions and percentiles are known.

    Cumulative acknowledgements alone have no samples during the loss recoveries, some 3 % of the
    time.
    """
    run = api.run("bufferbloat", control="cubic", pcapng=tmp_path)
    known = run.flow("upload").summary
    file = next(tmp_path.glob("*.sender.pcapng"))

    def upload(method: captures.Method) -> captures.Direction:
        return max(directions(captures.rtt(file, method)), key=lambda one: one["payload_bytes"])

    found = upload("auto")
    assert found["resent_packets"] == known["retransmitted_packets"] > 0
    assert found["goodput_bps"] == pytest.approx(known["goodput_bps"], rel=0.02)
    assert 0 < found["sack_samples"] < found["samples"]
    assert found["p99_s"] == pytest.approx(known["rtt_p99_s"], rel=0.02)
    without = upload("acks")["unsampled_share"]
    assert found["unsampled_share"] is not None
    assert without is not None
    assert 0.01 < without < 0.1
    assert found["unsampled_share"] < without / 2


needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None,
    reason="tshark is missing: `tests/install-tools` as root, or apt-get install tshark",
)


def tshark(file: Path, *fields: str) -> Iterator[list[str]]:
    chosen = [part for field in fields for part in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", str(file), "-T", "fields", *chosen],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    return (line.split("\t") for line in done.stdout.splitlines())


def their_rtts(file: Path) -> dict[int, float]:
    rows = tshark(file, "frame.number", "tcp.analysis.ack_rtt")
    return {int(frame): float(rtt) for frame, rtt in rows if rtt}


def our_rtts(file: Path) -> dict[int, float]:
    flows = captures.rtt(file, "acks", points=1_000_000)["flows"]
    series = [one["series"] for flow in flows for one in flow["directions"]]
    return {packet: rtt for points in series for _, rtt, packet in points}


@needs_tshark
@pytest.mark.parametrize("name", NAMES)
def test_tshark_says_what_was_written_down(name: str) -> None:
    """The reference data of the crate's tests equal tshark's output."""
    lines = (CAPTURES / name).with_suffix(".tshark").read_text("ascii").splitlines()
    written = {int(frame): float(rtt) for frame, rtt in (line.split("\t") for line in lines)}
    assert their_rtts(CAPTURES / name) == written


@needs_tshark
@pytest.mark.parametrize("name", made.LINKS)
def test_tshark_agrees_on_links(name: str, tmp_path: Path) -> None:
    """Five samples behind the headers of each link, with IPv4 and with IPv6."""
    link, frame = made.LINKS[name]
    file = tmp_path / "link.pcap"
    frames = [
        (packet.at_s, frame(version(packet)))
        for version in (made.Packet.v4, made.Packet.v6)
        for packet in made.transfer(5)
    ]
    file.write_bytes(made.pcap(link, sorted(frames)))
    ours = our_rtts(file)
    assert len(ours) == 10
    assert ours == pytest.approx(their_rtts(file), abs=1e-9)


@pytest.fixture
def maker() -> Any:
    """Return the capture maker, if this machine has its tools and permissions."""
    missing = [tool for tool in ("ip", "dumpcap", "tshark") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} missing: `tests/install-tools` as root")
    probe = f"sojourn-{os.getpid()}-probe"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode:
        pytest.skip("connections through network namespaces need root")
    subprocess.run(["ip", "netns", "del", probe], check=True)
    spec = importlib.util.spec_from_file_location("make_captures", CAPTURES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["ipv6.pcapng", "no-timestamps.pcap"])
def test_tshark_agrees_on_connections_of_now(name: str, maker: Any, tmp_path: Path) -> None:
    """Compare RTT samples of new connections; the second test file has lost packets.

    Every sample here is one of tshark's. tshark has additional samples for acknowledgements that
    cover retransmitted segments, or segments that waited for them (docs/guide/captures.md).
    """
    file = tmp_path / name
    (wanted,) = (one for one in maker.WANTED if one.file == name)
    maker.make(wanted, file)
    ours, theirs = our_rtts(file), their_rtts(file)
    assert len(ours) >= 40
    # tshark omits an RTT of zero, of two packets within one microsecond of the capture's clock.
    printed = {frame: rtt for frame, rtt in ours.items() if rtt > 0}
    # Within 1 ns, because both are printed in seconds.
    assert printed == pytest.approx({frame: theirs[frame] for frame in printed}, abs=1e-9)
    assert set(theirs) - set(ours) <= covering_a_gap(file)


def covering_a_gap(file: Path) -> set[int]:
    """Acknowledgements of segments that tshark calls a retransmission or out of order."""
    fields = ("tcp.stream", "tcp.srcport", "tcp.seq", "tcp.nxtseq", "tcp.ack")
    flags = ("tcp.analysis.retransmission", "tcp.analysis.out_of_order")
    acked: dict[tuple[str, bool], int] = {}
    again: dict[tuple[str, bool], list[int]] = {}
    found = set()
    for row in tshark(file, "frame.number", *fields, *flags):
        frame, stream, port, _, end, ack, *said = row
        here, there = ((stream, (port == "5001") == side) for side in (True, False))
        if any(said):
            again.setdefault(here, []).append(int(end))
        if ack:
            before = acked.get(there, 0)
            if any(before < end <= int(ack) for end in again.get(there, [])):
                found.add(int(frame))
            acked[there] = max(before, int(ack))
    return found
