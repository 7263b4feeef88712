"""Measure live runs: `.venv/bin/python benches/live.py [PART ...]`.

As root, on a machine without other work, all parts take nine minutes. It prints tables of the
figures, those of `aims` beside their aims, and writes them to `benches/live.json` and into
docs/live.md, in the places that comments mark. The parts:

- `aims`: throughput, lateness beside busy processes, the cost of TCP_INFO and of captures
- `tcp_probe`: the cost of a row for each acknowledgement
- `drawing`: the cost of the charts of `--view`
- `first`: the delay of a flow's first packet
- `devices`: TUN and veth, as root and in a user namespace
"""

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import sojourn

RESULTS = Path(__file__).with_name("live.json")
PAGE = Path(__file__).parents[1] / "docs" / "live.md"

SECONDS = 4
# Slow start is over by then at all rates of this program.
STEADY_S = 2.0
# Time 0 of a run in its captures, 2000-01-01T00:00:00Z.
EPOCH_NS = 946_684_800 * 10**9
# Address of the first flow's receiver.
RECEIVER = bytes([10, 54, 0, 1])
RUNS = 5
BUSY = 2
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

# The queue holds a round trip at 1 Gbit/s and 10 ms.
BUFFER = 'buffer = "1MB"\n'
LINK = '[link.{}]\n{}delay = "{}"\n'
FLOW = '[flow.{}]\npath = ["{}"]\nback = ["{}"]\n'


def links(rate: str, delay: str = "5ms", seconds: int = SECONDS) -> str:
    """Return two links, there and back."""
    given = f'rate = "{rate}"\n{BUFFER}' if rate else ""
    head = f'duration = "{seconds}s"\ncontrols = ["cubic"]\n'
    return head + LINK.format("there", given, delay) + LINK.format("back", given, delay)


ONE = FLOW.format("there", "there", "back")
EACH = ONE + FLOW.format("back", "back", "there")
TEN = ONE + "count = 10\n"


def measured(
    text: str,
    *options: str,
    within: Sequence[str] = (),
    screen: tuple[int, int] | None = None,
    look: Callable[[int], None] = lambda _: None,
) -> tuple[dict[str, Any], dict[str, float]]:
    """Run a scenario; return its summary and the processor time of each thread in s.

    `within` is a command that runs another. `screen` is the size of a terminal for standard error.
    `look` is called with the process's number again and again.
    """
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        out = stack.enter_context(Path(folder, "out").open("w+"))
        file = Path(folder, "scenario.toml")
        file.write_text(text)
        line = [sys.executable, "-m", "sojourn", "live", file, "--json", "--no-report", *options]
        errors = None if screen is None else stack.enter_context(terminal(*screen))
        env = {**os.environ, "TERM": "xterm"}
        with subprocess.Popen(
            [*within, *line], cwd=folder, stdout=out, stderr=errors, env=env
        ) as process:
            while process.poll() is None:
                # A thread's time is gone with the thread.
                for name, now_s in thread_times(process.pid).items():
                    times[name] = max(times.get(name, 0.0), now_s)
                look(process.pid)
                time.sleep(0.02)
        if process.returncode:
            raise SystemExit(process.returncode)
        out.seek(0)
        summary = json.load(out)
    return summary["runs"][0], times


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


def unshaped(text: str) -> dict[str, float]:
    """Return the rate and the time of a packet without a shaped link."""
    run, times = measured(text)
    live = run["live"]
    rates = [flow["goodput_bps"] for flow in run["flows"]]
    packet_us = 1e6 * times["bottleneck"] / live["entered_packets"]
    return {"least_gbps": min(rates) / 1e9, "packet_us": packet_us}


def each_way() -> dict[str, float]:
    """Return the share of the line rate at 1 Gbit/s, and the packets without an account.

    BBR fills both directions. CUBIC does not: its acknowledgements wait behind the data of the
    other flow, and simulated goodputs are 0.76 and 0.57 of the line rate.
    """
    record = sojourn.live(sojourn.Scenario.parse(links("1Gbit") + EACH), "bbr")
    run = record.runs[0]
    live, both = run["live"], run["links"]
    dropped = sum(link["dropped_packets"] for link in both)
    copies = sum(link["duplicated_packets"] for link in both)
    out = live["delivered_packets"] + live["refused_packets"] + live["inside_packets"] + dropped
    return {
        "least_share": min(carried_bps(record, link["name"]) for link in both) / 1e9,
        "overflowed_packets": live["overflowed_packets"],
        "unaccounted_packets": live["entered_packets"] + copies - out,
    }


