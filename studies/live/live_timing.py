"""The emulation itself: throughput, lateness, costs and devices."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import sojourn

Row = dict[str, Any]

# Time 0 of a run in its captures, 2000-01-01T00:00:00Z.
EPOCH_NS = 946_684_800 * 10**9
# Address of the first flow's receiver.
RECEIVER = bytes([10, 54, 0, 1])
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

ONE = '[flow.there]\npath = ["there"]\nback = ["back"]\n'
EACH = ONE + '[flow.back]\npath = ["back"]\nback = ["there"]\n'
TEN = ONE + "count = 10\n"


def links(rate: str, delay: str, seconds: float) -> str:
    """Return two links, there and back; the queue holds a round trip at 1 Gbit/s and 10 ms."""
    given = f'rate = "{rate}"\nbuffer = "1MB"\n' if rate else ""
    head = f'duration = "{seconds}s"\nhost = "rfc"\ncontrols = ["cubic"]\n'
    return head + "".join(
        f'[link.{name}]\n{given}delay = "{delay}"\n' for name in ("there", "back")
    )


def measured(
    text: str,
    *options: str,
    within: Sequence[str] = (),
    screen: tuple[int, int] | None = None,
    look: Callable[[int], None] = lambda _: None,
) -> tuple[Row, dict[str, float]]:
    """Run a scenario; return its summary and the processor time of each thread in s.

    `within` is a command that runs another. `screen` is the size of a terminal for standard error.
    `look` is called with the process's number again and again.
    """
    # A busy machine may hide a thread of a short run.
    times: dict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        out = stack.enter_context(Path(folder, "out").open("w+"))
        file = Path(folder, "scenario.toml")
        file.write_text(text)
        line = [sys.executable, "-m", "sojourn", "live", str(file), "--json", "--no-report"]
        errors = None if screen is None else stack.enter_context(terminal(*screen))
        env = {**os.environ, "TERM": "xterm"}
        with subprocess.Popen(
            [*within, *line, *options], cwd=folder, stdout=out, stderr=errors, env=env
        ) as process:
            while process.poll() is None:
                # A thread's time is gone with the thread.
                for name, now_s in thread_times(process.pid).items():
                    times[name] = max(times[name], now_s)
                look(process.pid)
                time.sleep(0.02)
        if process.returncode:
            raise SystemExit(process.returncode)
        out.seek(0)
        run: Row = json.load(out)["runs"][0]
    return run, times


@contextmanager
def terminal(columns: int, rows: int) -> Iterator[int]:
    """Open a terminal of this size, whose output another thread reads and forgets."""
    keeper, own = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read() -> None:
        # The end of the last writer is an error of the reader.
        with suppress(OSError):
            while os.read(keeper, 65_536):
                pass

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield own
    finally:
        os.close(own)
        reader.join()
        os.close(keeper)


def thread_times(process: int) -> dict[str, float]:
    """Return the processor time of the threads of a process, by their names."""
    found: dict[str, float] = {}
    for thread in Path(f"/proc/{process}/task").glob("*"):
        try:
            name = (thread / "comm").read_text().strip()
            fields = (thread / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # User and system time (proc(5), fields 14 and 15).
        found[name] = found.get(name, 0.0) + TICK_S * (int(fields[11]) + int(fields[12]))
    return found


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep processors busy at normal priority."""
    with ExitStack() as stack:
        for _ in range(count):
            one = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(one.wait)
            stack.callback(one.kill)
        yield


def packets(file: Path) -> Iterator[tuple[float, int, bytes]]:
    """Yield the time in the run, the size and the first bytes of each packet of a capture."""
    data = file.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        # Enhanced packet blocks (draft-ietf-opsawg-pcapng, section 4.3), times in ns.
        if kind == 6:
            high, low, kept, size = struct.unpack_from("<IIII", data, at + 12)
            moment_ns = (high << 32 | low) - EPOCH_NS
            yield moment_ns / 1e9, size, data[at + 28 : at + 28 + kept]
        at += length


