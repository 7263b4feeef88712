"""What do the controllers in the Linux kernel cost, and do they behave as simulated?"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, cast

import kernel_bpf
import sojourn
from tables import markdown

Row = dict[str, Any]

MINUTES = 30
NEEDS = ("root",)

# The link, and for each flow a way back of its own.
SCENARIO = """
duration = "{seconds}s"
host = "rfc"
measure.from = "{begin}s"
record.interval = "1ms"
[link.there]
rate = "100Mbit"
delay = "{delay}"
queue = {queue}
buffer = "1MB"
"""
FLOW = """
[link.back{number}]
delay = "{delay}"
[flow.f{number}]
path = ["there"]
back = ["back{number}"]
{more}
"""
LINUX = 'host = "linux-6.18"'
FIFO, DUALPI2, STEP = '"droptail"', '"dualpi2"', '{ kind = "step", k = 20 }'
CODEL = '{ kind = "codel", ecn = true, ce_threshold = "1ms" }'
EQUAL, DIFFERENT = ("10ms", ("10ms", "10ms")), ("5ms", ("16ms", "96ms"))
ONE = ("10ms", ("10ms",))
# Controller, arithmetic of its simulation, queue, delays of the link and of each way back, and the
# time from which the figures count.
Case = tuple[str, str, str, tuple[str, Sequence[str]], int]
CASES: Mapping[str, Case] = {
    "LoLa, two flows": ("lola", "integer", FIFO, EQUAL, 0),
    "LoLa, two flows, from 2 s": ("lola", "integer", FIFO, EQUAL, 2),
    "LoLa, base RTTs of 21 and 101 ms": ("lola", "integer", FIFO, DIFFERENT, 0),
    "LoLa, base RTTs of 21 and 101 ms, from 10 s": ("lola", "integer", FIFO, DIFFERENT, 10),
    "Copa, two flows": ("copa", "integer", FIFO, EQUAL, 0),
    "Prague over DualPI2": ("prague", "integer", DUALPI2, ONE, 0),
    "Prague over DualPI2, two flows": ("prague", "integer", DUALPI2, EQUAL, 0),
    "Prague over a step of 20 packets": ("prague", "integer", STEP, ONE, 0),
    "Prague over CoDel's ce_threshold of 1 ms": ("prague", "integer", CODEL, ONE, 0),
    "DCTCP over a step of 20 packets": ("dctcp", "exact", STEP, ONE, 0),
}


def scenario(case: Case, seconds: int, more: str = "") -> str:
    """Return the text of a case's scenario."""
    _, _, queue, (delay, backs), begin = case
    # A short run has no time left for the start.
    begin = min(begin, seconds - 1)
    text = SCENARIO.format(seconds=seconds, begin=begin, queue=queue, delay=delay)
    flows = (FLOW.format(number=i, delay=back, more=more) for i, back in enumerate(backs))
    return text + "".join(flows)


def behaviour(small: bool) -> list[Row]:
    """Run each case live, simulated, and simulated on Linux's host."""
    seconds, lives, seeds = (1, 1, 1) if small else (30, 5, 10)
    found = []
    for name, case in list(CASES.items())[-1:] if small else CASES.items():
        control, arithmetic, *_ = case
        own = f'control = {{ kind = "{control}", arithmetic = "{arithmetic}" }}\n'
        plain, bursty = (scenario(case, seconds, own + more) for more in ("", LINUX))
        text = scenario(case, seconds)
        live = [sojourn.live(text, control).runs[0] for _ in range(lives)]
        for kind, runs in (
            ("live", live),
            ("simulated", sojourn.run(plain, runs=seeds).runs),
            ("simulated with bursts", sojourn.run(bursty, runs=seeds).runs),
        ):
            found.append({"case": name, "run": kind, "runs": len(runs), **spread(runs)})
    return found


def spread(runs: Sequence[Any]) -> Row:
    """Return the median, the least and the greatest value of each figure."""
    found: Row = {}
    each = [figures(run) for run in runs]
    for key in each[0]:
        values = sorted(one[key] for one in each)
        found[key] = round(median(values), 4)
        for bound, value in (("least", values[0]), ("greatest", values[-1])):
            name, _, unit = key.rpartition("_")
            found[f"{name}_{bound}_{unit}"] = round(value, 4)
    return found