def departures(rate_mbit: int) -> dict[str, float]:
    """Return medians of the lateness beside busy processes, and of the error of the mean rate."""
    text = links(f"{rate_mbit}Mbit") + ONE
    with busy(BUSY):
        found = [sojourn.live(sojourn.Scenario.parse(text)).runs[0]["live"] for _ in range(RUNS)]
        means = [mean_bps(text) for _ in range(RUNS)]
    late = {
        f"{kind}_{key}_us": 1e6 * median(one[f"{kind}_{key}_s"] for one in found)
        for kind in ("departure", "lateness")
        for key in ("p50", "p99", "p999")
    }
    return {**late, "rate_off": median(abs(mean / (1e6 * rate_mbit) - 1) for mean in means)}


def carried_bps(run: sojourn.Run, link: str) -> float:
    """Return the mean rate of a link after slow start, by its own count of the bits sent.

    It falls below the link's rate if the hosts send too little.
    """
    carried = run.link(link).series.filter(pl.col("t_s") > STEADY_S)["carried_bps"].mean()
    assert isinstance(carried, float)
    return carried


def mean_bps(text: str) -> float:
    """Return the mean rate at which packets arrive at the receiver after slow start.

    It is of the packets in the capture, and of the times at which the bottleneck wrote them.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "packets")
        live = sojourn.live(sojourn.Scenario.parse(text), pcapng=place).runs[0]["live"]
        if live["uncaptured_packets"]:
            raise SystemExit("the capture lacks packets: use a faster disk")
        data = [
            (at, size)
            for at, size, to in packets(place / "cubic-1.receiver.pcapng")
            if to == RECEIVER and at > STEADY_S
        ]
    (start, _), (end, _) = data[0], data[-1]
    # Packets of the first write have its time.
    return 8 * sum(size for at, size in data if at > start) / (end - start)


def packets(file: Path) -> Iterator[tuple[float, int, bytes]]:
    """Yield the time in the run, the size and the destination of each IPv4 packet of a capture."""
    data = file.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        # Enhanced packet blocks (draft-ietf-opsawg-pcapng, section 4.3), times in ns.
        if kind == 6:
            high, low, _, size = struct.unpack_from("<IIII", data, at + 12)
            ip = at + 28
            yield ((high << 32 | low) - EPOCH_NS) / 1e9, size, data[ip + 16 : ip + 20]
        at += length


def threads() -> dict[str, float]:
    """Return the shares of a core of TCP_INFO for ten flows, and of a capture."""
    _, ten = measured(links("100Mbit") + TEN)
    with tempfile.TemporaryDirectory() as place:
        _, capture = measured(links("1Gbit") + ONE, "--pcapng", str(Path(place) / "packets"))
    return {
        "tcp_info_share": ten["run"] / SECONDS,
        "capture_share": capture["capture"] / SECONDS,
    }


FIGURES: dict[str, Callable[[], dict[str, float]]] = {
    "unshaped_one_way": lambda: unshaped(links("", "10us") + ONE),
    "unshaped_each_way": lambda: unshaped(links("", "10us") + EACH),
    "1_gbit_each_way": each_way,
    "departures_100_mbit": lambda: departures(100),
    "departures_1_gbit": lambda: departures(1000),
    "threads": threads,
}


def aims() -> dict[str, Any]:
    """Measure the figures that have aims."""
    found = {}
    for place, (name, measure) in enumerate(FIGURES.items(), 1):
        sys.stderr.write(f"{place}/{len(FIGURES)} {name}\n")
        found[name] = measure()
    return found


BPF_STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
# BPF_PROG_TYPE_TRACING (Linux, include/uapi/linux/bpf.h).
TRACING = "26"


def tcp_probe() -> dict[str, Any]:
    """Return the time of the program at `tcp_probe`, and the cost of the thread, at 1 Gbit/s.

    The kernel's count of its time is on for the whole machine during the run.
    """
    counts: dict[str, str] = {}

    def look(process: int) -> None:
        for file in Path(f"/proc/{process}/fdinfo").glob("*"):
            with suppress(OSError):
                fields = dict(
                    line.split(":\t", 1) for line in file.read_text().splitlines() if ":\t" in line
                )
                if fields.get("prog_type") == TRACING:
                    counts.update(fields)

    before = BPF_STATS.read_text()
    BPF_STATS.write_text("1")
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = str(Path(folder, "acks"))
            run, times = measured(links("1Gbit") + ONE, "--tcp-probe", place, look=look)
    finally:
        BPF_STATS.write_text(before)
    return {
        "row_ns": int(counts["run_time_ns"]) / int(counts["run_cnt"]),
        "rows_per_s": run["live"]["ack_rows"] / SECONDS,
        "missed_rows": run["live"]["missed_ack_rows"],
        "thread_share": times["tracing"] / SECONDS,
    }


SCREENS = {"none": None, "80 x 24": (80, 24), "200 x 60": (200, 60)}
LONG_S = 12
DRAWINGS = 3


def drawing() -> dict[str, Any]:
    """Return the share of a core of the charts, and the error of departures, at 1 Gbit/s.

    Starting the interpreter takes longer than drawing: the shares are those of the further seconds
    of longer runs, less those of a run without charts.
    """
    found: dict[str, Any] = {}
    for name, screen in SCREENS.items():
        options = () if screen is None else ("--view",)
        spent, late = [], []
        for seconds in (SECONDS, LONG_S):
            runs = [
                measured(links("1Gbit", seconds=seconds) + ONE, *options, screen=screen)
                for _ in range(DRAWINGS)
            ]
            spent.append(median(interpreter_s(times) for _, times in runs))
            late = [1e6 * run["live"]["departure_p99_s"] for run, _ in runs]
        share = (spent[1] - spent[0]) / (LONG_S - SECONDS)
        found[name] = {"share": share, "p99_us": [min(late), max(late)]}
    base = found["none"]["share"]
    for one in found.values():
        one["share"] -= base
    return found


def interpreter_s(times: dict[str, float]) -> float:
    """Return the processor time of the threads of Python, which have the name of the program."""
    return sum(spent for name, spent in times.items() if name.startswith("python"))


START_S = 0.5


def first() -> dict[str, Any]:
    """Return the time from the start of a flow until its first packet is on the links, in ms."""
    # Without the random delay of the start.
    head = 'start_jitter = "0s"\n'
    text = head + links("100Mbit", seconds=1) + ONE + f'start = "{START_S}s"\n'
    found = {}
    for stack in ("kernel", "udp"):
        late = [first_ms(text, stack) for _ in range(3 * RUNS)]
        found[stack] = [min(late), median(late), max(late)]
    return found


def first_ms(text: str, stack: Any) -> float:
    """Return this time of one run."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "packets")
        sojourn.live(sojourn.Scenario.parse(text), stack=stack, pcapng=place)
        at, _, _ = next(packets(place / "cubic-1.sender.pcapng"))
    return 1e3 * (at - START_S)


