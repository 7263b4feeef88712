"""Measure controllers in Python: `.venv/bin/python benches/own_controller.py`.

Print packets a CPU second of the same window law over 1 Gbit/s and 20 ms: in Rust (`reno`), in
Python, and in Python with a call for every packet sent and a read of every field of every feedback.
"""

import argparse
import time
from collections.abc import Mapping

import sojourn

SCENARIO = """
duration = "{seconds}s"
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


OWN: Mapping[str, type[Window]] = {"window": Window, "curious": Curious}


def packets_per_second(control: str, seconds: float) -> float:
    """Return the data packets sent in a run, divided by its CPU time."""
    scenario = sojourn.Scenario.parse(SCENARIO.format(seconds=seconds, control=control))
    began = time.process_time()
    run = sojourn.run(scenario, controllers=OWN, jobs=1)
    took = time.process_time() - began
    return run.flow("upload").summary["sent_packets"] / took


def main() -> None:
    """Measure each controller; print the best of several runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="simulated seconds a run")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the fastest counts")
    args = parser.parse_args()
    print(f"{'controller':12}{'packets a CPU second':>22}")
    for control in ("reno", *OWN):
        best = max(packets_per_second(control, args.seconds) for _ in range(args.runs))
        print(f"{control:12}{best:22,.0f}")


if __name__ == "__main__":
    main()