def figures(run: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a run."""
    link = run["links"][0]
    goodputs = [flow["goodput_bps"] for flow in run["flows"]]
    return {
        "utilisation_share": link["utilisation"],
        "queue_delay_p99_ms": 1e3 * link["queue_delay_p99_s"],
        "jain_share": sum(goodputs) ** 2 / len(goodputs) / sum(one * one for one in goodputs),
    }


STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
# The program that runs once for each acknowledgement of data; names have 15 characters.
PER_ACK = {
    "lola": "sojourn_pkts_acked"[:15],
    "copa": "sojourn_cong_control"[:15],
    "dctcp": "sojourn_in_ack_event"[:15],
    "prague": "sojourn_cong_control"[:15],
}
# Programs for data packets: that of a receiver which counts marks, and that which sets ECT(1).
RECEIVER, EGRESS = "sojourn_cwnd_event"[:15], "sojourn_ect1"
QUEUES = {"lola": FIFO, "copa": FIFO, "dctcp": STEP, "prague": DUALPI2}


def costs(small: bool) -> list[Row]:
    """Measure the time of a controller's programs, which the kernel counts (some 20 ns a run)."""
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        names = ("prague",) if small else PER_ACK
        return [cost(name, 1 if small else 20) for name in names]
    finally:
        STATISTICS.write_text(before)


def cost(controller: str, seconds: int) -> Row:
    """Run two flows live, and return the times of the programs of their controller."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cost.toml"
        file.write_text(scenario((controller, "", QUEUES[controller], EQUAL, 0), seconds))
        line = [sys.executable, "-m", "sojourn", "live", str(file), "--json"]
        found = dict(watched([*line, "--control", controller]))
    acks = found[PER_ACK[controller]][1]
    ours = {name: one for name, one in found.items() if name.startswith("sojourn_") and one[1]}
    total = sum(time for name, (time, _) in ours.items() if name not in (RECEIVER, EGRESS))

    def each(program: str) -> float | None:
        time, count = ours.get(program, (0, 0))
        # Every controller hears of rare events, too.
        return round(time / count, 1) if count > acks / 10 else None

    return {
        "controller": controller,
        "acknowledgements": acks,
        "ack_ns": round(total / acks, 1),
        "received_packet_ns": each(RECEIVER),
        "sent_packet_ns": each(EGRESS),
    }


def watched(line: Sequence[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Run a command, and yield the figures of the programs that it loads, the latest last."""
    # The kernel keeps programs of an earlier run for a while.
    earlier = set(kernel_bpf.identifiers("programs"))
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            yield from kernel_bpf.runs(but=earlier).items()
            try:
                process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
    if process.returncode:
        raise SystemExit(process.returncode)


def loads(small: bool) -> list[Row]:
    """Load and unload LoLa many times while four flows run, and count what remains."""
    program = Path(__file__).with_name("kernel_loads.py")
    line = [sys.executable, str(program), "--times", "3" if small else "1000"]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        # Something remains, or a flow failed or is stuck: the program's counts name it.
        raise RuntimeError(f"status {done.returncode} of {program.name}: {done.stdout}")
    found = cast(Row, json.loads(done.stdout))
    return [
        {
            "controller": found["controller"],
            "loads": found["times"],
            "time_s": found["time_s"],
            "connections": found["connections"],
            "controllers_left": found["controllers_left"],
            "objects_left": sum(found["objects_left"].values()),
            "stuck_flows": found["stuck_flows"],
        }
    ]


def measure(small: bool) -> dict[str, list[Row]]:
    """Measure behaviour, cost and loads."""
    return {"behaviour": behaviour(small), "costs": costs(small), "loads": loads(small)}


def answer(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return the medians of each whole run: live, and simulated with bursts."""
    lines = [["case", "utilisation: live, simulated", "delay p99, ms"]]
    rows = {(row["case"], row["run"]): row for row in tables["behaviour"]}
    for case in dict.fromkeys(row["case"] for row in tables["behaviour"]):
        if "from" in case:
            continue
        live, simulated = (rows[case, run] for run in ("live", "simulated with bursts"))
        cells = [
            f"{live[key]:.{digits}f}, {simulated[key]:.{digits}f}"
            for key, digits in (("utilisation_share", 3), ("queue_delay_p99_ms", 1))
        ]
        lines.append([case, *cells])
    return markdown(lines)
