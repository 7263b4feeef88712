"""Real hosts beside the figures of papers, and echo requests beside their replies in one queue."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import sojourn
from live_timing import packets

Row = dict[str, Any]

HOSTS = Path(__file__).with_name("echoes.toml")
# The options of a whole measurement.
PAPERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "latency-spike": (("--runs", "10"),),
    "bufferbloat": ((), ("--ipv6",)),
    "packet-scale": (("--runs", "5"),),
    "lola": ((),),
}
# For each figure of a row: its name with its unit, and the keys of the live value, of its least and
# greatest, and of the simulated value.
FIGURES = (
    ("spike_ms", "spike_median_ms", "spike_min_ms", "spike_max_ms", "simulated_median_ms"),
    ("rtt_ms", "median_ms", "min_ms", "max_ms", "simulated_median_ms"),
    ("rtt_mean_ms", "mean_ms", None, None, "simulated_mean_ms"),
    ("utilisation_share", "utilisation_median", "utilisation_min", "utilisation_max",
     "simulated_utilisation"),
    ("delay_ms", "delay_median_ms", "delay_min_ms", "delay_max_ms", "simulated_delay_ms"),
    ("utilisation_share", "utilisation", None, None, "simulated_utilisation"),
    ("jain_share", "jain", None, None, "simulated_jain"),
    ("queue_p50_ms", "queue_p50_ms", None, None, "simulated_queue_p50_ms"),
    ("queue_p99_ms", "queue_p99_ms", None, None, "simulated_queue_p99_ms"),
)  # fmt: skip
# The bound or the value of the paper's model beside a figure.
EXPECTED = {
    "spike_ms": "bound_corrected_ms",
    "utilisation_share": "model_utilisation",
    "delay_ms": "model_delay_ms",
}
# The range of the simulations, and the least distance of a run from its own expected value, which
# is a median over the runs.
EVIDENCE = {
    "simulated_p5": "simulated_p5_ms",
    "simulated_p95": "simulated_p95_ms",
    "least_excess": "excess_min_ms",
}


def papers(small: bool) -> list[Row]:
    """Run the live figures of the papers, beside simulations of the same runs."""
    found: list[Row] = []
    for paper, measurements in PAPERS.items():
        if small and paper != "latency-spike":
            continue
        for options in (("--quick", "--runs", "1"),) if small else measurements:
            line = [sys.executable, "-m", "sojourn", "paper", "run", paper, "--live", "--json"]
            with tempfile.TemporaryDirectory() as folder:
                line += [*options, "--out", str(Path(folder) / "out")]
                done = subprocess.run(line, stdout=subprocess.PIPE, check=True)
            ip = "IPv6" if "--ipv6" in options else "IPv4"
            own: list[Row] = []
            # Figures of a paper may share a table.
            for row in rows(json.loads(done.stdout), paper, ip):
                if row not in own:
                    own.append(row)
            found += [*ranges(own), *own]
    return found


def rows(summary: Mapping[str, Any], paper: str, ip: str) -> Iterator[Row]:
    """Yield a row for each measured figure of a paper's tables."""
    for figure in summary["figures"]:
        for table in figure["tables"]:
            for one in table["rows"]:
                for name, live, least, greatest, simulated in FIGURES:
                    if live in one:
                        yield {
                            "paper": paper,
                            "case": case(one, figure["figure"], ip),
                            "figure": name,
                            "runs": one.get("runs", 1),
                            "live": one[live],
                            "live_least": one.get(least),
                            "live_greatest": one.get(greatest),
                            "simulated": one[simulated],
                            "expected": one.get(EXPECTED.get(name, "")),
                            **{key: one.get(own) for key, own in EVIDENCE.items()},
                        }


def case(row: Row, figure: str, ip: str) -> str:
    """Name the case of a row of a paper's table."""
    if "ratio" in row:
        return f"{row['control']}, {row['stack']}, r = {row['ratio']}, d = {row['d_ms']} ms"
    if "layer" in row:
        return f"{row['queue_bytes'] / 1e3:g} kB, {ip}, {row['layer']} at {row['host']}"
    return f"figure {figure}, {row['kind']}" if "kind" in row else str(row["case"])


# The layers that the paper on bufferbloat compares, at both hosts.
COMPARED = ("ICMP", "TCP", "application")


def ranges(rows: list[Row]) -> Iterator[Row]:
    """Yield by how much the round-trip times of the layers differ, for each queue."""
    values: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        queue, _, place = row["case"].rpartition(", ")
        if place.partition(" at ")[0] in COMPARED:
            values.setdefault((queue, row["figure"]), []).append(row)
    for (queue, figure), own in values.items():
        live, simulated = ([row[key] for row in own] for key in ("live", "simulated"))
        yield {
            **own[0],
            "case": f"{queue}, range over the layers",
            "figure": figure,
            "live": max(live) - min(live),
            "live_least": None,
            "live_greatest": None,
            "simulated": max(simulated) - min(simulated),
        }


