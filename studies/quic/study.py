"""Do real QUIC stacks carry a published test as its text says, and as the model of QUIC does?"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import sojourn
from tables import each, markdown

MINUTES = 1

Row = dict[str, Any]
Tables = dict[str, list[Row]]

# Packets of 1440 bytes, each acknowledged at once.
NOQ: Row = {"kind": "noq", "mtu": "1440B", "ack_every": 1}
# The model with as many bytes of payload in a packet: 1440 bytes, minus IP and UDP 28, short header
# 10, AEAD tag 16, STREAM frame 8.
MODEL: Row = {"like": "quic", "mss": "1378B", "header": "62B", "ack_every": 1}
TRANSPORTS: dict[str, Row] = {"noq": NOQ, "quinn": {**NOQ, "kind": "quinn"}, "quic": MODEL}


def measure(small: bool) -> Tables:
    """Download the four files by each transport and controller, and under other conditions."""
    files = list(published())
    conditions = [(name, transport, *what) for name, transport, *what in variants()]
    controllers = [(control, name) for control in served() for name in TRANSPORTS]
    jitter = [(us, 1 if us == 0 else 64) for us in (0, 100, 200, 300)]
    if small:
        files, conditions, controllers = files[5:8], conditions[1:2], controllers[:3]
        jitter = [(0, 1), (200, 4)]
    return {
        "files": each(lambda cell: file_row(*cell), files),
        "conditions": [
            row for rows in each(lambda cell: condition_rows(*cell), conditions) for row in rows
        ],
        "controllers": each(lambda cell: controller_row(*cell), controllers),
        "senders": senders(small),
        "jitter": [jittered(*one) for one in jitter],
        "speed": list(speed(small)),
    }


def step(mark: str) -> Row:
    """Return the queue of the published test, which marks above a delay."""
    return {"kind": "threshold", "ce_threshold": mark}


def downloads(control: Any, transport: Row, queue: Any, **link: str) -> sojourn.Scenario:
    """Four files of 1 MB over 10 Mbit/s, 10 ms each way, and 20 ms of buffer."""
    down = {"rate": "10Mbit", "delay": "10ms", "buffer": "20ms", "queue": queue, **link}
    up = down.pop("up_rate", "10Mbit")
    return sojourn.Scenario(
        host="rfc",
        duration="20s",
        start_jitter="0s",
        link={"down": down, "up": {"rate": up, "delay": "10ms"}},
        flow={
            "files": {
                "control": control,
                "path": ["down"],
                "back": ["up"],
                carrier(transport): transport,
                "source": {"kind": "request", "request": "257B", "response": "1MB", "count": 4},
            }
        },
    )


def carrier(transport: Row) -> str:
    """Return the key of a flow for a stack or for the host of the model."""
    return "host" if "like" in transport else "stack"


def figures(scenario: sojourn.Scenario) -> Row:
    """Return the completion time, and the packets that the link dropped and marked."""
    run = sojourn.run(scenario)
    flow, down = run.flow("files").summary, run.link("down").summary
    assert flow["completion_s"] is not None
    return {
        "four_files_s": round(flow["completion_s"], 2),
        "losses": down["dropped_packets"],
        "marked": down["marked_packets"],
    }


def published() -> Iterator[tuple[str, Row, str, str, Any]]:
    """Return the transports, controllers and queues of the first table."""
    plain = {
        f"{name} without TLS": {**TRANSPORTS[name], "crypto": "none"} for name in ("noq", "quinn")
    }
    stacks = {"noq": NOQ, "quinn": TRANSPORTS["quinn"]}
    both = [name for stack in stacks for name in (stack, f"{stack} without TLS")]
    for mark, queue in (("5 ms", step("5ms")), ("1 ms", step("1ms")), ("DualPI2", "dualpi2")):
        for name in both if mark == "5 ms" else stacks:
            yield name, {**stacks, **plain}[name], "prague", mark, queue
        yield "quic", MODEL, "prague", mark, queue
    for name, transport in TRANSPORTS.items():
        yield name, transport, "reno", "–", "droptail"


def file_row(name: str, transport: Row, control: str, mark: str, queue: Any) -> Row:
    """Return a row of the first table; only a stack's sender has a count of marks of its own."""
    scenario = downloads(control, transport, queue)
    heard = None
    with tempfile.TemporaryDirectory() as folder:
        run = sojourn.run(scenario, qlog=None if name == "quic" else Path(folder) / "qlog")
        if name != "quic":
            heard = most_heard(next(Path(folder).rglob("*.sender.sqlog")))
    flow: Row = dict(run.flow("files").summary)
    down = run.link("down").summary
    return {
        "transport": name,
        "controller": control,
        "marks_at": mark,
        "four_files_s": round(flow["completion_s"], 2),
        "losses": down["dropped_packets"],
        "marked": down["marked_packets"],
        "heard": heard,
        "rtt_over_least_ms": round(1e3 * (flow["rtt_p99_s"] - flow["rtt_min_s"]), 1),
    }