WITHOUT_TUN = ["sh", "-c", 'mount --bind /dev/null /dev/net/tun && exec "$@"', "sh"]
DEVICES: dict[str, list[str]] = {
    "TUN": [],
    "veth, root": ["unshare", "--mount", *WITHOUT_TUN],
    "veth, user namespace": ["unshare", "--user", "--map-root-user", "--mount", *WITHOUT_TUN],
}
LINKS = {
    "unlimited, 10 µs": links("", "10us") + ONE,
    "1 Gbit/s, 5 ms": links("1Gbit") + ONE,
    "100 Mbit/s, 5 ms": links("100Mbit") + ONE,
}


def devices() -> dict[str, Any]:
    """Return medians of the goodput and of the error of departures."""
    found: dict[str, Any] = {}
    for link, text in LINKS.items():
        for device, within in DEVICES.items():
            sys.stderr.write(f"{link}, {device}\n")
            runs = [measured(text, within=within)[0] for _ in range(RUNS)]
            late = {
                f"{key}_us": 1e6 * median(run["live"][f"departure_{key}_s"] for run in runs)
                for key in ("p50", "p99", "p999")
            }
            found[f"{link}: {device}"] = {
                "goodput_mbps": median(run["flows"][0]["goodput_bps"] for run in runs) / 1e6,
                **late,
            }
    return found


@dataclass(frozen=True)
class Row:
    """One figure of the table, with its aim."""

    name: str
    group: str
    key: str
    shown: str
    aim: str = ""


def late(rate: str, group: str, aims: tuple[str, str, str]) -> Iterator[Row]:
    """Yield the rows of a rate beside two busy processes."""
    for kind in ("departure", "lateness"):
        for key, of_departure in zip(("p50", "p99", "p999"), aims, strict=True):
            name = f"{rate}, two busy processes: {kind} {key.replace('999', '99.9')}"
            # The aims are for the error of departures.
            aim = of_departure if kind == "departure" else ""
            yield Row(name, group, f"{kind}_{key}_us", "{:.1f} µs", aim)
    yield Row(f"{rate}: error of the mean rate", group, "rate_off", "{:.3%}", "0.1 %")