def throughput(small: bool) -> list[Row]:
    """Measure what the links carry without and with a rate.

    BBR fills both directions. CUBIC does not: its acknowledgements wait behind the data of the
    other flow.
    """
    seconds, steady_s = (0.3, 0.1) if small else (4, 2.0)
    found: list[Row] = []
    for name, flows in (("one way", ONE), ("each way", EACH)):
        run, times = measured(links("", "10us", seconds) + flows)
        least = min(flow["goodput_bps"] for flow in run["flows"])
        packet_us = 1e6 * times["bottleneck"] / run["live"]["entered_packets"]
        found.append(
            {"link": f"unlimited, {name}", "goodput_gbps": least / 1e9, "packet_us": packet_us}
        )
    record = sojourn.live(sojourn.Scenario.parse(links("1Gbit", "5ms", seconds) + EACH), "bbr")
    own: Mapping[str, Any] = record.runs[0]
    live, both = own["live"], own["links"]
    dropped = sum(link["dropped_packets"] for link in both)
    copies = sum(link["duplicated_packets"] for link in both)
    out = live["delivered_packets"] + live["refused_packets"] + live["inside_packets"] + dropped
    found.append(
        {
            "link": "1 Gbit/s each way, BBR",
            "goodput_gbps": min(flow["goodput_bps"] for flow in own["flows"]) / 1e9,
            "packet_us": None,
            "line_share": min(carried_bps(record, link["name"], steady_s) for link in both) / 1e9,
            "overflowed_packets": live["overflowed_packets"],
            "unaccounted_packets": live["entered_packets"] + copies - out,
        }
    )
    keys = found[-1]
    return [{key: row.get(key) for key in keys} for row in found]


def carried_bps(run: sojourn.Run, link: str, begin_s: float) -> float:
    """Return the mean rate of a link by its own count of the bits sent."""
    carried = run.link(link).series.filter(pl.col("t_s") > begin_s)["carried_bps"].mean()
    assert isinstance(carried, float)
    return carried


def lateness(small: bool) -> list[Row]:
    """Measure packets beside two busy processes, and the error of the mean rate: medians."""
    seconds, runs = (0.3, 1) if small else (4, 5)
    found = []
    for rate_mbps in (100,) if small else (100, 1000):
        scenario = sojourn.Scenario.parse(links(f"{rate_mbps}Mbit", "5ms", seconds) + ONE)
        with busy(2):
            lives: list[Mapping[str, Any]] = [
                sojourn.live(scenario).runs[0]["live"] or {} for _ in range(runs)
            ]
            means = [mean_bps(scenario, 0.1 if small else 2.0) for _ in range(runs)]
        late = {
            f"{kind}_{key}_us": 1e6 * median(one[f"{kind}_{key}_s"] for one in lives)
            for kind in ("departure", "lateness")
            for key in ("p50", "p99", "p999")
        }
        error = median(abs(mean / (1e6 * rate_mbps) - 1) for mean in means)
        found.append({"rate_mbps": rate_mbps, **late, "rate_error_share": error})
    return found


