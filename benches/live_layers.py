"""Measure how long echo requests and replies wait in the same queues: the table of docs/live.md.

    sudo .venv/bin/python benches/live_layers.py --queue 300kB --runs 3
    .venv/bin/python benches/live_layers.py --queue 300kB --simulated [--single-packets]

The hosts are those of `paper run bufferbloat`, and ping each other every 37 ms. It prints one line
of JSON for each run: by link, the mean time of requests and of replies on it, and the mean of the
backlog over time, all in ms.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import fmean

import polars as pl
import sojourn

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from papers.bufferbloat.echoes import echoes  # noqa: E402
from papers.bufferbloat.runs import assignments  # noqa: E402

BEGIN_S, END_S = 8.0, 40.0
RATE_BPS = 10e6
# The link of the requests of each host, and that of the replies to it.
LINKS = {"ping_a": ("to_b", "to_a"), "ping_b": ("to_a", "to_b")}
BURSTS = {"tso": "64KiB", "tso_defer": "linux-6.18", "burst_acks": True, "quick_acks": 62}


def _scenario(queue: str, place: int, bursts: bool) -> sojourn.Scenario:
    scenario = sojourn.Scenario.load(ROOT / "papers" / "bufferbloat" / "hosts.toml")
    changes: dict[str, object] = {**assignments(0, "cubic", 5, 500 + 137 * place, BEGIN_S)}
    changes |= {f"link.{link}.buffer": queue for link in ("to_a", "to_b")}
    changes |= {"duration": f"{END_S:g}s", "record.interval": "10ms"}
    changes |= {f"flow.{ping}.source": {"kind": "ping", "interval": "37ms"} for ping in LINKS}
    for flow in ("bulk_to_a", "bulk_to_b") if bursts else ():
        changes |= {f"flow.{flow}.transport.{key}": value for key, value in BURSTS.items()}
    for name, value in changes.items():
        *tables, key = name.split(".")
        table = scenario
        for one in tables:
            table = table.setdefault(one, {})
        table[key] = value
    return scenario


def _figures(run: sojourn.Run, folder: Path) -> dict[str, object]:
    sent, received = (
        dict(echoes(next(folder.glob(f"*.{end}.pcapng")))) for end in ("sender", "receiver")
    )
    hosts = sorted({one.host for one in sent}, key=int)
    waits: dict[tuple[str, str], list[float]] = {}
    for request, left_s in sent.items():
        reply = request._replace(is_reply=True)
        if request.is_reply or not (request in received and reply in sent and reply in received):
            continue
        there, back = list(LINKS.values())[hosts.index(request.host)]
        waits.setdefault((there, "requests"), []).append(received[request] - left_s)
        waits.setdefault((back, "replies"), []).append(sent[reply] - received[reply])
    found: dict[str, object] = {}
    for link in ("to_b", "to_a"):
        series = run.link(link).series.filter(pl.col("t_s") >= BEGIN_S)
        backlog_ms = 8e3 * float(series["queue_bytes"].mean()) / RATE_BPS  # type: ignore[arg-type]
        means = {kind: 1e3 * fmean(waits[link, kind]) for kind in ("requests", "replies")}
        shown = {**means, "backlog": backlog_ms}
        found[link] = {name: round(ms, 1) for name, ms in shown.items()}
    return found


def main() -> None:
    """Run the hosts, and print the figures."""
    parser = argparse.ArgumentParser(description="Measure requests and replies in the queues.")
    parser.add_argument("--queue", default="300kB", help="size of both queues")
    parser.add_argument("--runs", type=int, default=3, help="number of runs")
    parser.add_argument("--ipv6", action="store_true", help="IPv6 instead of IPv4")
    parser.add_argument("--simulated", action="store_true", help="simulate instead")
    parser.add_argument("--single-packets", action="store_true", help="simulate without bursts")
    args = parser.parse_args()
    for place in range(args.runs):
        with tempfile.TemporaryDirectory() as folder:
            captures = Path(folder) / "captures"
            bursts = args.simulated and not args.single_packets
            scenario = _scenario(args.queue, place, bursts)
            if args.simulated:
                run = sojourn.run(scenario, pcapng=captures)
            else:
                run = sojourn.live(scenario, pcapng=captures, ipv6=args.ipv6)
            print(json.dumps(_figures(run, captures)), flush=True)


if __name__ == "__main__":
    main()
