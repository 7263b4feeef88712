"""`sojourn shell`: any program over the links of a scenario, where this machine allows it."""

import contextlib
import fcntl
import json
import os
import pty
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from support import (
    WITHOUT_TUN,
    Sojourn,
    begun_in,
    command,
    environment,
    kernel_lock,
    leave_out_live,
    require,
)

SMALL = """
duration = "1s"
controls = ["cubic"]

[link.bottleneck]
rate = "10Mbit"
delay = "10ms"
buffer = "40ms"

[link.slow]
rate = "1Mbit"
delay = "50ms"

[link.back]
delay = "10ms"

[flow.upload]
path = ["bottleneck"]
back = ["back"]

[flow.other]
path = ["slow"]
back = ["back"]
"""

# Measures one ICMP echo, as ping(8) does, which not every machine has.
PING = """
import os, socket, struct, time
to = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
packet = struct.pack("!BBHHH", 8, 0, 0, 7, 1) + bytes(8)
total = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
packet = packet[:2] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + packet[4:]
to.settimeout(30)
start = time.monotonic()
to.sendto(packet, (os.environ["SOJOURN_PEER"], 0))
answer, (peer, _) = to.recvfrom(1500)
print(time.monotonic() - start, peer, answer[20], os.environ["SOJOURN_LOCAL"])
"""
SERVER = """
import os, socket
with socket.create_server((os.environ["SOJOURN_LOCAL"], 5000)) as server:
    while True:
        with server.accept()[0] as one:
            received = 0
            while data := one.recv(65536):
                received += len(data)
            one.sendall(b"%d" % received)
"""
CLIENT = """
import os, socket, time
start = time.monotonic()
with socket.create_connection((os.environ["SOJOURN_PEER"], 5000)) as to:
    to.sendall(bytes(2_000_000))
    to.shutdown(socket.SHUT_WR)
    received = to.recv(100)
print(int(received), time.monotonic() - start)
"""
# Both ends show the controller of their connection.
NAMED_SERVER = """
import os, socket, sys
local = os.environ["SOJOURN_LOCAL" + sys.argv[1]]
family = socket.AF_INET6 if sys.argv[1] else socket.AF_INET
with socket.create_server((local, 5000), family=family) as server:
    with server.accept()[0] as one:
        one.sendall(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16))
"""
NAMED_CLIENT = """
import os, socket
with socket.create_connection((os.environ["SOJOURN_PEERVERSION"], 5000)) as to:
    own = to.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    print(own.rstrip(b"\\0").decode(), to.recv(100).rstrip(b"\\0").decode())
"""
# Packets with ECT(0), more than the buffer holds.
BURST = """
import os, socket, time
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
for _ in range(400):
    to.sendto(bytes(1000), (os.environ["SOJOURN_PEER"], 9))
time.sleep(1)
"""
# Counts interrupts for a second from the first on.
INTERRUPTED = """
import os, signal, time
count = 0
def on_interrupt(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, on_interrupt)
print("ready", flush=True)
while not count:
    time.sleep(0.05)
until = time.monotonic() + 1
while time.monotonic() < until:
    time.sleep(0.05)
print("interrupts:", count, flush=True)
os._exit(5)
"""
# A program with children.
NESTED = "sleep 1000 & echo ready; sleep 1000; true"

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a scenario; skip the tests on a machine without live runs."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / "small.toml").write_text(SMALL)
    args = command("shell", folder / "small.toml", "--", "true")
    done = subprocess.run(args, env=environment(), capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        leave_out_live(done.stderr)
    return folder


@pytest.fixture
def shell(place: Path, sojourn: Sojourn, tmp_path: Path) -> Shell:
    """Run a Python program over the links; the summary is in `summary.json`."""

    def run(program: str, *options: str) -> "subprocess.CompletedProcess[str]":
        summary = tmp_path / "summary.json"
        own = (place / "small.toml", *options, "--json", summary)
        return sojourn("shell", *own, "--", sys.executable, "-c", program)

    return run


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def bottleneck(folder: Path) -> dict[str, Any]:
    found = summary(folder)
    (link,) = [one for one in found["links"] if one["name"] == found["bottleneck"]]
    return dict(link)


@pytest.mark.parametrize(("flow", "least_s"), [("upload", 0.020), ("other", 0.060)])
def test_an_echo_takes_the_round_trip_of_the_flow(
    shell: Shell, tmp_path: Path, flow: str, least_s: float
) -> None:
    done = shell(PING, "--flow", flow)
    assert done.returncode == 0, done.stderr
    rtt, peer, kind, local = done.stdout.split()
    assert float(rtt) >= least_s
    assert (peer, kind, local) == ("10.54.0.1", "0", "10.53.0.1")
    found = summary(tmp_path)
    assert found["flow"] == flow
    assert found["status"] == 0
    assert found["to_peer_bytes"] == found["from_peer_bytes"] == 36
    assert found["live"]["entered_packets"] == found["live"]["delivered_packets"] == 2
    assert done.stderr.count("sojourn: ") >= 3


def test_a_transfer_takes_its_bytes_over_the_rate(
    place: Path, shell: Shell, tmp_path: Path
) -> None:
    (place / "server.py").write_text(SERVER)
    done = shell(CLIENT, "--server", f"exec '{sys.executable}' '{place}/server.py'", "--quiet")
    assert done.returncode == 0, done.stderr
    received, seconds = done.stdout.split()
    assert int(received) == 2_000_000
    assert float(seconds) >= 2_000_000 * 8 / 10e6
    assert done.stderr == ""
    found, link = summary(tmp_path), bottleneck(tmp_path)
    assert found["to_peer_bytes"] > 2_000_000
    # The scenario's duration has ended meanwhile; the links go on.
    assert found["time_s"] > 1
    assert 0 < link["queue_delay_p50_s"] <= link["queue_delay_max_s"] <= 0.045


def test_drops_and_marks_are_counted(shell: Shell, tmp_path: Path) -> None:
    assert shell(BURST).returncode == 0
    link, found = bottleneck(tmp_path), summary(tmp_path)
    assert link["arrived_packets"] == 400
    assert 0 < link["dropped_packets"] < 400
    assert link["arrived_packets"] == link["delivered_packets"] + link["dropped_packets"]
    assert link["marked_packets"] == 0
    assert found["to_peer_bytes"] == 1028 * link["delivered_packets"]
    (tmp_path / "summary.json").unlink()
    queue = 'link.bottleneck.queue={kind="step",k=10}'
    done = shell(BURST, "--set", queue, "--set", 'link.bottleneck.buffer="1s"')
    assert done.returncode == 0, done.stderr
    link = bottleneck(tmp_path)
    assert link["dropped_packets"] == 0
    assert 0 < link["marked_packets"] < 400


def test_tcp_requests_ecn(shell: Shell) -> None:
    done = shell("print(open('/proc/sys/net/ipv4/tcp_ecn').read().strip())", "--ecn")
    assert done.stdout == "1\n", done.stderr


AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@contextlib.contextmanager
def available(controller: str) -> Iterator[None]:
    """Load a controller of Sojourn into the kernel; skip the test if the kernel lacks another."""
    own = controller.removeprefix("sojourn_")
    if own == controller:
        if controller not in AVAILABLE.read_text().split():
            pytest.skip(f"the kernel has no {controller}")
        yield
        return
    with kernel_lock(), begun_in(Path(), command("kernel", "load", own)) as loader:
        if controller not in line(loader):
            pytest.skip(loader.communicate(timeout=60)[1].strip())
        yield
        loader.send_signal(signal.SIGTERM)
        loader.wait(60)


# If users may choose only reno and bbr, the other controllers cannot be a namespace's default.
@pytest.mark.parametrize("controller", ["reno", "cubic", "sojourn_lola"])
@pytest.mark.parametrize("version", ["", "6"])
def test_tcp_of_both_sides_has_the_requested_controller(
    place: Path, shell: Shell, version: str, controller: str
) -> None:
    (place / "named.py").write_text(NAMED_SERVER)
    server = f"exec '{sys.executable}' '{place}/named.py' '{version}'"
    with available(controller):
        options = ("--server", server, "--congestion", controller, "--quiet")
        done = shell(NAMED_CLIENT.replace("VERSION", version), *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [controller, controller]


@pytest.mark.parametrize(
    ("script", "status"), [("echo to; exit 7", 7), ("echo to; kill -9 $$", 137)]
)
def test_the_status_and_the_output_are_the_program_s(
    place: Path, sojourn: Sojourn, script: str, status: int
) -> None:
    done = sojourn("shell", place / "small.toml", "--quiet", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (status, "to\n", "")


def test_the_status_survives_a_parent_that_ignores_ended_children(place: Path) -> None:
    args = command("shell", place / "small.toml", "--", "sh", "-c", "exit 7")
    ignore = "trap '' CHLD; exec " + shlex.join(args)
    done = subprocess.run(["bash", "-c", ignore], env=environment(), timeout=60, check=False)
    assert done.returncode == 7


def test_arguments_of_the_program_are_its_own(place: Path, sojourn: Sojourn) -> None:
    args = ("--json", "--", "--quiet")
    done = sojourn("shell", place / "small.toml", "--", "echo", *args)
    assert done.stdout == "--json -- --quiet\n"
    assert "lateness of the emulation" in done.stderr


def test_a_signal_to_sojourn_reaches_the_program_once(place: Path) -> None:
    with started(place, "-c", INTERRUPTED) as process:
        assert line(process) == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == "interrupts: 1\n"
    assert process.returncode == 5
    assert "lateness of the emulation" in err


def test_ctrl_c_in_a_terminal_reaches_the_program_once(place: Path) -> None:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    args = command("shell", place / "small.toml", "--", sys.executable, "-c", INTERRUPTED)
    own = {**environment(), "TERM": "xterm"}
    keys = {"stdin": terminal, "stdout": terminal, "stderr": terminal, "preexec_fn": take_terminal}
    with subprocess.Popen(args, env=own, **keys) as process:  # type: ignore[call-overload]
        os.close(terminal)
        shown, is_pressed = b"", False
        with contextlib.suppress(OSError):
            while part := os.read(controller, 4096):
                shown += part
                # The live line shows that Sojourn watches the terminal.
                if not is_pressed and b"ready" in shown and b"0 drops" in shown:
                    os.write(controller, b"\x03")
                    is_pressed = True
        assert process.wait(60) == 5
    os.close(controller)
    assert b"interrupts: 1" in shown
    # The live line, below the scrolling region.
    assert b"\x1b[1;23r" in shown
    assert b"0 marks   0 drops" in shown
    assert b"lateness of the emulation" in shown


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """Mark this test's processes and their descendants, by their environment."""
    value = uuid.uuid4().hex
    monkeypatch.setenv("SOJOURN_TEST_MARK", value)
    return value


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143)]
)
def test_an_ended_sojourn_leaves_nothing(place: Path, mark: str, number: int, status: int) -> None:
    args = command("shell", place / "small.toml", "--", "sh", "-c", NESTED)
    with begun_in(place, args) as process:
        assert line(process) == "ready\n"
        # Sojourn, the keeper, the program and a child, whose environment is empty while it begins.
        until = time.monotonic() + 30
        while len(marked(mark)) < 4:
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(60) == status
        until = time.monotonic() + 30
        while (left := marked(mark)) and time.monotonic() < until:
            time.sleep(0.05)
    assert not left


