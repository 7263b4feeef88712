"""Measure the controllers in the kernel live, beside simulations with the same arithmetic.

    sudo .venv/bin/python benches/kernel_live.py lola --runs 5
    sudo .venv/bin/python benches/kernel_live.py prague-two --simulated

It prints one line of JSON for each run. With `--simulated` there is one run without bursts and one
with those of Linux 6.18 for each seed. `--from 2s` leaves the start out of the figures.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

import sojourn

SCENARIO = """
duration = "30s"
measure.from = "{begin}"
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
BURSTS = 'transport = { tso = "64KiB", tso_defer = "linux-6.18", burst_acks = true }'
STEP = '{ kind = "step", k = 20 }'
EQUAL, DIFFERENT = ("10ms", ["10ms", "10ms"]), ("5ms", ["16ms", "96ms"])
# Controller, arithmetic of its simulation, queue, and the delays of the link and of each way back.
CASES = {
    "lola": ("lola", "integer", '"droptail"', *EQUAL),
    "lola-rtts": ("lola", "integer", '"droptail"', *DIFFERENT),
    "copa": ("copa", "integer", '"droptail"', *EQUAL),
    "prague": ("prague", "integer", '"dualpi2"', "10ms", ["10ms"]),
    "prague-two": ("prague", "integer", '"dualpi2"', *EQUAL),
    "prague-step": ("prague", "integer", STEP, "10ms", ["10ms"]),
    "dctcp-step": ("dctcp", "exact", STEP, "10ms", ["10ms"]),
}


def _scenario(case: str, begin: str, more: str = "") -> str:
    _, _, queue, delay, delays = CASES[case]
    text = SCENARIO.format(begin=begin, queue=queue, delay=delay)
    flows = (FLOW.format(number=i, delay=back, more=more) for i, back in enumerate(delays))
    return text + "".join(flows)


def _figures(run: Mapping[str, Any]) -> dict[str, Any]:
    link, goodputs = run["links"][0], [flow["goodput_bps"] for flow in run["flows"]]
    jain = sum(goodputs) ** 2 / len(goodputs) / sum(one * one for one in goodputs)
    return {
        "utilisation": round(link["utilisation"], 4),
        "queue_delay_p99_ms": round(1e3 * link["queue_delay_p99_s"], 3),
        "queue_delay_max_ms": round(1e3 * link["queue_delay_max_s"], 3),
        "jain": round(jain, 4),
        "stolen_s": run["live"]["stolen_s"] if run.get("live") else None,
    }


def _runs(args: argparse.Namespace) -> Iterator[tuple[str, Mapping[str, Any]]]:
    control, arithmetic, *_ = CASES[args.case]
    if not args.simulated:
        for _ in range(args.runs):
            (run,) = sojourn.live(_scenario(args.case, args.begin), control).runs
            yield "live", run
        return
    flow = f'control = {{ kind = "{control}", arithmetic = "{arithmetic}" }}\n'
    for name, more in (("simulated", ""), ("simulated with bursts", BURSTS)):
        text = _scenario(args.case, args.begin, flow + more)
        for run in sojourn.run(text, runs=args.runs).runs:
            yield name, run


def main() -> None:
    """Run one case, and print its figures."""
    parser = argparse.ArgumentParser(description="Measure a controller live.")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--simulated", action="store_true", help="simulate instead")
    parser.add_argument("--runs", type=int, default=1, help="number of runs")
    parser.add_argument("--from", dest="begin", default="0s", help="end of the warm-up")
    args = parser.parse_args()
    for name, run in _runs(args):
        print(json.dumps({"case": args.case, "from": args.begin, "run": name} | _figures(run)))


if __name__ == "__main__":
    main()
