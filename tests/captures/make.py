"""Record the captures of this folder: real TCP connections of this machine's kernel, by dumpcap.

    python3 tests/captures/make.py DIR [NAME ...]     # as root

Two hosts and the path between them are separate network namespaces. The path is a process
that forwards frames after a delay, and drops some. The names of the namespaces contain the
script's process number. The script removes them when it ends, after an error too.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DELAY_S = 0.015
PORT = 5001
REQUEST, RESPONSE = 200, 6_000
# Only headers are captured: Ethernet, IPv6, TCP with all its options.
SNAP_LEN = 14 + 40 + 60


@dataclass(frozen=True)
class Wanted:
    """A capture: its host, its interface and its traffic."""

    file: str
    where: str
    address: str = "192.0.2.%d"
    interface: str = "eth"
    options: tuple[str, ...] = ()
    timestamps: bool = True
    loss: float = 0.0
    upload: int = 0
    requests: int = 0


WANTED = (
    Wanted("timestamps.pcapng", "client", loss=0.02, upload=120_000, requests=4),
    Wanted(
        "no-timestamps.pcap",
        *("path", "192.0.2.%d", "eth1", ("-P",)),
        timestamps=False,
        loss=0.02,
        upload=120_000,
        requests=4,
    ),
    Wanted("ipv6.pcapng", "server", "2001:db8::%d", requests=12),
    Wanted(
        "any-sll2.pcap",
        *("server", "192.0.2.%d", "any", ("-P", "-y", "LINUX_SLL2")),
        upload=30_000,
        requests=4,
    ),
)


def main() -> None:
    """Record the named captures, or all."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    for wanted in WANTED:
        if not names or wanted.file in names:
            make(wanted, folder / wanted.file)


def make(wanted: Wanted, file: Path) -> None:
    """Set up the path, capture while the connections run, and remove the path."""
    spaces = {name: f"sojourn-{os.getpid()}-{name}" for name in ("client", "path", "server")}
    with _namespaces(spaces, wanted):
        forward = ("forward", str(DELAY_S), str(wanted.loss))
        with _process(spaces["path"], forward), _process(spaces["server"], ("serve",)):
            dumpcap = ["dumpcap", "-q", "-i", wanted.interface, "-s", str(SNAP_LEN), "-w", "-"]
            inside = ["ip", "netns", "exec", spaces[wanted.where]]
            capture = _start([*inside, *dumpcap, *wanted.options, "-f", "tcp"], file)
            # dumpcap does not report that it is ready.
            time.sleep(1.5)
            send = ("send", wanted.address % 2, str(wanted.upload), str(wanted.requests))
            subprocess.run(_inside(spaces["client"], send), check=True, timeout=60)
            time.sleep(1.0)
            capture.terminate()
            capture.wait(timeout=10)


def _start(command: list[str], file: Path) -> "subprocess.Popen[bytes]":
    with file.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)


def _inside(space: str, args: tuple[str, ...]) -> list[str]:
    return ["ip", "netns", "exec", space, sys.executable, __file__, "--", *args]


@contextmanager
def _process(space: str, args: tuple[str, ...]) -> Iterator[None]:
    running = subprocess.Popen(_inside(space, args), stdout=subprocess.PIPE)
    try:
        assert running.stdout is not None
        running.stdout.readline()  # it is ready
        yield
    finally:
        running.kill()
        running.wait()


@contextmanager
def _namespaces(spaces: dict[str, str], wanted: Wanted) -> Iterator[None]:
    def ip(*args: str) -> None:
        subprocess.run(["ip", *args], check=True)

    try:
        for space in spaces.values():
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
        for number, end in ((1, "client"), (2, "server")):
            space, path = spaces[end], spaces["path"]
            peer = ("type", "veth", "peer", "name", f"eth{number}", "netns", path)
            ip("link", "add", "eth", "netns", space, *peer)
            length = "64" if ":" in wanted.address else "24"
            address = f"{wanted.address % number}/{length}"
            more = ("nodad",) if ":" in wanted.address else ()
            ip("-n", space, "addr", "add", address, "dev", "eth", *more)
            for inside, name in ((space, "eth"), (path, f"eth{number}")):
                ip("-n", inside, "link", "set", name, "up")
            prepare = ("prepare", "eth", str(int(wanted.timestamps)))
            subprocess.run(_inside(space, prepare), check=True)
        yield
    finally:
        for space in spaces.values():
            subprocess.run(["ip", "netns", "del", space], check=False)


def prepare(interface: str, timestamps: str) -> None:
    """Disable offload, so that packets are as on a cable: at most one MTU, with checksums."""
    Path("/proc/sys/net/ipv4/tcp_timestamps").write_text(timestamps)
    siocethtool, names = 0x8946, interface.encode().ljust(16, b"\0")
    # linux/ethtool.h: STXCSUM, STSO, SGSO, SGRO.
    for command in (0x17, 0x1F, 0x24, 0x2C):
        off = (ctypes.c_uint32 * 2)(command, 0)
        request = struct.pack("=16sQ16x", names, ctypes.addressof(off))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, siocethtool, request)


def forward(delay: str, loss: str) -> None:
    """Forward frames after a delay; drop some of those with a payload."""
    chance, dice = float(loss), random.Random(1)
    sides = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2)]
    for number, side in enumerate(sides, start=1):
        side.bind((f"eth{number}", 3))
    print("ready", flush=True)
    waiting: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 60.0
        for side in select.select(sides, [], [], left)[0]:
            frame, (_, _, kind, *_) = side.recvfrom(65_536)
            # A packet socket also receives the frames that this process sends.
            if kind == socket.PACKET_OUTGOING or (len(frame) > 200 and dice.random() < chance):
                continue
            count += 1
            due = time.monotonic() + float(delay)
            heapq.heappush(waiting, (due, count, 1 - sides.index(side), frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to, frame = heapq.heappop(waiting)
            sides[to].send(frame)


def serve() -> None:
    """Read uploads to their end, and answer requests."""
    with socket.create_server(
        ("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True
    ) as listening:
        print("ready", flush=True)
        while True:
            with listening.accept()[0] as connection:
                kind = _exactly(connection, 1)
                while kind == b"u" and connection.recv(65_536):
                    pass
                while kind == b"r" and len(_exactly(connection, REQUEST)) == REQUEST:
                    connection.sendall(b"a" * RESPONSE)


def send(address: str, upload: str, requests: str) -> None:
    """Upload over one connection; then send requests over another, 0.3 s between them."""
    if int(upload):
        with socket.create_connection((address, PORT)) as connection:
            connection.sendall(b"u" + bytes(int(upload)))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
    with socket.create_connection((address, PORT)) as connection:
        connection.sendall(b"r")
        for _ in range(int(requests)):
            connection.sendall(b"q" * REQUEST)
            _exactly(connection, RESPONSE)
            time.sleep(0.3)


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count and (more := connection.recv(count - len(got))):
        got += more
    return got


if __name__ == "__main__":
    if sys.argv[1:2] == ["--"]:
        {"prepare": prepare, "forward": forward, "serve": serve, "send": send}[sys.argv[2]](
            *sys.argv[3:]
        )
    else:
        main()