# The link of the requests of each host, and that of the replies to it.
LINKS = (("to_b", "to_a"), ("to_a", "to_b"))
BURSTS = {"tso": "64KiB", "tso_defer": "linux-6.18", "burst_acks": True, "quick_acks": 62}
ECHOES = (
    ("live", "300kB", 3),
    ("live, IPv6", "300kB", 2),
    ("live", "100kB", 1),
    ("simulated with bursts", "300kB", 1),
    ("simulated with bursts", "100kB", 1),
    ("simulated, single packets", "300kB", 1),
)


def echoes(small: bool) -> list[Row]:
    """Return how long requests and replies wait in the same queues, and the mean backlog.

    The hosts are those of the paper on bufferbloat, and ping each other every 37 ms.
    """
    begin_s, end_s = (1.0, 2.0) if small else (8.0, 40.0)
    found: list[Row] = []
    for kind, queue, runs in ECHOES[3:4] if small else ECHOES:
        for place in range(runs):
            starts = {"flow.bulk_to_a.start": f"{500 + 137 * place}ms", "duration": f"{end_s:g}s"}
            changes: dict[str, object] = {f"link.{link}.buffer": queue for link in LINKS[0]}
            for number, probe in enumerate(("client_a", "client_b", "ping_a", "ping_b")):
                changes[f"flow.{probe}.start"] = f"{1e3 * begin_s + 5 * number:g}ms"
            for flow in ("bulk_to_a", "bulk_to_b") if "bursts" in kind else ():
                changes |= {f"flow.{flow}.transport.{key}": value for key, value in BURSTS.items()}
            with tempfile.TemporaryDirectory() as folder:
                captures = Path(folder) / "captures"
                given = {"set": changes | starts, "pcapng": captures}
                if kind.startswith("live"):
                    run = sojourn.live(HOSTS, ipv6="IPv6" in kind, **given)  # type: ignore[arg-type]
                else:
                    run = sojourn.run(HOSTS, **given)  # type: ignore[arg-type]
                found += waits(run, captures, begin_s, {"run": kind, "queue_kb": int(queue[:-2])})
    return found


def waits(run: sojourn.Run, folder: Path, begin_s: float, head: Row) -> Iterator[Row]:
    """Yield the means of both links, in ms."""
    sent, received = (
        dict(_echoes(next(folder.glob(f"*.{end}.pcapng")))) for end in ("sender", "receiver")
    )
    hosts = sorted({host for _, host, _ in sent})
    times: dict[tuple[str, bool], list[float]] = {}
    for (is_reply, host, number), left_s in sent.items():
        request, reply = (False, host, number), (True, host, number)
        if is_reply or not (request in received and reply in sent and reply in received):
            continue
        there, back = LINKS[hosts.index(host)]
        times.setdefault((there, False), []).append(received[request] - left_s)
        times.setdefault((back, True), []).append(sent[reply] - received[reply])
    for link in ("to_b", "to_a"):
        series = run.link(link).series.filter(pl.col("t_s") >= begin_s)
        yield {
            **head,
            "link": link,
            "requests_ms": 1e3 * fmean(times[link, False]),
            "replies_ms": 1e3 * fmean(times[link, True]),
            # At the link's 10 Mbit/s.
            "backlog_ms": 8e3 * float(series["queue_bytes"].mean()) / 10e6,  # type: ignore[arg-type]
        }


# Types of requests and replies (RFC 792 page 14, RFC 4443 sections 4.1 and 4.2), by the version and
# the protocol of their IP header.
TYPES = {(4, 1): (8, 0), (6, 58): (128, 129)}


def _echoes(file: Path) -> Iterator[tuple[tuple[bool, bytes, int], float]]:
    """Yield echoes: whether it is a reply, the pinging host, the number, and the time."""
    for at, _, packet in packets(file):
        version = packet[0] >> 4
        is_old = version == 4
        protocol, begin = (packet[9], 4 * (packet[0] & 15)) if is_old else (packet[6], 40)
        types = TYPES.get((version, protocol))
        if types is None or packet[begin] not in types:
            continue
        is_reply = packet[begin] == types[1]
        first, length = (12, 4) if is_old else (8, 16)
        place = first + length * is_reply
        number = int.from_bytes(packet[begin + 6 : begin + 8], "big")
        yield (is_reply, packet[place : place + length], number), at
