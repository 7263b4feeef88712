"""Controllers in the kernel from the command line, where this machine allows them."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sojourn as package
from support import ROOT, Sojourn, command, environment, kernel_lock, leave_out_live, require

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@pytest.fixture(autouse=True)
def _kernel(sojourn: Sojourn) -> Iterator[None]:
    with kernel_lock():
        _require_kernel(sojourn)
        yield


def _require_kernel(sojourn: Sojourn) -> None:
    status = sojourn("kernel", "status", "--json")
    if status.returncode != 0:
        leave_out_live(status.stderr)
    if json.loads(status.stdout):
        pytest.skip("a controller of Sojourn is loaded on this machine")


@contextmanager
def loaded(*options: str) -> Iterator["subprocess.Popen[str]"]:
    """Load LoLa until the end of the context."""
    args = command("kernel", "load", "lola", *options)
    pipe = subprocess.PIPE
    with subprocess.Popen(args, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                assert process.stderr is not None
                leave_out_live(process.stderr.read())
            assert "sojourn_lola" in line
            yield process
        finally:
            process.kill()


def gone(name: str = "lola") -> bool:
    """Wait until the kernel has no such controller of Sojourn."""
    for _ in range(300):
        if f"sojourn_{name}" not in AVAILABLE.read_text().split():
            return True
        time.sleep(0.1)
    return False


def test_a_controller_is_loaded_shown_and_unloaded(sojourn: Sojourn) -> None:
    with loaded("--set", "q_target=2ms") as process:
        (one,) = json.loads(sojourn("kernel", "status", "--json").stdout)
        assert (one["name"], one["kernel_name"]) == ("lola", "sojourn_lola")
        assert (one["pinned"], one["params"]["q_target"]) == (False, "2ms")
        second = sojourn("kernel", "load", "lola")
        assert second.returncode == 2
        assert "sojourn kernel unload lola" in second.stderr
        assert sojourn("kernel", "unload", "lola").returncode == 0
        # The loader notices, and ends.
        assert process.wait(timeout=60) == 0
        assert gone()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_loader_unregisters(number: signal.Signals) -> None:
    with loaded() as process:
        process.send_signal(number)
        process.wait(timeout=60)
        assert gone()


# Its root has all capabilities, and only inside.
USER_NAMESPACE = ["unshare", "--user", "--map-root-user"]


def test_root_of_a_user_namespace_is_refused(sojourn: Sojourn, tmp_path: Path) -> None:
    require(USER_NAMESPACE)
    scenario = tmp_path / "file.toml"
    scenario.write_text(FINITE.format(queue='"droptail"'))
    commands: list[list[str | Path]] = [
        ["kernel", "status", "--json"],
        ["kernel", "unload", "lola"],
        ["kernel", "load", "dctcp"],
        # It cannot read the parameters of the loaded controller.
        ["live", scenario, "--control", "lola", "--json"],
    ]
    with loaded() as process:
        for words in commands:
            line = [*USER_NAMESPACE, *command(*words)]
            done = subprocess.run(line, env=environment(), capture_output=True, text=True)
            assert (done.returncode, done.stdout) == (2, ""), done.stderr
            assert "only root, outside user namespaces, can load, list and unload" in done.stderr
        assert process.poll() is None
        (one,) = json.loads(sojourn("kernel", "status", "--json").stdout)
        assert one["name"] == "lola"


def test_wrong_names_and_values_are_refused(sojourn: Sojourn) -> None:
    unknown = sojourn("kernel", "load", "reno")
    assert unknown.returncode == 2
    assert "there is no controller `reno` for the kernel" in unknown.stderr
    outside = sojourn("kernel", "load", "lola", "--set", "q_target=99s")
    assert outside.returncode == 2
    assert "it must be 1us to 10s" in outside.stderr
    bare = sojourn("kernel", "load", "lola", "--set", "q_target=2")
    assert "`q_target` is 2: the unit is missing" in bare.stderr
    near = sojourn("kernel", "load", "lola", "--set", "q_targe=2ms")
    assert "did you mean `q_target`?" in near.stderr
    assert all("flow.kernel" not in one.stderr for one in (outside, bare, near))
    absent = sojourn("kernel", "unload", "lola")
    assert absent.returncode == 2
    assert "`lola` is not loaded" in absent.stderr


def test_live_runs_load_what_they_need(sojourn: Sojourn, tmp_path: Path) -> None:
    scenario = tmp_path / "marks.toml"
    scenario.write_text(
        'duration = "2s"\n[link.there]\nrate = "20Mbit"\ndelay = "2ms"\n'
        'queue = { kind = "step", k = 10 }\n[link.back]\ndelay = "2ms"\n'
        '[flow.bulk]\npath = ["there"]\nback = ["back"]\n'
    )
    done = sojourn("live", scenario, "--control", "dctcp,lola", "--json")
    if done.returncode != 0:
        leave_out_live(done.stderr)
    dctcp, lola = json.loads(done.stdout)["runs"]
    assert dctcp["links"][0]["marked_packets"] > 0
    assert all(run["flows"][0]["goodput_bps"] > 0 for run in (dctcp, lola))
    assert json.loads(sojourn("kernel", "status", "--json").stdout) == []


# A file that has arrived before the end, so that no mark is on its way.
FINITE = """
duration = "4s"
[link.there]
rate = "20Mbit"
delay = "5ms"
buffer = "1MB"
queue = {queue}
[link.back]
delay = "5ms"
[flow.file]
path = ["there"]
back = ["back"]
source = {{ kind = "file", size = "3MB" }}
"""


@pytest.mark.parametrize(
    ("control", "queue"),
    [
        ("dctcp", '{ kind = "step", k = 10 }'),
        ("dctcp", '{ kind = "codel", ecn = true, ce_threshold = "4ms" }'),
        ("prague", '{ kind = "codel", ecn = true, ce_threshold = "4ms" }'),
        ("prague", '{ kind = "step", k = 10 }'),
        ("prague", '"dualpi2"'),
    ],
)
def test_the_kernel_counts_every_mark(tmp_path: Path, control: str, queue: str) -> None:
    scenario = tmp_path / "file.toml"
    scenario.write_text(FINITE.format(queue=queue))
    try:
        run = package.live(scenario, control)
    except package.LiveError as error:
        leave_out_live(error)
    (flow,), (link, _) = run.runs[0]["flows"], run.runs[0]["links"]
    if flow["completed_transfers"] == 0 or flow["retransmitted_packets"] > 0:
        pytest.skip("this machine was too busy for the transfer")
    assert link["marked_packets"] > 0
    assert flow["marked_packets"] == link["marked_packets"]
    # The sender's `delivered_ce`.
    assert run.flow("file").series["marked_packets"].max() == link["marked_packets"]


def test_a_device_is_for_l4s(sojourn: Sojourn) -> None:
    wrong = sojourn("kernel", "load", "lola", "--device", "lo")
    assert wrong.returncode == 2
    assert "lola does not use L4S" in wrong.stderr
    both = sojourn("kernel", "load", "prague", "--device", "lo", "--pin")
    assert both.returncode == 2
    assert "leave out --pin" in both.stderr
    absent = sojourn("kernel", "load", "prague", "--device", "absent0")
    assert absent.returncode == 2
    assert "there is no device `absent0`" in absent.stderr


def test_loads_and_unloads_leave_nothing_while_flows_run() -> None:
    require(["unshare", "--net"])
    script = ROOT / "studies" / "kernel" / "kernel_loads.py"
    line = [sys.executable, str(script), "--times", "6"]
    done = subprocess.run(line, env=environment(), capture_output=True, text=True)
    assert done.stdout, done.stderr
    figures = json.loads(done.stdout)
    # Other tests have programs in the kernel too, so that `objects_left` says nothing here.
    assert figures["controllers_left"] == figures["stuck_flows"] == 0
    assert figures["faults"] == []
    assert figures["choices"] > 0


# In a network namespace: sends data over the loopback device with Prague at the sender, and prints
# the ECN fields of the packets with data.
ECN_FIELDS = """
import socket, subprocess, sys, threading
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
loader = subprocess.Popen(
    [sys.executable, "-m", "sojourn", "kernel", "load", "prague", "--device", "lo"],
    stdout=subprocess.PIPE,
)
if not loader.stdout.readline():
    sys.exit(2)
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
packets.bind(("lo", 0))
listener, sender = socket.socket(), socket.socket()
for one, name in ((sender, b"sojourn_prague"), (listener, sys.argv[1].encode())):
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
listener.bind(("127.0.0.1", 0))
listener.listen()
sender.connect(listener.getsockname())
receiver, _ = listener.accept()
reader = threading.Thread(target=lambda: receiver.recv(1 << 20, socket.MSG_WAITALL))
reader.start()
sender.sendall(bytes(1 << 20))
reader.join()
loader.kill()
packets.setblocking(False)
fields = set()
while True:
    try:
        packet = packets.recv(1 << 16)
    except BlockingIOError:
        break
    if len(packet) > 1000:
        fields.add(packet[1] & 3)
