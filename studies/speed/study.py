"""How fast is the simulator, and what does a packet cost?"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import sojourn
from tables import markdown

Row = dict[str, Any]

MINUTES = 10

# Packets a CPU second on one core of a machine whose bare loop passes 41 million. They were
# measured once: this study does not build other simulators.
SIMULATORS: list[Row] = [
    {"case": "A", "ns3_mpps": 0.11, "ns2_mpps": 3.9, "htsim_mpps": 8.8, "bare_loop_mpps": 41},
    {"case": "B", "ns3_mpps": 0.01, "ns2_mpps": 0.4, "htsim_mpps": 0.2, "bare_loop_mpps": 41},
    {"case": "C", "ns3_mpps": 0.09, "ns2_mpps": 1.8, "htsim_mpps": 8.4, "bare_loop_mpps": 41},
]

SCENARIO = """
duration = "{seconds}s"
host = "rfc"
record = {{ interval = "0s" }}
[link.bottleneck]
rate = "1Gbit"
delay = "10ms"
buffer = "20ms"
[link.back]
delay = "10ms"
[flow.upload]
path = ["bottleneck"]
back = ["back"]
control = "{control}"
"""

FIELDS = [name for name in dir(sojourn.Feedback) if not name.startswith("_")]


class Window:
    """Reno's window without slow start, from a window that fills the link."""

    def __init__(self, setup: sojourn.Setup) -> None:
        self.mss = setup.mss_bytes
        self.cwnd = 1700 * self.mss

    def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
        """Increase additively, decrease multiplicatively."""
        if feedback.loss_event:
            self.cwnd = max(self.cwnd // 2, self.mss)
        elif not feedback.in_recovery and feedback.cwnd_limited:
            self.cwnd += self.mss * feedback.acked_bytes // self.cwnd

    def limits(self) -> sojourn.Limits:
        """Limit the sender by the window only."""
        return sojourn.Limits(cwnd_bytes=self.cwnd)


class Curious(Window):
    """The same law, with all callbacks and all fields."""

    def on_sent(self, now_ns: int, sent: sojourn.Sent) -> None:
        """Receive a call for every packet sent."""

    def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
        """Read every field, then apply the law."""
        for name in FIELDS:
            getattr(feedback, name)
        super().on_feedback(now_ns, feedback)


CONTROLLERS = {
    "reno": "in Rust (reno)",
    "window": "in Python, required methods",
    "curious": "in Python, all calls and fields",
}


def python_controllers(small: bool) -> list[Row]:
    """Return the packets a CPU second of one window law, the best of several runs."""
    seconds, runs = (0.05, 1) if small else (5, 3)
    return [
        {
            "controller": name,
            "packets_per_s": round(max(packets_per_second(kind, seconds) for _ in range(runs))),
        }
        for kind, name in CONTROLLERS.items()
    ]


def packets_per_second(control: str, seconds: float) -> float:
    """Return the data packets sent in a run, divided by its CPU time."""
    scenario = sojourn.Scenario.parse(SCENARIO.format(seconds=seconds, control=control))
    began = time.process_time()
    own = {"window": Window, "curious": Curious}
    run = sojourn.run(scenario, controllers=own, jobs=1)
    took = time.process_time() - began
    return run.flow("upload").summary["sent_packets"] / took


def measure(small: bool) -> dict[str, list[Row]]:
    """Run `sojourn bench`, and the controllers in Python."""
    line = [sys.executable, "-m", "sojourn", "bench", "--json"]
    done = subprocess.run(line + ["--quick"] * small, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    return {
        "cases": [case(name, one) for name, one in found["cases"].items()],
        "flows": [flows(one) for one in found["scaling"]],
        "machine": [machine(found)],
        "python": python_controllers(small),
        "simulators": SIMULATORS,
    }


def case(name: str, found: Mapping[str, Any]) -> Row:
    """Return the row of a case; shares of the time are those of a run with samples each 10 ms."""
    total = sum(found["parts_ns"].values())
    return {
        "case": name,
        "mpps": round(found["pps"] / 1e6, 2),
        "ratio": round(found["ratio"], 3),
        "ratio_least": round(found["ratio_low"], 3),
        "ratio_greatest": round(found["ratio_high"], 3),
        "sampled_mpps": round(found["sampled_pps"] / 1e6, 2),
        "sampled_ratio": round(found["sampled_ratio"], 3),
        "dropped_packets": found["dropped_packets"],
        **{f"{part}_share": round(ns / total, 2) for part, ns in found["parts_ns"].items()},
    }


def flows(found: Mapping[str, Any]) -> Row:
    """Return the row of a number of flows."""
    return {
        "flows": found["flows"],
        "rate_gbps": int(found["rate"].removesuffix("Gbit")),
        "packet_ns": round(found["ns_per_packet"]),
        "packet_least_ns": round(found["ns_per_packet_low"]),
        "packet_greatest_ns": round(found["ns_per_packet_high"]),
        "ratio": round(found["ratio"], 3),
        "peak_mb": round(found["peak_memory_bytes"] / 1e6),
    }


def machine(found: Mapping[str, Any]) -> Row:
    """Return the bare loop's speed, and the figures of which there is one."""
    return {
        "bare_loop_mpps": round(found["bare_loop_pps"] / 1e6, 1),
        "bare_loop_least_mpps": round(found["bare_loop_low_pps"] / 1e6, 1),
        "bare_loop_greatest_mpps": round(found["bare_loop_high_pps"] / 1e6, 1),
        "in_flight_packets": found["memory"]["in_flight_packets"],
        "packet_bytes": round(found["memory"]["bytes_per_packet"]),
        "help_s": round(found["startup"]["help_best_s"], 2),
        "one_second_run_s": round(found["startup"]["run_best_s"], 2),
        "two_threads_speedup": round(found["jobs"]["speedup"], 2),
    }


ABOUT = {
    "A": "A: 1 CUBIC, 100 Mbit/s",
    "B": "B: 2 CUBIC, 10 Gbit/s, overflow",
    "B-lossless": "B without losses",
    "C": "C: 100 CUBIC, 1 Gbit/s",
    "C-codel": "C with CoDel",
    "A-linux": "A, host linux-6.18",
    "B-linux": "B, host linux-6.18",
    "C-linux": "C, host linux-6.18",
}


def answer(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return the speed of the cases, beside the bare loop and other simulators."""
    others = {row["case"]: row for row in tables["simulators"]}
    lines = [["case", "Mpackets/s", "of the bare loop", "with samples", "htsim, ns-2, ns-3"]]
    for row in tables["cases"]:
        other = others.get(row["case"])
        cells = [
            ABOUT[row["case"]],
            f"{row['mpps']:.1f}",
            f"{row['ratio']:.2f}",
            f"{row['sampled_ratio']:.2f}",
            f"{other['htsim_mpps']}, {other['ns2_mpps']}, {other['ns3_mpps']}" if other else "",
        ]
        lines.append(cells)
    return markdown(lines)