def test_processes_that_the_program_leaves_are_ended(
    place: Path, mark: str, sojourn: Sojourn
) -> None:
    script = "trap '' TERM; sleep 1000 >/dev/null 2>&1 &"
    done = sojourn("shell", place / "small.toml", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert not marked(mark)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--"], "there is no COMMAND"),
        ([], "there is no COMMAND"),
        (["--", "no-such-program"], "no-such-program: command not found"),
        (["--flow", "upstream", "--", "true"], "it has upload, other"),
        (["--congestion", "nonsense", "--", "true"], "no congestion controller `nonsense`"),
        (["--server", "exit 3", "--", "true"], "the server ended with status 3"),
        (["--json", "small.toml", "--", "true"], "nothing is ever overwritten"),
    ],
)
def test_a_fault_is_one_line(place: Path, sojourn: Sojourn, args: list[str], said: str) -> None:
    done = sojourn("shell", "small.toml", *args, cwd=place)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def started(place: Path, *args: str) -> "AbstractContextManager[subprocess.Popen[str]]":
    return begun_in(place, command("shell", place / "small.toml", "--", sys.executable, *args))


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def marked(mark: str) -> list[int]:
    """Return the processes with a mark in their environment, but for ended ones."""
    found, own = [], f"SOJOURN_TEST_MARK={mark}".encode()
    for process in Path("/proc").iterdir():
        # A process may end meanwhile.
        with contextlib.suppress(OSError):
            if process.name.isdecimal() and own in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


