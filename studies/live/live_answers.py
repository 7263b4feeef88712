"""The time in which hosts answer a packet: the data of `noise` (`sojourn hosts`)."""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sojourn
from live_timing import RECEIVER, busy, packets

Row = dict[str, Any]
# Times of packets and of their answers, in s.
Answer = tuple[float, float]

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "target" / "vm" / "6.1"
# A host that answers later than this was held up: all packets of this time are answered at its end.
STALL_S = 0.5e-3
# Shares of the prompt answers whose times are kept.
SHARES = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
# Shares of the stalls whose lengths are kept.
STALL_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
GAP_S = 250e-6
# The least time after which a receiver acknowledges a single packet (TCP_DELACK_MIN; QUIC's 25 ms).
TIMER_S = 24e-3
# Types of messages over UDP.
DATA, ACK = 5, 6
# The busy machine has a process for each processor, at normal priority as the process that answers.
LOAD = os.cpu_count() or 1
NOISES = ("idle", "process", "busy", "virtual")


def answers(small: bool) -> list[Row]:
    """Measure the answer times of each kind of host."""
    seconds = 1 if small else 60
    measured: dict[str, Callable[[int], Sequence[Answer]]] = {
        "idle": lambda s: live(s, "kernel"),
        "process": lambda s: live(s, "udp"),
        "busy": of_busy_process,
        "virtual": of_virtual_machine,
    }
    names = NOISES[:2] if small else NOISES
    return [row(name, measured[name](seconds)) for name in names]


def row(name: str, found: Sequence[Answer]) -> Row:
    """Split answer times into prompt ones and stalls."""
    found = sorted(found)
    prompt, stalls, was_stalled = [], [], False
    for _, wait in found:
        is_stalled = wait > STALL_S
        if not is_stalled:
            prompt.append(wait)
        elif not was_stalled:
            # The first packet that waits sees nearly the whole of it.
            stalls.append(wait)
        was_stalled = is_stalled
    span = found[-1][0] - found[0][0]
    return {
        "noise": name,
        "answers": len(found),
        "prompt_us": [round(1e6 * one, 1) for one in at(prompt, SHARES)],
        "stalls": len(stalls),
        "between_stalls_ms": round(1e3 * span / len(stalls), 1) if stalls else None,
        "stall_us": [round(1e6 * one) for one in at(stalls, STALL_SHARES)],
    }


