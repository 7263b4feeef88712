"""`sojourn serve` and `sojourn send`, over the loopback interface."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from interrupts import alive
from sojourn import _core
from sojourn.live import transfers
from sojourn.live.transfers import Host, Settings
from sojourn.record import run_directory
from support import Sojourn, begun, command, environment

pytestmark = pytest.mark.skipif(
    not hasattr(_core, "Serving"), reason="transfers over UDP need Linux"
)

# No transfer of these tests takes this long, on any machine.
PATIENCE_S = 120


class Server:
    """A running `sojourn serve` on a free port."""

    def __init__(self, place: Path, *args: str, form: str = "--json") -> None:
        options = [*args, *([form] if form else [])]
        line = command("serve", "--bind", "127.0.0.1", "--port", "0", *options)
        self.process = begun(["setsid", *line] if shutil.which("setsid") else line, place)
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline()
        address = json.loads(self.first)["listening"] if form else self.first.split()[-1]
        self.address = str(address)

    def end(self, number: signal.Signals = signal.SIGTERM) -> list[str]:
        """End it; return the lines after the first."""
        self.process.send_signal(number)
        stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        assert (self.process.returncode, stderr) == (0, "")
        return stdout.splitlines()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that ends with its test."""
    with running(tmp_path) as one:
        yield one


@contextlib.contextmanager
def running(place: Path, *args: str, form: str = "--json") -> Iterator[Server]:
    one = Server(place, *args, form=form)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()