def mean_bps(scenario: sojourn.Scenario, begin_s: float) -> float:
    """Return the mean rate of the packets in a capture at the receiver, after slow start."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "packets")
        live = sojourn.live(scenario, pcapng=place).runs[0]["live"]
        if live["uncaptured_packets"]:
            raise SystemExit("the capture lacks packets: use a faster disk")
        data = [
            (at, size)
            for at, size, kept in packets(place / "cubic-1.receiver.pcapng")
            if kept[16:20] == RECEIVER and at > begin_s
        ]
    (start, _), (end, _) = data[0], data[-1]
    # Packets of the first write have its time.
    return 8 * sum(size for at, size in data if at > start) / (end - start)


def costs(small: bool) -> list[Row]:
    """Return the share of a core of each observer.

    Starting the interpreter takes longer than drawing: the shares of the charts are those of the
    further seconds of longer runs, less those of a run without charts.
    """
    seconds, longer, runs = (0.5, 1, 1) if small else (4, 12, 3)
    rate = "100Mbit" if small else "1Gbit"
    _, ten = measured(links("100Mbit", "5ms", seconds) + TEN)
    with tempfile.TemporaryDirectory() as place:
        text = links(rate, "5ms", seconds) + ONE
        _, capture = measured(text, "--pcapng", str(Path(place) / "packets"))
    found = [
        {"observer": "TCP_INFO of 10 flows each ms", "core_share": ten["run"] / seconds},
        {"observer": "capture at 1 Gbit/s", "core_share": capture["capture"] / seconds},
    ]
    shares: dict[tuple[int, int] | None, float] = {}
    for screen in ((80, 24),) if small else (None, (80, 24), (200, 60)):
        options = () if screen is None else ("--view",)
        spent = []
        for duration in (seconds, longer):
            text = links(rate, "5ms", duration) + ONE
            times = [measured(text, *options, screen=screen)[1] for _ in range(runs)]
            spent.append(median(interpreter_s(one) for one in times))
        shares[screen] = (spent[1] - spent[0]) / (longer - seconds)
    for screen, share in shares.items():
        if screen is not None:
            name = f"charts on {screen[0]} x {screen[1]} cells"
            found.append({"observer": name, "core_share": share - shares.get(None, 0.0)})
    return found


def interpreter_s(times: Mapping[str, float]) -> float:
    """Return the processor time of the threads of Python, which have the name of the program."""
    return sum(spent for name, spent in times.items() if name.startswith("python"))


def tcp_probe(small: bool) -> list[Row]:
    """Return the time of the program at `tcp_probe`, and the cost of its reader, at 1 Gbit/s.

    The kernel's count of its time is on for the whole machine during the run.
    """
    seconds = 1 if small else 4
    counts: dict[str, str] = {}
    statistics = Path("/proc/sys/kernel/bpf_stats_enabled")

    def look(process: int) -> None:
        for file in Path(f"/proc/{process}/fdinfo").glob("*"):
            with suppress(OSError):
                lines = file.read_text().splitlines()
                fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                # BPF_PROG_TYPE_TRACING (Linux, include/uapi/linux/bpf.h).
                if fields.get("prog_type") == "26":
                    counts.update(fields)

    before = statistics.read_text()
    statistics.write_text("1")
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = str(Path(folder, "acks"))
            text = links("1Gbit", "5ms", seconds) + ONE
            run, times = measured(text, "--tcp-probe", place, look=look)
    finally:
        statistics.write_text(before)
    rows = int(counts.get("run_cnt", 0))
    return [
        {
            "rows_per_s": run["live"]["ack_rows"] / seconds,
            "row_ns": int(counts["run_time_ns"]) / rows if rows else None,
            "core_share": times["tracing"] / seconds,
            "missed_rows": run["live"]["missed_ack_rows"],
        }
    ]


def first_packets(small: bool) -> list[Row]:
    """Return the time from the start of a flow until its first packet is on the links."""
    # Without the random delay of the start.
    head = 'start_jitter = "0s"\n'
    # On a busy machine, the first packet may be late by more than half a second.
    text = head + links("10Mbit" if small else "100Mbit", "5ms", 3) + ONE + 'start = "500ms"\n'
    found = []
    for hosts in ("kernel",) if small else ("kernel", "udp"):
        late = sorted(first_ms(text, hosts) for _ in range(1 if small else 15))
        found.append(
            {
                "hosts": hosts,
                "median_ms": median(late),
                "least_ms": late[0],
                "greatest_ms": late[-1],
            }
        )
    return found


def first_ms(text: str, hosts: Any) -> float:
    """Return this time of one run."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "packets")
        sojourn.live(sojourn.Scenario.parse(text), stack=hosts, pcapng=place)
        at, _, _ = next(packets(place / "cubic-1.sender.pcapng"))
    return 1e3 * (at - 0.5)


WITHOUT_TUN = ["sh", "-c", 'mount --bind /dev/null /dev/net/tun && exec "$@"', "sh"]
DEVICES: Mapping[str, Sequence[str]] = {
    "TUN": [],
    "veth, root": ["unshare", "--mount", *WITHOUT_TUN],
    "veth, user namespace": ["unshare", "--user", "--map-root-user", "--mount", *WITHOUT_TUN],
}


def devices(small: bool) -> list[Row]:
    """Return medians of the goodput and of the error of departures."""
    seconds, runs = (1, 1) if small else (4, 5)
    choices = [("", "10us"), ("1Gbit", "5ms"), ("100Mbit", "5ms")]
    found = []
    for rate, delay in choices[-1:] if small else choices:
        for device in list(DEVICES)[:1] if small else DEVICES:
            text = links(rate, delay, seconds) + ONE
            lives = [measured(text, within=DEVICES[device])[0] for _ in range(runs)]
            late = {
                f"departure_{key}_us": 1e6
                * median(run["live"][f"departure_{key}_s"] for run in lives)
                for key in ("p50", "p99", "p999")
            }
            goodput_bps = median(run["flows"][0]["goodput_bps"] for run in lives)
            link = f"{rate or 'unlimited'}, {delay}"
            found.append(
                {"link": link, "device": device, "goodput_mbps": goodput_bps / 1e6, **late}
            )
    return found