ROWS = (
    Row("unshaped, one way: goodput", "unshaped_one_way", "least_gbps", "{:.1f} Gbit/s", "5"),
    Row("bottleneck's time a packet", "unshaped_one_way", "packet_us", "{:.2f} µs", "1.2"),
    Row("unshaped, each way: lesser goodput", "unshaped_each_way", "least_gbps", "{:.1f}", "2"),
    Row(
        "1 Gbit/s each way: lesser share of the line",
        "1_gbit_each_way",
        "least_share",
        "{:.3f}",
        "0.93",
    ),
    Row("packets lost outside the queues", "1_gbit_each_way", "overflowed_packets", "{:.0f}", "0"),
    Row("packets without an account", "1_gbit_each_way", "unaccounted_packets", "{:.0f}", "0"),
    *late("100 Mbit/s", "departures_100_mbit", ("5", "60", "")),
    *late("1 Gbit/s", "departures_1_gbit", ("", "120", "")),
    Row("TCP_INFO of 10 flows at 1 ms", "threads", "tcp_info_share", "{:.1%} of a core", "3 %"),
    Row("capture at 1 Gbit/s", "threads", "capture_share", "{:.1%} of a core", "5 %"),
)


def lines(head: str, rows: Sequence[str]) -> str:
    """Return a table of Markdown."""
    return "\n".join([f"| {head} |", "|" + "---|" * (head.count("|") + 1), *rows]) + "\n"


def aims_table(found: dict[str, Any]) -> str:
    """Show the figures that have aims."""
    rows = [
        f"| {row.name} | {row.shown.format(found[row.group][row.key])} | {row.aim} |"
        for row in ROWS
    ]
    return lines("figure | measured | aim", rows)


def span(values: Sequence[float], shown: str) -> str:
    """Show a median with the least and the greatest value."""
    least, middle, most = (shown.format(value) for value in values)
    return f"{middle} ({least} to {most})"


def tcp_probe_table(found: dict[str, Any]) -> str:
    """Show the cost of the trace of acknowledgements."""
    row = (
        f"| {found['rows_per_s']:,.0f} | {found['row_ns']:.0f} ns | {found['thread_share']:.1%} "
        f"| {found['missed_rows']} |"
    )
    head = "acknowledgements a second | program, each | thread, of a core | missed rows"
    return lines(head, [row])


def drawing_table(found: dict[str, Any]) -> str:
    """Show the cost of the charts."""
    rows = [
        "| {} | {:.0%} | {:.0f} to {:.0f} |".format(name, one["share"], *one["p99_us"])
        for name, one in found.items()
    ]
    return lines("terminal | share of a core | departure p99, µs", rows)


def first_table(found: dict[str, Any]) -> str:
    """Show the delay of the first packets."""
    rows = [f"| {stack} | {span(late, '{:.2f}')} |" for stack, late in found.items()]
    return lines("`--stack` | first packet after the start, ms", rows)


def devices_table(found: dict[str, Any]) -> str:
    """Show the devices."""
    rows = []
    for name, one in found.items():
        link, device = name.split(": ")
        late = (one["p50_us"], one["p99_us"] / 1e3, one["p999_us"] / 1e3)
        rows.append(
            f"| {link} | {device} | {one['goodput_mbps']:,.0f} Mbit/s | {late[0]:.1f} µs "
            f"| {late[1]:.2f} ms | {late[2]:.2f} ms |"
        )
    return lines("link | device | goodput | departure p50 | p99 | p99.9", rows)


PARTS: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[dict[str, Any]], str]]] = {
    "aims": (aims, aims_table),
    "tcp_probe": (tcp_probe, tcp_probe_table),
    "drawing": (drawing, drawing_table),
    "first": (first, first_table),
    "devices": (devices, devices_table),
}


def marked(page: str, name: str) -> tuple[str, str, str]:
    """Return a page before, in and after the place of a part's table."""
    before, mark, rest = page.partition(f"<!-- benches/live.py {name} -->\n")
    table, end, after = rest.partition("<!-- end -->\n")
    if not mark or not end:
        raise SystemExit(f"{PAGE} has no place for the part {name}")
    return before + mark, table, end + after


def main() -> int:
    """Measure the parts that the arguments name, or all."""
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise SystemExit(f"no part is named {unknown[0]}; there are {', '.join(PARTS)}")
    found = json.loads(RESULTS.read_text())
    for name in chosen:
        sys.stderr.write(f"{name}\n")
        measure, table = PARTS[name]
        found[name] = measure()
        sys.stdout.write(table(found[name]) + "\n")
        # A later part may fail.
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")
        before, _, after = marked(PAGE.read_text(), name)
        PAGE.write_text(before + table(found[name]) + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
