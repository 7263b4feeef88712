"""Load and unload controllers of the kernel many times while flows run, and check what remains.

    sudo .venv/bin/python studies/kernel/kernel_loads.py [--times 1000]

A third of the loaders end by `sojourn kernel unload --force`, a third by SIGTERM, a third by
SIGKILL. Flows of TCP over the loopback device of a namespace choose the controller whenever it is
loaded. The script prints one line of JSON. Its status is 1 if a controller, a program, a map or a
link of BPF remains, or if a flow is stuck.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kernel_bpf

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# Time in which a flow must have carried data, and a controller must have gone.
LIMIT_S = 60.0
BLOCK = bytes(1 << 16)
# Blocks of one connection.
BLOCKS = 64


class Flow(threading.Thread):
    """Connections over the loopback device, one after the other."""

    def __init__(self, controller: str) -> None:
        super().__init__(daemon=True)
        self.controller = controller
        self.ended = threading.Event()
        self.connections = 0
        self.chosen = 0
        self.fault: str | None = None

    def run(self) -> None:
        """Transfer data until `ended` is set."""
        try:
            while not self.ended.is_set():
                self._transfer()
                self.connections += 1
        except OSError as error:
            self.fault = str(error)

    def _transfer(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sender = socket.create_connection(listener.getsockname(), LIMIT_S)
            receiver, _ = listener.accept()
        with sender, receiver:
            receiver.settimeout(LIMIT_S)
            reader = threading.Thread(target=_read, args=(receiver,))
            reader.start()
            try:
                self._send(sender)
            finally:
                sender.shutdown(socket.SHUT_WR)
                reader.join()

    def _send(self, sender: socket.socket) -> None:
        for _ in range(BLOCKS):
            try:
                # Also in the middle of a connection, whenever the controller exists.
                sender.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_CONGESTION, f"sojourn_{self.controller}".encode()
                )
                self.chosen += 1
            except FileNotFoundError:
                pass
            sender.sendall(BLOCK)
            time.sleep(1e-3)


def _read(receiver: socket.socket) -> None:
    while receiver.recv(1 << 18):
        pass


def _command(*args: str) -> list[str]:
    return [sys.executable, "-m", "sojourn", "kernel", *args]


def _end(loader: "subprocess.Popen[str]", controller: str, turn: int) -> None:
    """End a loader in one of three ways."""
    if turn % 3 == 0:
        subprocess.run(_command("unload", controller, "--force"), check=True)
    else:
        loader.send_signal(signal.SIGTERM if turn % 3 == 1 else signal.SIGKILL)
    loader.wait(timeout=LIMIT_S)


def _is_gone(controller: str) -> bool:
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if f"sojourn_{controller}" not in AVAILABLE.read_text().split():
            return True
        time.sleep(0.01)
    return False


@contextmanager
def _flows(controller: str, count: int) -> Iterator[list[Flow]]:
    flows = [Flow(controller) for _ in range(count)]
    for flow in flows:
        flow.start()
    try:
        yield flows
    finally:
        for flow in flows:
            flow.ended.set()
        for flow in flows:
            flow.join(timeout=2 * LIMIT_S)


def _cycle(controller: str, turn: int) -> bool:
    """Load the controller, let flows use it, end the loader; return whether it has gone."""
    pipe = subprocess.PIPE
    with subprocess.Popen(_command("load", controller), stdout=pipe, stderr=pipe, text=True) as one:
        assert one.stdout is not None
        assert one.stderr is not None
        if not one.stdout.readline():
            sys.exit(f"the kernel loads no controller: {one.stderr.read().strip()}")
        time.sleep(5e-3 * (turn % 7))
        _end(one, controller, turn)
    return _is_gone(controller)


def _settled(before: dict[str, int]) -> dict[str, int]:
    """Return the objects beyond those of the beginning, once the kernel has freed the rest."""
    end = time.monotonic() + LIMIT_S
    while True:
        now = kernel_bpf.counts()
        left = {what: max(now[what] - before[what], 0) for what in now}
        if not any(left.values()) or time.monotonic() > end:
            return left
        time.sleep(0.1)


def _stuck(flows: list[Flow]) -> int:
    """Count the flows that complete no connection any more."""
    before = [flow.connections for flow in flows]
    end = time.monotonic() + LIMIT_S
    while True:
        pairs = zip(flows, before, strict=True)
        stuck = sum(flow.connections == count for flow, count in pairs)
        if not stuck or time.monotonic() > end:
            return stuck
        time.sleep(0.1)


def _measure(controller: str, times: int, count: int) -> dict[str, Any]:
    before, begin = kernel_bpf.counts(), time.monotonic()
    with _flows(controller, count) as flows:
        remained = sum(not _cycle(controller, turn) for turn in range(times))
        seconds = time.monotonic() - begin
        stuck = _stuck(flows)
    return {
        "controller": controller,
        "times": times,
        "time_s": round(seconds, 1),
        "connections": sum(flow.connections for flow in flows),
        "choices": sum(flow.chosen for flow in flows),
        "controllers_left": remained,
        "objects_left": _settled(before),
        "stuck_flows": stuck,
        "faults": [flow.fault for flow in flows if flow.fault],
    }


def main() -> int:
    """Print the counts as JSON; return 1 if something remains or is stuck."""
    parser = argparse.ArgumentParser(description="Load and unload a controller many times.")
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--controller", default="lola")
    parser.add_argument("--flows", type=int, default=4)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.inside:
        inside = [sys.executable, *sys.argv, "--inside"]
        os.execvp("unshare", ["unshare", "--net", *inside])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    figures = _measure(args.controller, args.times, args.flows)
    print(json.dumps(figures))
    left = figures["controllers_left"] or any(figures["objects_left"].values())
    return 1 if left or figures["stuck_flows"] or figures["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