def sent(sojourn: Sojourn, *args: str | Path) -> dict[str, Any]:
    done = sojourn("send", *args, "--json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    return dict(run)


def refused(done: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert done.returncode == 2, done.stdout
    assert (done.stdout, done.stderr.count("\n")) == ("", 1), done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("control", ["cubic", "bbr3", "prague", "rapid", "copa"])
def test_a_transfer_arrives_whole(server: Server, sojourn: Sojourn, control: str) -> None:
    run = sent(sojourn, server.address, "--control", control, "--bytes", "300kB")
    (flow,), transfer = run["flows"], run["transfer"]
    assert (flow["name"], flow["control"], run["control"]) == ("upload", control, control)
    assert (transfer["delivered_bytes"], transfer["received_bytes"]) == (300_000, 300_000)
    assert transfer["complete"]
    assert transfer["paced_by"] == "timer"
    assert 0 < flow["rtt_min_s"] <= flow["rtt_p50_s"] <= flow["rtt_p99_s"]
    peer, strays = map(json.loads, server.end())
    assert (peer["bytes"], peer["ending"]) == (300_000, "closed")
    assert peer["packets"] == transfer["received_packets"]
    assert peer["marked_packets"] == transfer["received_ce_packets"] == flow["marked_packets"]
    assert peer["lost_packets"] == flow["dropped_packets"]
    assert strays["strays"]["malformed"] == 0


def test_the_loopback_interface_carries_ecn(server: Server, sojourn: Sojourn) -> None:
    run = sent(sojourn, server.address, "--control", "prague", "--bytes", "100kB")
    transfer = run["transfer"]
    assert transfer["ecn"] == "carried"
    assert transfer["sent_ect1_packets"] > 50
    assert transfer["sent_ect0_packets"] == 0
    off = sent(sojourn, server.address, "--bytes", "100kB", "--set", "host.ecn=false")
    assert off["transfer"]["ecn"] == "unused"


def test_the_figures_are_shown(tmp_path: Path, sojourn: Sojourn) -> None:
    with running(tmp_path, form="") as server:
        assert server.first.startswith("Listening on UDP 127.0.0.1:")
        done = sojourn("send", server.address, "--control", "bbr", "--bytes", "200kB")
        assert done.returncode == 0, done.stderr
        for head in ("delivered", "goodput", "RTT min", "lost", "marked CE", "ECN", "lateness"):
            assert head in done.stdout
        assert "200 kB" in done.stdout
        assert done.stderr == ""
        peer, strays = server.end()
    assert peer.startswith("127.0.0.1:")
    assert ": 200 kB in " in peer
    assert peer.endswith(", closed by the peer")
    assert strays.startswith("Stray datagrams: 0 malformed, 0 of unknown connections")


def test_settings_are_those_of_a_scenario(server: Server, sojourn: Sojourn) -> None:
    args = ("--bytes", "64KiB", "--seed", "7", "--set", "control.beta=0.5")
    run = sent(sojourn, server.address, *args, "--set", "host.mss=1000B")
    assert run["seed"] == 7
    transfer = run["transfer"]
    assert (transfer["delivered_bytes"], transfer["mss_bytes"]) == (65_536, 1000)
    assert transfer["settings"]["control"] == {"kind": "cubic", "beta": 0.5}


def test_a_duration_ends_a_transfer(server: Server, sojourn: Sojourn) -> None:
    run = sent(sojourn, server.address, "--duration", "300ms", "--control", "reno")
    assert run["duration_s"] >= 0.3
    assert not run["transfer"]["complete"]
    peer, _ = map(json.loads, server.end())
    # The last packets may arrive after the end without an acknowledgement in time.
    assert peer["bytes"] == run["transfer"]["received_bytes"] >= run["transfer"]["delivered_bytes"]
    assert peer["ending"] == "closed"


def test_the_series_are_a_run_directory(server: Server, sojourn: Sojourn, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run = sent(sojourn, server.address, "--bytes", "2MB", "--out", name)
    assert {one.name for one in (tmp_path / "b").iterdir()} == {"summary.json", "flows.parquet"}
    (kept,) = json.loads((tmp_path / "b" / "summary.json").read_text())["runs"]
    assert kept == run
    columns = [one.name for one in run_directory.COLUMNS["flows"]]
    assert list(pl.read_parquet_schema(tmp_path / "b" / "flows.parquet")) == columns
    delivered = _loaded(tmp_path / "b")["delivered_bytes"]
    assert delivered.is_sorted()
    again = sojourn("send", server.address, "--bytes", "1kB", "--out", "b")
    refused(again, "not empty")


def _loaded(directory: Path) -> pl.DataFrame:
    return sojourn.load(directory).flow("upload").series


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path) as server:
        transfer = started(server.address)
        within(lambda: transfer.delivered_bytes > 0)
        peer, strays = map(json.loads, server.end(number))
        assert peer["ending"] == "interrupted"
        assert peer["bytes"] > 0
        assert peer["lost_packets"] is None
        assert set(strays["strays"]) == set(transfers.Strays.__annotations__)
        assert alive(server.process.pid) == []
    host, _, port = server.address.rpartition(":")
    with socket.socket(type=socket.SOCK_DGRAM) as free:
        free.bind((host, int(port)))


def started(address: str, patience: str = "60s") -> _core.Transfer:
    core = transfers.scenario(Settings(duration="1000s"))
    return transfers.start(core, transfers.parse_host(address), patience)


def within(condition: Any) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_connection_without_data_is_only_counted(server: Server) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as relay:
        relay.bind(("127.0.0.1", 0))
        relay.settimeout(PATIENCE_S)
        transfer = started(f"127.0.0.1:{relay.getsockname()[1]}")
        opening = relay.recv(65_536)
        host, _, port = server.address.rpartition(":")
        relay.sendto(opening, (host, int(port)))
        # The server's answer never reaches the sender.
        assert relay.recv(65_536)
        (last,) = map(json.loads, server.end())
    assert last["strays"]["empty"] == 1
    del transfer


def test_an_interrupted_transfer_leaves_nothing(server: Server, tmp_path: Path) -> None:
    process = begun(command("send", server.address, "--duration", "1000s", "--out", "x"), tmp_path)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (130, -signal.SIGINT), stderr
    assert "Traceback" not in stderr or process.returncode < 0
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_vanishes_is_named_with_the_bytes(server: Server) -> None:
    transfer = started(server.address, "2s")
    within(lambda: transfer.delivered_bytes > 0)
    server.process.kill()
    with pytest.raises(_core.LiveError) as error:
        transfer.finish()
    said = str(error.value)
    assert f"{server.address} sent nothing for 2s, after " in said
    assert " had arrived; check the server and the path" in said
    assert "after 0 bytes" not in said


def test_a_server_that_is_silent(sojourn: Sojourn) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        done = sojourn("send", host, "--bytes", "1kB", "--timeout", "300ms")
    refused(done, f"{host} did not answer within 300ms; check that `sojourn serve` runs there")


def test_a_port_without_a_server(sojourn: Sojourn) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{taken.getsockname()[1]}"
    done = sojourn("send", host, "--bytes", "1kB")
    refused(done, f"{host} is not reachable", "start `sojourn serve` there")


def test_a_full_server_refuses(tmp_path: Path, sojourn: Sojourn) -> None:
    with running(tmp_path, "--peers", "1") as server:
        first = started(server.address)
        within(lambda: first.delivered_bytes > 0)
        done = sojourn("send", server.address, "--bytes", "1kB")
        refused(done, "refused the connection", "as many peers as it accepts; try again later")
        *_, strays = map(json.loads, server.end())
        assert strays["strays"]["refused"] >= 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["a..b"], ["a..b has no address", "check the name"]),
        (["no such host"], ["no such host has no address", "check the name"]),
        (["127.0.0.1", "--control", "ideal"], ["`ideal` needs signals from the bottleneck"]),
        (["127.0.0.1", "--timeout", "5"], ["5", "the unit is missing"]),
        (["127.0.0.1", "--set", "source.kind=request"], ["request"]),
        (
            ["127.0.0.1", "--departures", "kernel"],
            ["interface lo has the queue discipline noqueue", "tc qdisc replace dev lo root fq"],
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_sent_is_refused(
    sojourn: Sojourn, args: list[str], words: list[str]
) -> None:
    done = sojourn("send", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["send", "h", "--control", "cubc"], ["cubc", "did you mean `cubic`?"]),
        (["send", "h", "--set", "control.betta=1"], ["betta", "did you mean `beta`?"]),
        (["send", "h", "--bytes", "10XB"], ["10XB", "300kB"]),
        (["send", "h", "--duration", "10"], ["the unit is missing"]),
        (["send", "h", "--bytes", "1kB", "--duration", "1s"], ["--duration", "--bytes"]),
        (["send", "h:99999"], ["99999", "port"]),
        (["send", "[::1"], ["[2001:db8::1]:4433"]),
        (["send"], ["HOST[:PORT]"]),
        (["serve", "--port", "65536"], ["65536", "port"]),
        (["serve", "--bind", "here"], ["here", "not an IP address"]),
        (["serve", "--peers", "0"], ["--peers", "1 or more"]),
        (["serve", "--bind", "192.0.2.1"], ["192.0.2.1:4433", "use an address of this machine"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_arguments_are_refused(sojourn: Sojourn, args: list[str], words: list[str]) -> None:
    done = sojourn(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_port_in_use_is_named(server: Server, sojourn: Sojourn) -> None:
    port = server.address.rpartition(":")[2]
    done = sojourn("serve", "--bind", "127.0.0.1", "--port", port)
    refused(done, f"cannot open UDP {server.address}", "choose another port")


def test_a_low_port_needs_a_privilege(tmp_path: Path) -> None:
    first = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
    if shutil.which("setpriv") is None or int(first.read_text()) <= 700:
        pytest.skip("setpriv is missing, or this machine has no privileged port")
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if os.geteuid() == 0:
        drop.append("--clear-groups")
    done = subprocess.run(
        [*drop, *command("serve", "--bind", "127.0.0.1", "--port", "700")],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    refused(done, "cannot open UDP 127.0.0.1:700", "choose a port above 1023, or run it as root")


def test_both_versions_of_ip_are_served_by_default(tmp_path: Path, sojourn: Sojourn) -> None:
    process = begun(command("serve", "--port", "0", "--json"), tmp_path)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["listening"]
        port = address.rpartition(":")[2]
        hosts = [f"127.0.0.1:{port}", *([f"[::1]:{port}"] if address.startswith("[") else [])]
        for host in hosts:
            sent(sojourn, host, "--bytes", "10kB")
        process.send_signal(signal.SIGTERM)
        *peers, _ = map(json.loads, process.communicate(timeout=PATIENCE_S)[0].splitlines())
    finally:
        process.kill()
        process.communicate()
    assert [peer["bytes"] for peer in peers] == [10_000] * len(hosts)
    assert peers[0]["peer"].startswith("127.0.0.1:")


def test_a_name_is_tried_at_each_of_its_addresses(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first one has no listener.
    port = server.address.rpartition(":")[2]
    monkeypatch.setattr(transfers, "addresses", lambda host: [f"127.0.0.9:{port}", server.address])
    core = transfers.scenario(Settings(size="10kB"))
    summary, _ = transfers.record(
        core, Host("both", int(port)), transfers.start(core, Host("both", int(port)), "60s")
    )
    assert summary["runs"][0]["transfer"]["peer"] == server.address


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("example.org", ("example.org", 4433)),
        ("example.org:5000", ("example.org", 5000)),
        ("192.0.2.1:1", ("192.0.2.1", 1)),
        ("2001:db8::1", ("2001:db8::1", 4433)),
        ("[2001:db8::1]", ("2001:db8::1", 4433)),
        ("[2001:db8::1]:9", ("2001:db8::1", 9)),
    ],
)
def test_hosts_are_parsed(text: str, host: tuple[str, int]) -> None:
    assert transfers.parse_host(text) == host


@pytest.mark.parametrize("text", ["", ":5", "h:", "h:0", "h:x", "[::1]5", "[]:5"])
def test_other_hosts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|names no"):
        transfers.parse_host(text)


COMMANDS_OF_LIVE = {
    "`sojourn serve`": ["serve"],
    "`sojourn send`": ["send", "127.0.0.1"],
    "`sojourn quic`": ["quic", "serve"],
    "`sojourn shell`": ["shell", "capacity-drop", "--", "true"],
    "live runs": ["live", "capacity-drop"],
    "a kernel's controller": ["kernel", "list"],
}


@pytest.mark.parametrize("what", COMMANDS_OF_LIVE)
@pytest.mark.parametrize("system", ["darwin", "linux"])
def test_a_core_without_live_runs_names_the_remedy(tmp_path: Path, what: str, system: str) -> None:
    elsewhere = (
        "import sys\n"
        "from sojourn import _core, cli\n"
        f"sys.platform = {system!r}\n"
        "del _core.LiveRun, _core.Shell, _core.gain_privilege\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    line = [sys.executable, "-c", elsewhere, *COMMANDS_OF_LIVE[what]]
    done = subprocess.run(line, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    message = {
        "darwin": f"{what} needs Linux; `sojourn run` simulates a scenario anywhere",
        "linux": f"this build is without {what}; `make install` builds it with all",
    }
    refused(done, message[system])
