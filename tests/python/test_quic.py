"""`sojourn quic serve` and `sojourn quic get`, and clients of other projects."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import pytest
import qlog_schema
import sojourn
from sojourn import _core, captures
from sojourn._core import LiveError
from sojourn.cli import quic as cli_quic
from support import Sojourn, begun, command, environment, leave_out_live
from test_exports import tshark
from test_stack_captures import numbers_of

pytestmark = pytest.mark.skipif(not hasattr(_core, "QuicServing"), reason="needs Linux")

PATIENCE_S = 60
# Server and client on both sides of a bottleneck that marks at 5 ms, as in docs/guide/quic.md.
BOTTLENECK = """
duration = "10s"
controls = ["prague"]

[link.down]
rate   = "10Mbit"
delay  = "10ms"
buffer = "20ms"
queue  = { kind = "threshold", ce_threshold = "5ms" }

[link.up]
delay = "10ms"

[flow.files]
path = ["up"]
back = ["down"]
"""
NGTCP2 = "gtlsclient"


class Server:
    """A running `sojourn quic serve` on a free port of the loopback interface."""

    def __init__(self, place: Path, *args: str | Path) -> None:
        options = ["--bind", "127.0.0.1", "--port", "0", "--json", *map(str, args)]
        self.process = begun(command("quic", "serve", *options), place)
        assert self.process.stdout is not None
        self.first = json.loads(self.process.stdout.readline())
        self.address = str(self.first["listening"])

    def end(self, said: str = "") -> list[dict[str, Any]]:
        """End it; return its connections, and its stray datagrams."""
        self.process.send_signal(signal.SIGTERM)
        stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        assert (self.process.returncode, stderr) == (0, said)
        return [json.loads(line) for line in stdout.splitlines()]


@contextlib.contextmanager
def running(place: Path, *args: str | Path) -> Iterator[Server]:
    one = Server(place, *args)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()


def test_downloads_have_their_figures_at_both_ends(sojourn: Sojourn, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "one").write_bytes(bytes(range(256)) * 1000)
    own = tmp_path / "own.pem"
    with running(tmp_path, "files", "--control", "prague", "--save-cert", own) as server:
        url = f"https://{server.address}"
        done = sojourn("quic", "get", f"{url}/bytes/1MB", "--repeat", "4", "--ca", own, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        figures = json.loads(done.stdout)
        done = sojourn("quic", "get", f"{url}/one", "--ca", own, "--out", "copy")
        assert done.returncode == 0, done.stderr
        assert "256 kB in" in done.stdout
        done = sojourn("quic", "get", f"{url}/two", "--ca", own, "--out", "absent")
        assert (done.returncode, "status 404" in done.stderr) == (1, True)
        done = sojourn("quic", "get", f"{url}/one", "--ca", own, "--out", "copy")
        assert "nothing is ever overwritten" in done.stderr
        served = server.end()
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "files" / "one").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["copy", "files", "own.pem"]
    assert [one["bytes"] for one in figures["responses"]] == [1_000_000] * 4
    received = figures["received"]
    assert received["ect1"] > 3_300
    assert received["ect0"] + received["ce"] == 0
    first = served[0]
    assert (first["requests"], first["body_bytes"]) == (4, 4_000_000)
    assert first["ending"] == "closed"
    # Datagrams that carry acknowledgements alone have no ECN codepoint before the path is
    # validated.
    assert first["sent"]["ect1"] == received["ect1"]
    assert served[-1]["strays"]["refused"] == 0


def test_both_ends_write_their_packets_and_events(sojourn: Sojourn, tmp_path: Path) -> None:
    begin = datetime.now(timezone.utc)
    with running(tmp_path, "--qlog", "served", "--pcapng", "served") as server:
        url = f"https://{server.address}/bytes/300kB"
        files = ("--qlog", "got", "--pcapng", "got")
        done = sojourn("quic", "get", url, "--insecure", "--json", *files)
        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)
        # A response that is not successful leaves its events.
        absent = f"https://{server.address}/absent"
        done = sojourn("quic", "get", absent, "--insecure", "--qlog", "failed")
        assert (done.returncode, "status 404; check the path" in done.stderr) == (1, True)
        port = server.address.rpartition(":")[2]
        server.end("wrote served\n")
    names = {file.name for file in (tmp_path / "served").iterdir()}
    assert names == {
        "cubic-1.download-1.sender.sqlog",
        "cubic-1.download-2.sender.sqlog",
        "cubic-1.keys.log",
        "cubic-1.sender.pcapng",
    }
    # They have secrets that decrypt the connections, so that others must not read them.
    for secret in ("served", "served/cubic-1.keys.log", "served/cubic-1.sender.pcapng"):
        assert (tmp_path / secret).stat().st_mode & 0o077 == 0, secret
    sent, heard = numbers_of(tmp_path / "served" / "cubic-1.download-1.sender.sqlog")
    asked, received = numbers_of(tmp_path / "got" / "cubic-1.download.receiver.sqlog")
    assert len(received) > 250
    assert received <= sent
    assert heard <= asked
    packets = captures.rtt(tmp_path / "got" / "cubic-1.receiver.pcapng")["packets"]
    # The datagram that closes the connection leaves after its figures are complete.
    packets += figures["uncaptured_packets"]
    assert 0 <= packets - figures["sent"]["packets"] - figures["received"]["packets"] <= 1
    failed = tmp_path / "failed" / "cubic-1.download.receiver.sqlog"
    epoch = qlog_schema.texts(failed)[0]["trace"]["common_fields"]["reference_time"]["epoch"]
    assert begin <= datetime.fromisoformat(epoch[:26] + "+00:00") <= datetime.now(timezone.utc)
    if shutil.which("tshark") is not None:
        as_quic = ("-d", f"udp.port=={port},quic")
        for file in (tmp_path / "got").glob("*.pcapng"):
            assert tshark(file, *as_quic, "-Y", "_ws.malformed || quic.decryption_failed") == []
            frames = tshark(file, *as_quic, "-Y", "quic.packet_number && quic.frame")
            assert len(frames) == packets - figures["uncaptured_packets"]


def largest(place: Path) -> int:
    """Return the bytes of the largest file in the hidden folders of a running command."""
    sizes = [0]
    for file in place.glob(".sojourn-*/*"):
        with contextlib.suppress(FileNotFoundError):
            sizes.append(file.stat().st_size)
    return max(sizes)


@pytest.mark.parametrize("option", ["--qlog", "--pcapng"])
def test_a_failed_handshake_leaves_no_folder(sojourn: Sojourn, tmp_path: Path, option: str) -> None:
    with running(tmp_path) as server:
        url = f"https://{server.address}/bytes/1kB"
        for words, args in {
            "give --ca FILE": (url,),
            "is not reachable": ("https://127.0.0.1:1/", "--insecure"),
        }.items():
            done = sojourn("quic", "get", *args, option, "got")
            assert (done.returncode, words in done.stderr) == (1, True), done.stderr
            assert not (tmp_path / "got").exists()
        done = sojourn("quic", "get", url, "--insecure", option, "got")
        assert done.returncode == 0, done.stderr
        url = f"https://{server.address}/bytes/100GB"
        line = command("quic", "get", url, "--insecure", "--timeout", "1s", option, "cut")
        process = begun(line, tmp_path)
        until = time.monotonic() + PATIENCE_S
        # A download that has ended has moved its files.
        while process.poll() is None and largest(tmp_path) < 100_000:
            assert time.monotonic() < until
            time.sleep(0.05)
        server.process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 1
    # A connection that fails after its handshake keeps its packets and events.
    assert list((tmp_path / "cut").iterdir())


def test_errors_have_their_remedy(sojourn: Sojourn, tmp_path: Path) -> None:
    with running(tmp_path) as server:
        port = server.address.rpartition(":")[2]
        url = f"https://{server.address}/bytes/1"
        for args, words in {
            ("serve", "--bind", "127.0.0.1", "--port", port): "choose another port",
            ("serve", "--cert", "x.pem"): "give both --cert FILE and --key FILE",
            ("serve", "--cert", "x.pem", "--key", "y.pem"): "x.pem: No such file",
            ("serve", "--qlog", "/dev/null/x"): "--qlog /dev/null/x: /dev/null is no folder",
            ("get", url, "--pcapng", "/dev/null/x"): "/dev/null is no folder; name a place",
            ("serve", "nowhere"): "cannot serve the folder nowhere",
            ("serve", "--control", "rapid"): "needs receive times",
            ("serve", "--control", "ideal"): "needs signals of the bottleneck",
            ("serve", "--set", "stack=quinn"): "need the stack `noq`",
            ("get", "http://127.0.0.1/"): "write https://HOST:PORT/PATH",
            ("get", url, "--insecure", "--control", "fast"): "there is no controller `fast`",
        }.items():
            done = sojourn("quic", *args)
            assert done.returncode == 2, args
            assert words in done.stderr, done.stderr
            assert "Traceback" not in done.stderr


WITHOUT_RIGHT = ["setpriv", "--bounding-set=-sys_nice"]


def first_line(line: list[str], place: Path) -> str:
    """Start a server; return its first line, after which it ends."""
    process = begun(line, place)
    assert process.stdout is not None
    first = process.stdout.readline().strip()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=PATIENCE_S)[1] == ""
    return str(first)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_server_takes_the_priority_that_the_machine_permits(tmp_path: Path) -> None:
    serve = command("quic", "serve", "--bind", "127.0.0.1", "--port", "0")
    assert first_line(serve, tmp_path).endswith(" with real-time priority")
    normal = first_line([*serve, "--priority", "normal", "--json"], tmp_path)
    assert json.loads(normal)["priority"] == "normal"
    if shutil.which(WITHOUT_RIGHT[0]) is None:
        pytest.skip("setpriv is not installed: apt-get install util-linux")
    words = first_line([*WITHOUT_RIGHT, *serve], tmp_path)
    assert "without real-time priority: busy programs may delay departures; start it as" in words
    refused = [*WITHOUT_RIGHT, *serve, "--priority", "realtime"]
    done = subprocess.run(
        refused, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "--priority realtime: this machine refuses it; start it as root" in done.stderr


def shell_summary(place: Path, serve: str, client: str) -> tuple[dict[str, Any], list[Any]]:
    """Run a server and a client on both sides of the bottleneck.

    Return the summary of the links, and the server's lines.
    """
    (place / "bottleneck.toml").write_text(BOTTLENECK)
    line = command("shell", "bottleneck.toml", "--quiet", "--json", "links.json")
    line += ["--server", serve, "--", "sh", "-c", client]
    done = subprocess.run(
        line, cwd=place, env=environment(), capture_output=True, text=True, timeout=PATIENCE_S
    )
    if done.returncode and not (place / "links.json").exists():
        leave_out_live(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    served = [json.loads(one) for one in (place / "served").read_text().splitlines()]
    return json.loads((place / "links.json").read_text()), served


def serve_command(*args: str) -> str:
    own = " ".join(command("quic", "serve", "--port", "4433", "--json", *args))
    return f"{own} >served"


def link_of(summary: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in summary["links"] if one["name"] == name)


def test_ngtcp2_hears_every_mark(tmp_path: Path) -> None:
    """Four files of 1 MB by a client of another project, which reports all marks to Prague."""
    if shutil.which(NGTCP2) is None:
        pytest.skip("ngtcp2-client is not installed: apt-get install ngtcp2-client")
    client = (
        f"{NGTCP2} --quiet --exit-on-all-streams-close --download got"
        " $SOJOURN_PEER 4433 https://$SOJOURN_PEER:4433/bytes/1000000"
        " https://$SOJOURN_PEER:4433/bytes/1000001 https://$SOJOURN_PEER:4433/bytes/1000002"
        " https://$SOJOURN_PEER:4433/bytes/1000003"
    )
    (tmp_path / "got").mkdir()
    summary, served = shell_summary(tmp_path, serve_command("--control", "prague"), client)
    (one,) = (line for line in served if "requests" in line)
    down = link_of(summary, "down")
    sizes = sorted(path.stat().st_size for path in (tmp_path / "got").iterdir())
    assert sizes == [1_000_000, 1_000_001, 1_000_002, 1_000_003]
    assert one["sent"]["ect1"] > 3_300
    assert one["sent"]["ect0"] == 0
    # The client closes the connection without acknowledging the last packets.
    assert down["marked_packets"] - 5 <= one["marked_packets"] <= down["marked_packets"]
    assert one["marked_packets"] > 300
    assert one["lateness_p99_s"] is not None


def test_a_client_without_ecn_falls_back(tmp_path: Path) -> None:
    """The client aioquic reports no counts, so that the server stops to send ECT(1)."""
    pytest.importorskip("aioquic", reason="aioquic is not installed")
    script = Path(__file__).parent / "aioquic_get.py"
    client = f"{sys.executable} {script} $SOJOURN_PEER 4433 /bytes/1000000"
    summary, served = shell_summary(tmp_path, serve_command("--control", "prague"), client)
    (one,) = (line for line in served if "requests" in line)
    assert one["body_bytes"] == 1_000_000
    assert one["marked_packets"] == 0
    # RFC 9000 section 13.4.2: the first packets have a codepoint, until the path is validated.
    assert one["sent"]["ect1"] < 100 < one["sent"]["not_ect"]
    assert link_of(summary, "down")["marked_packets"] < 100


LIVE = """
duration = "6s"