def most_heard(log: Path) -> int:
    """Return the greatest count of CE in the acknowledgements that the sender received."""
    counts = [0]
    for line in log.read_text("utf-8").splitlines():
        if '"ce":' in line and "quic:packet_received" in line:
            frames = json.loads(line.lstrip("\x1e"))["data"]["frames"]
            counts += [frame["ce"] for frame in frames if "ce" in frame]
    return max(counts)


Variant = tuple[str, Row, Any, Any, Row, Any]
"""A condition: its name, the transport, New Reno or None, Prague or None, keys of the link, and the
queue that marks."""


def variants() -> Iterator[Variant]:
    """Return the conditions that the published test does not state."""
    marks = step("1ms")

    def of(
        name: str,
        transport: Row = NOQ,
        reno: Any = "reno",
        prague: Any = "prague",
        link: Row | None = None,
        queue: Any = marks,
    ) -> Variant:
        return name, transport, reno, prague, link or {}, queue

    yield of("as above")
    for every in (2, 3, 4, 5, 6, 8, 10):
        yield of(f"an acknowledgement for {every} packets", {**NOQ, "ack_every": every})
    for size in (1228, 1500):
        yield of(f"packets of {size} bytes", {**NOQ, "mtu": f"{size}B"})
    yield of("quinn", TRANSPORTS["quinn"])
    for ms, why in ((10, ""), (25, ", as the published round trips show"), (40, "")):
        yield of(f"a buffer of {ms} ms{why}", link={"buffer": f"{ms}ms"})
    yield of("1 Mbit/s for the acknowledgements", link={"up_rate": "1Mbit"})
    yield of("marks by Linux's DualPI2", reno=None, queue="dualpi2_linux")
    yield of("marks above 1.16 ms, the time of one packet", reno=None, queue=step("1.16ms"))
    two, zero = {**NOQ, "ack_every": 2}, {"kind": "prague", "alpha_init": 0}
    name = "Prague begins with alpha = 0, as the published stack"
    yield of(name, reno=None, prague=zero)
    yield of("the same, and an acknowledgement for 2 packets", two, None, zero)
    bursts = {"kind": "prague", "max_burst_delay": "1ms"}
    yield of("bursts of 1 ms, and an acknowledgement for 2 packets", two, None, bursts)
    epochs = {"kind": "prague", "response": "epoch", "suspect_epoch": True}
    yield of("Prague by epochs, as the published stack", reno=None, prague=epochs)
    whole = {"kind": "reno", "arithmetic": "linux"}
    yield of("whole packets in the window, as in Linux", reno=whole, prague=None)
    twice = {**MODEL, "like": "picoquic-2022"}
    yield of("the model, which may reduce twice for one overflow, as the published stack", twice)
    yield of("the same, and an acknowledgement for 5 packets", {**twice, "ack_every": 5})


def condition_rows(
    name: str, transport: Row, reno: Any, prague: Any, link: Row, queue: Any
) -> list[Row]:
    """Return the rows of a condition, one for each sender."""
    rows = []
    for sender, control, over in (("reno", reno, "droptail"), ("prague", prague, queue)):
        if control is not None:
            found = figures(downloads(control, transport, over, **link))
            rows.append({"condition": name, "controller": sender, **found})
    return rows


