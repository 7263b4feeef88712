"""Measure the controllers in the kernel live, beside simulations with the same arithmetic.

    sudo .venv/bin/python benches/kernel_live.py lola --runs 5
    sudo .venv/bin/python benches/kernel_live.py prague-two --simulated

It prints one line of JSON for each run; `slow_start_exits` has the time in s and the window in
packets with which each flow left slow start. With `--simulated` there is one run without bursts and
one with those of Linux 6.18 for each seed. `--from 2s` leaves the start out of the figures.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import sojourn

MSS_BYTES = 1448
SCENARIO = """
duration = "{seconds}s"
measure.from = "{begin}"
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
BURSTS = (
    'transport = { tso = "64KiB", tso_defer = "linux-6.18", burst_acks = true, quick_acks = 62 }'
)
CODEL = '{ kind = "codel", ecn = true, ce_threshold = "1ms" }'
STEP = '{ kind = "step", k = 20 }'
# 50 kB at 40 ms raise the round-trip times of both flows in slow start by 4 ms.
BURST = """
[flow.burst]
path = ["there"]
back = ["back0"]
control = "none"
start = "40ms"
source = { kind = "on-off", rate = "1Gbit", on = "400us", off = "100s" }
"""
EQUAL, DIFFERENT = ("10ms", ["10ms", "10ms"]), ("5ms", ["16ms", "96ms"])
# Controller, arithmetic of its simulation, queue, and the delays of the link and of each way back.
CASES = {
    "lola": ("lola", "integer", '"droptail"', *EQUAL),
    # Both flows leave slow start early.
    "lola-burst": ("lola", "integer", '"droptail"', *EQUAL),
    "lola-rtts": ("lola", "integer", '"droptail"', *DIFFERENT),
    "copa": ("copa", "integer", '"droptail"', *EQUAL),
    "prague": ("prague", "integer", '"dualpi2"', "10ms", ["10ms"]),
    "prague-two": ("prague", "integer", '"dualpi2"', *EQUAL),
    "prague-step": ("prague", "integer", STEP, "10ms", ["10ms"]),
    "prague-codel": ("prague", "integer", CODEL, "10ms", ["10ms"]),
    "dctcp-step": ("dctcp", "exact", STEP, "10ms", ["10ms"]),
}


def _scenario(args: argparse.Namespace, more: str = "") -> str:
    case = args.case
    _, _, queue, delay, delays = CASES[case]
    text = SCENARIO.format(seconds=args.seconds, begin=args.begin, queue=queue, delay=delay)
    flows = (FLOW.format(number=i, delay=back, more=more) for i, back in enumerate(delays))
    return text + "".join(flows) + (BURST if case == "lola-burst" else "")


def _exits(found: sojourn.Run, seed: int) -> list[list[float]]:
    """Return the time in s and the window in packets with which each flow left slow start."""
    exits = []
    for flow in sorted({flow["name"] for flow in found.runs[0]["flows"]} - {"burst"}):
        series = found.flow(flow, seed=seed).series
        known = series.filter(pl.col("ssthresh_bytes").is_between(1, 2**30))
        if not known.is_empty():
            first = known.row(0, named=True)
            exits.append([round(first["t_s"], 3), round(first["ssthresh_bytes"] / MSS_BYTES, 1)])
    return exits


def _figures(run: Mapping[str, Any]) -> dict[str, Any]:
    link = run["links"][0]
    goodputs = [flow["goodput_bps"] for flow in run["flows"] if flow["name"] != "burst"]
    jain = sum(goodputs) ** 2 / len(goodputs) / sum(one * one for one in goodputs)
    return {
        "utilisation": round(link["utilisation"], 4),
        "queue_delay_p99_ms": round(1e3 * link["queue_delay_p99_s"], 3),
        "queue_delay_max_ms": round(1e3 * link["queue_delay_max_s"], 3),
        "jain": round(jain, 4),
        "stolen_s": run["live"]["stolen_s"] if run.get("live") else None,
    }


def _runs(args: argparse.Namespace) -> Iterator[tuple[str, sojourn.Run]]:
    control, arithmetic, *_ = CASES[args.case]
    if not args.simulated:
        for _ in range(args.runs):
            yield "live", sojourn.live(_scenario(args), control)
        return
    flow = f'control = {{ kind = "{control}", arithmetic = "{arithmetic}" }}\n'
    for name, more in (("simulated", ""), ("simulated with bursts", BURSTS)):
        yield name, sojourn.run(_scenario(args, flow + more), runs=args.runs)


def main() -> None:
    """Run one case, and print its figures."""
    parser = argparse.ArgumentParser(description="Measure a controller live.")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--simulated", action="store_true", help="simulate instead")
    parser.add_argument("--runs", type=int, default=1, help="number of runs")
    parser.add_argument("--seconds", type=int, default=30, help="duration of a run")
    parser.add_argument("--from", dest="begin", default="0s", help="end of the warm-up")
    args = parser.parse_args()
    for name, found in _runs(args):
        for run in found.runs:
            figures = _figures(run) | {"slow_start_exits": _exits(found, run["seed"])}
            about = {"case": args.case, "seconds": args.seconds, "from": args.begin, "run": name}
            print(json.dumps(about | figures))


if __name__ == "__main__":
    main()