def at(values: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return the quantiles of values at shares, between neighbours in proportion."""
    ordered = sorted(values)
    if not ordered:
        return []
    places = [share * (len(ordered) - 1) for share in shares]
    low = [ordered[int(place)] for place in places]
    high = [ordered[min(int(place) + 1, len(ordered) - 1)] for place in places]
    return [a + (place % 1) * (b - a) for place, a, b in zip(places, low, high, strict=True)]


def live(seconds: int, stack: Any) -> list[Answer]:
    """Answers of receivers in a live run at 100 Mbit/s, whose hosts run before all else."""
    bottleneck = {"rate": "100Mbit", "delay": "10ms", "buffer": "2MB"}
    scenario = sojourn.Scenario(
        {
            "duration": f"{seconds}s",
            "host": "udp" if stack == "udp" else "linux-6.18",
            "controls": ["cubic"],
            "record": {"interval": "0s"},
            "link": {"there": bottleneck, "back": {"delay": "10ms"}},
            "flow": {"upload": {"path": ["there"], "back": ["back"]}},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "packets")
        sojourn.live(scenario, stack=stack, pcapng=place)
        seen = packets(place / "cubic-1.receiver.pcapng")
        return list(answers_of_tcp(seen) if stack == "kernel" else answers_of_udp(seen))


def answers_of_tcp(seen: Iterator[tuple[float, int, bytes]]) -> Iterator[Answer]:
    """Pair each acknowledgement with the packet whose end it acknowledges.

    While packets are missing, an acknowledgement does not tell which packet it answers. One that
    comes later than `TIMER_S` was sent by a timer.
    """
    arrivals: dict[int, float] = {}
    newest: int | None = None
    for moment, size, octets in seen:
        tcp = octets[4 * (octets[0] & 15) :]
        number, acknowledged = struct.unpack_from(">II", tcp, 4)
        length = size - (len(octets) - len(tcp)) - 4 * (tcp[12] >> 4)
        if octets[16:20] != RECEIVER:
            arrived = arrivals.pop(acknowledged, None)
            if arrived is not None and moment - arrived < TIMER_S:
                yield arrived, moment - arrived
        elif length > 0:
            end = (number + length) % 2**32
            if newest is None or number == newest:
                arrivals[end] = moment
            elif (number - newest) % 2**32 < 2**31:
                arrivals.clear()
            if newest is None or (end - newest) % 2**32 < 2**31:
                newest = end


def answers_of_udp(seen: Iterator[tuple[float, int, bytes]]) -> Iterator[Answer]:
    """Pair each acknowledgement with the newest packet that it has (crates/udp/src/wire)."""
    arrivals: dict[int, float] = {}
    for moment, _, octets in seen:
        message = octets[4 * (octets[0] & 15) + 8 :]
        kind = message[0] & 15
        if kind == DATA:
            arrivals[int.from_bytes(message[12:16])] = moment
        elif kind == ACK:
            arrived = arrivals.pop(int.from_bytes(message[16:20]), None)
            if arrived is not None and moment - arrived < TIMER_S:
                yield arrived, moment - arrived


def of_busy_process(seconds: int) -> list[Answer]:
    """Answers of a process that shares its processors with as many others."""
    echo = "import socket,sys\ns=socket.socket(type=socket.SOCK_DGRAM)\ns.bind(('127.0.0.1',0))\n"
    echo += "print(s.getsockname()[1],flush=True)\nwhile True: s.sendto(*s.recvfrom(2000))"
    with subprocess.Popen([sys.executable, "-c", echo], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            own = opened(0, int(process.stdout.readline()))
            return asked(own, seconds, lambda number: number.to_bytes(8) + bytes(1400), 0)
        finally:
            process.kill()


def opened(port: int, remote: int) -> socket.socket:
    """Open a socket of the loopback interface whose packets have the kernel's times."""
    own = socket.socket(type=socket.SOCK_DGRAM)
    own.bind(("127.0.0.1", port))
    own.connect(("127.0.0.1", remote))
    # SO_TIMESTAMPNS (Linux, include/uapi/asm-generic/socket.h), which Python does not name.
    own.setsockopt(socket.SOL_SOCKET, 35, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    own.setblocking(False)
    return own


@contextmanager
def before_all_else() -> Iterator[None]:
    """Run this process whenever it can run."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def asked(
    own: socket.socket, seconds: int, packet: Callable[[int], bytes], place: int
) -> list[Answer]:
    """Send a packet each 250 us to a host on a busy machine; `place` is that of its number."""
    sent: dict[int, int] = {}
    found: list[Answer] = []

    def take() -> None:
        while True:
            try:
                data, control, _, _ = own.recvmsg(2000, 200)
            except BlockingIOError:
                return
            start = sent.pop(int.from_bytes(data[place : place + 8]), None)
            whole, part = struct.unpack("qq", control[0][2][:16])
            if start is not None:
                found.append((start / 1e9, (whole * 10**9 + part - start) / 1e9))

    # The other processes keep the normal priority.
    with busy(LOAD), before_all_else():
        begin = time.time_ns()
        for number in range(int(seconds / GAP_S)):
            late_s = number * GAP_S - (time.time_ns() - begin) / 1e9
            if late_s > 0:
                time.sleep(late_s)
            octets = packet(number)
            sent[number] = time.time_ns()
            own.send(octets)
            take()
        time.sleep(0.5)
        take()
    return found


# The first process of the virtual machine. Its kernel answers the echo requests.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/sbin:/bin
mkdir -p /proc /sys /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
ln -s /bin/modprobe /sbin/modprobe
modprobe virtio_pci
modprobe virtio_net
sleep 1
ip link set eth0 up
ip address add 10.0.0.2/24 dev eth0
arp -s 10.0.0.1 02:00:00:00:00:01
echo ready >/dev/ttyS1
sleep 3600
"""


def of_virtual_machine(seconds: int) -> list[Answer]:
    """Answers of a guest whose processor is a thread of a busy machine."""
    own = opened(0, 9)
    free = socket.socket(type=socket.SOCK_DGRAM)
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    own.connect(("127.0.0.1", port))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with guest(folder, port, own.getsockname()[1]):
            until = time.monotonic() + 120
            while not (folder / "output").read_text():
                if time.monotonic() > until:
                    raise SystemExit("the virtual machine does not start")
                time.sleep(0.2)
            return asked(own, seconds, echo_request, 42)


@contextmanager
def guest(folder: Path, port: int, remote: int) -> Iterator[None]:
    """Run a virtual machine whose network is a socket: each datagram is an Ethernet frame."""
    if not KERNEL.exists():
        subprocess.run([ROOT / "tests" / "vm" / "fetch", "6.1", KERNEL], check=True)
    (folder / "output").touch()
    (folder / "init").write_text(INIT)
    (folder / "init").chmod(0o755)
    pack = [KERNEL / "busybox", "cpio", "--quiet", "-o", "-H", "newc"]
    own = subprocess.run(pack, input=b"init\n", cwd=folder, stdout=subprocess.PIPE, check=True)
    (folder / "initramfs").write_bytes((KERNEL / "modules.cpio").read_bytes() + own.stdout)
    ends = f"local.port={port},remote.port={remote}"
    hosts = "local.host=127.0.0.1,remote.host=127.0.0.1,local.type=inet,remote.type=inet"
    line = [
        *("qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64", "-smp", "1", "-m", "512"),
        *("-nodefaults", "-no-reboot", "-display", "none"),
        *("-serial", f"file:{folder}/console", "-serial", f"file:{folder}/output"),
        *("-netdev", f"dgram,id=net,{hosts},{ends}"),
        *("-device", "virtio-net-pci,netdev=net,mac=02:00:00:00:00:02,romfile="),
        *("-kernel", str(KERNEL / "vmlinuz"), "-initrd", f"{folder}/initramfs"),
        *("-append", "console=ttyS0 quiet panic=-1 mitigations=off ipv6.disable=1"),
    ]
    with subprocess.Popen(line, stdin=subprocess.DEVNULL) as machine:
        try:
            yield
        finally:
            machine.kill()


def echo_request(number: int) -> bytes:
    """Return the frame of an echo request with a number (RFC 791, RFC 792)."""
    data = number.to_bytes(8) + bytes(1400)
    sum_of_data = checksum(struct.pack(">BBHHH", 8, 0, 0, 1, 1) + data)
    request = struct.pack(">BBHHH", 8, 0, sum_of_data, 1, 1) + data
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(request), 1, 0, 64, 1, 0)
    sum_of_head = checksum(head + addresses)
    ethernet = bytes.fromhex("0200000000020200000000010800")
    return ethernet + head[:10] + struct.pack(">H", sum_of_head) + addresses + request


def checksum(octets: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