def served() -> Iterator[str]:
    """Return the controllers that the stacks can serve."""
    for one in sojourn.controllers():
        try:
            downloads(one["name"], NOQ, step("5ms")).check()
        except sojourn.ScenarioError:
            continue
        yield one["name"]


def controller_row(control: str, transport: str) -> Row:
    """Return the four files with one controller over one transport, with marks at 5 ms."""
    found = figures(downloads(control, TRANSPORTS[transport], step("5ms")))
    return {"controller": control, "transport": transport, **found}


def senders(small: bool) -> list[Row]:
    """Return the senders of the published text, in the stack and in the model."""
    command = [sys.executable, "-m", "sojourn", "paper", "run", "l4s-prague", "--stack", "noq"]
    with tempfile.TemporaryDirectory() as folder:
        out = [*command, "--json", "--out", str(Path(folder) / "paper"), *["--quick"] * small]
        printed = subprocess.run(out, check=True, stdout=subprocess.PIPE).stdout
    (table,) = json.loads(printed)["figures"][0]["tables"]
    return [
        {key: round(cell, 3) if isinstance(cell, float) else cell for key, cell in row.items()}
        for row in table["rows"]
    ]


REPAIRED = {
    "kind": "prague",
    "response": "epoch",
    "alpha_init": 0,
    "max_burst_delay": "6ms",
    "suspect_epoch": True,
}


def jittered(jitter_us: int, runs: int) -> Row:
    """Return the range of the sender whose time depends on single packets: Prague as repaired."""
    scenario = downloads(REPAIRED, {"kind": "noq", "mtu": "1440B"}, step("5ms"))
    del scenario["start_jitter"]
    for link in scenario["link"].values():
        link["jitter"] = f"{jitter_us}us"
    flows: list[Row] = [dict(run["flows"][0]) for run in sojourn.run(scenario, runs=runs).runs]
    times = [flow["completion_s"] for flow in flows]
    marks = [flow["marked_packets"] for flow in flows]
    return {
        "jitter_ms": jitter_us / 1000,
        "runs": runs,
        "four_files_least_s": round(min(times), 2),
        "four_files_median_s": round(median(times), 2),
        "four_files_most_s": round(max(times), 2),
        "marked_least": min(marks),
        "marked_most": max(marks),
    }


def speed(small: bool) -> Iterator[Row]:
    """Return the packets that a stack carries in a second of processor time, the best of three."""
    for stack in ("noq", "quinn"):
        for crypto in ("tls", "none"):
            for control in ("prague", "cubic"):
                carried = {"kind": stack, "crypto": crypto, "ack_every": 1}
                rates = [packets_per_s(carried, control, small) for _ in range(1 if small else 3)]
                found = {"controller": control, "packets_per_s": round(max(rates), -3)}
                yield {"stack": stack, "cryptography": crypto, **found}


def packets_per_s(stack: Row, control: str, small: bool) -> float:
    """Simulate one flow at 200 Mbit/s: packets of data and acknowledgements, at both ends."""
    scenario = sojourn.Scenario(host="rfc", duration="0.2s" if small else "10s")
    scenario.link("down", rate="200Mbit", delay="10ms", buffer="20ms", queue=step("1ms"))
    scenario.link("up", rate="200Mbit", delay="10ms")
    scenario.flow("file", control=control, path=["down"], back=["up"], stack=stack)
    began = time.process_time()
    run = sojourn.run(scenario, jobs=1)
    spent = time.process_time() - began
    return sum(link["delivered_packets"] for link in run.runs[0]["links"]) / spent


def answer(tables: Tables) -> str:
    """Return the times of the published test: a row a transport, a column a sender."""
    columns = {
        "Prague, marks at 5 ms": ("prague", "5 ms"),
        "1 ms": ("prague", "1 ms"),
        "DualPI2": ("prague", "DualPI2"),
        "New Reno": ("reno", "–"),
    }
    lines = [["transport", *columns], ["published", "under 3.5 s", "–", "–", "3.8 to 4 s"]]
    for name in TRANSPORTS:
        cells = [
            f"{row['four_files_s']:.2f} s"
            for column in columns.values()
            for row in tables["files"]
            if (row["transport"], row["controller"], row["marks_at"]) == (name, *column)
        ]
        lines.append([f"`{name}`", *cells])
    return markdown(lines)