print(sorted(fields))
"""


# A receiver with Reno negotiates classic ECN, and the sender changes to Reno.
@pytest.mark.parametrize(("receiver", "fields"), [("sojourn_prague", [1]), ("reno", [2])])
def test_prague_sends_ect1_through_a_device(receiver: str, fields: list[int]) -> None:
    require(["unshare", "--net"])
    line = ["unshare", "--net", sys.executable, "-c", ECN_FIELDS, receiver]
    done = subprocess.run(line, env=environment(), capture_output=True, text=True)
    if done.returncode == 2:
        leave_out_live(done.stderr)
    assert done.stdout == f"{fields}\n", done.stderr
    assert gone("prague")


# Chooses LoLa as a user without privilege, who may read this machine's Python.
CHOICE = """
import os, socket
os.seteuid(65534)
socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"sojourn_lola")
"""


def test_users_without_privilege_choose_allowed_controllers_only() -> None:
    with loaded():
        done = subprocess.run([sys.executable, "-c", CHOICE], capture_output=True, text=True)
        assert "PermissionError" in done.stderr


# A file system of BPF that only this shell and its children see, and that ends with them.
PINNED = """
set -e
mount -t bpf bpf /sys/fs/bpf
"$@" kernel load lola --pin >&2
"$@" kernel status --json
"$@" kernel unload lola
"$@" kernel status --json
ls /sys/fs/bpf
"""


def test_a_pinned_controller_outlives_its_loader() -> None:
    require(["unshare", "--mount"])
    line = ["unshare", "--mount", "sh", "-c", PINNED, "sh", *command()]
    done = subprocess.run(line, env=environment(), capture_output=True, text=True)
    if done.stderr.startswith("mount: "):
        pytest.skip(f"no file system of BPF here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    loaded, unloaded, *files = done.stdout.splitlines()
    assert [(one["name"], one["pinned"]) for one in json.loads(loaded)] == [("lola", True)]
    assert json.loads(unloaded) == []
    assert "sojourn_lola" not in files
    assert gone()