[link.down]
rate   = "10Mbit"
delay  = "10ms"
buffer = "20ms"
queue  = { kind = "threshold", ce_threshold = "5ms" }

[link.up]
rate  = "10Mbit"
delay = "10ms"

[flow.files]
control   = "prague"
path      = ["down"]
back      = ["up"]
stack = { kind = "noq", mtu = "1440B", ack_every = 1 }
source    = { kind = "request", request = "257B", response = "1MB", count = 4 }
"""


@pytest.mark.long
@pytest.mark.parametrize("ipv6", [False, True])
def test_the_stack_over_udp_takes_the_time_of_virtual_time(tmp_path: Path, ipv6: bool) -> None:
    """Within 3 %, the aim of the measurements in studies/quic."""
    (tmp_path / "live.toml").write_text(LIVE)
    try:
        live = sojourn.live(tmp_path / "live.toml", ipv6=ipv6)
    except LiveError as error:
        leave_out_live(error)
    virtual = sojourn.run(tmp_path / "live.toml")
    real, ideal = live.runs[0]["flows"][0], virtual.runs[0]["flows"][0]
    assert real["completion_s"] == pytest.approx(ideal["completion_s"], rel=0.03)
    assert real["completed_transfers"] == 4
    late = live.runs[0]["live"]["departures"]["files"]
    assert late["lateness_p99_s"] is not None


@pytest.mark.long
def test_the_stack_runs_over_the_kernel_s_queues(tmp_path: Path) -> None:
    """Without delay, which needs netem."""
    text = LIVE.replace('"6s"', '"4s"').replace('delay = "10ms"', "").replace('delay  = "10ms"', "")
    text = text.replace(
        'queue  = { kind = "threshold", ce_threshold = "5ms" }', 'queue = "droptail"'
    )
    text = text.replace("count = 4", "count = 2")
    try:
        live = sojourn.live(text, bottleneck="tc", set={"flow.files.control": "cubic"})
    except LiveError as error:
        leave_out_live(error)
    (flow,) = live.runs[0]["flows"]
    assert flow["completed_transfers"] == 2
    # 2 MB at 10 Mbit/s.
    assert flow["completion_s"] is not None
    assert 1.6 < flow["completion_s"] < 1.9


class Reporting:
    """A server that reports these connections."""

    def __init__(self, *ended: dict[str, Any]) -> None:
        self.left = [json.dumps(one) for one in ended]

    def next(self, within_s: float) -> str | None:
        return self.left.pop(0) if self.left else None


def test_a_fault_of_the_stack_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    one = {
        "peer": "192.0.2.1:1",
        "duration_s": 0.5,
        "body_bytes": 0,
        "goodput_bps": None,
        "requests": 0,
        "marked_packets": 0,
        "lost_packets": 0,
        "lateness_p99_s": None,
    }
    fault = {**one, "ending": "fault", "reason": "noq-proto-1.4.0/src/connection/mod.rs:1: a fault"}
    silent = {**one, "ending": "closed", "reason": None}
    cli_quic._show_all(cast(_core.QuicServing, Reporting(silent, fault)), 0, as_json=False)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("192.0.2.1:1: 0 requests")
    assert line.endswith(f"ended by a fault of the QUIC stack: {fault['reason']}")