def test_without_tun_a_program_reaches_its_peer(place: Path, tmp_path: Path) -> None:
    require(WITHOUT_TUN)
    summary = tmp_path / "summary.json"
    own = (place / "small.toml", "--json", summary, "--", sys.executable, "-c", PING)
    args = [*WITHOUT_TUN, *command("shell", *own)]
    done = subprocess.run(args, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    span, peer, kind, local = done.stdout.split()
    assert float(span) >= 0.020
    assert (peer, kind, local) == ("10.54.0.1", "0", "10.53.0.1")
    assert "sojourn: the timing is not guaranteed: no TUN device (cannot" in done.stderr
    assert json.loads(summary.read_text())["live"]["device"] == "veth"


# A disk of 64 kB that is full.
FULL_DISK = ["unshare", "--mount", "sh", "-c"]
FULL_DISK += ['mount -t tmpfs -o size=64k full "$0" && ! cat /dev/zero >"$0/fill" && exec "$@"']


def test_a_full_disk_is_named_with_the_file(place: Path, tmp_path: Path) -> None:
    full = [*FULL_DISK, str(tmp_path)]
    require(full)
    summary = tmp_path / "summary.json"
    own = (place / "small.toml", "--quiet", "--json", summary, "--", "true")
    args = [*full, *command("shell", *own)]
    done = subprocess.run(args, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    said = f"sojourn: {summary}: No space left on device; free space, or write to another disk"
    assert done.stderr.splitlines()[-1] == said


BACK = """
duration = "1s"
controls = ["cubic"]

[link.up]
delay = "10ms"

[link.down]
rate = "1Mbit"
delay = "10ms"

[flow.download]
path = ["up"]
back = ["down"]
"""


@pytest.mark.usefixtures("place")
def test_the_limited_link_on_the_way_back_is_summarised(sojourn: Sojourn, tmp_path: Path) -> None:
    """An unlimited link has no queue, so its delays and drops are empty and say nothing."""
    (tmp_path / "back.toml").write_text(BACK)
    options = ("--json", tmp_path / "summary.json")
    done = sojourn("shell", tmp_path / "back.toml", *options, "--", sys.executable, "-c", PING)
    assert "sojourn: link down: queueing delay p50 0 ms" in done.stderr
    assert summary(tmp_path)["bottleneck"] == "down"
