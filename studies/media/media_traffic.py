"""Each kind of traffic of scenarios/traffic over each path and queue."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import polars as pl
import sojourn

SCENARIOS = Path(__file__).parents[2] / "scenarios"
Row = dict[str, Any]


class Traffic(NamedTuple):
    """A kind of traffic: its file in scenarios/traffic, and the flow whose figures count.

    `links` are those that get the path and the queue; the others stay as in the file.
    """

    name: str
    file: str
    flow: str
    links: tuple[str, ...] = ("down",)


TRAFFIC = (
    Traffic("game", "game", "game-down"),
    Traffic("VoIP", "voip", "voice-down"),
    Traffic("video", "video-call", "video"),
    Traffic("cloud gaming", "cloud-gaming", "video"),
    Traffic("web page", "web-page", "page"),
    Traffic("RRUL", "rrul", "ping", ("down", "up")),
    Traffic("VoIP and uploads", "torrent", "voice", ("up",)),
)
QUEUES = ("droptail", "codel", "fq_codel", "cake", "pie", "dualpi2")
PATHS: dict[str, Row] = {
    "10 Mbit/s": {"rate": "10Mbit", "delay": "10ms"},
    "50 Mbit/s": {"rate": "50Mbit", "delay": "10ms"},
    "100 Mbit/s": {"rate": "100Mbit", "delay": "10ms"},
    "WiFi": {
        "rate": {
            "start": "80Mbit",
            "ramps": [{"from": "10s", "to": "18s", "rate": "5Mbit"}],
            "steps": [{"at": "20s", "rate": "0bit"}, {"at": "20500ms", "rate": "80Mbit"}],
        },
        "delay": "10ms",
        "jitter": "3ms",
        "loss": {"p": 0.0001, "r": 0.3},
    },
    "cellular": {"rate": {"trace": f"{SCENARIOS}/traces/cellular.trace"}, "delay": "10ms"},
}
FROM_S = 5
# The least share of frames that are complete in a cell with delays.
LEAST_COMPLETE = 0.1


def measure(small: bool) -> list[Row]:
    """Return a row for each controller of each kind of traffic, over each path and queue."""
    paths = list(PATHS.items())[:1] if small else PATHS.items()
    kinds = (TRAFFIC[0], TRAFFIC[4]) if small else TRAFFIC
    queues = QUEUES[:2] if small else QUEUES
    return [
        {"path": path, **row}
        for path, link in paths
        for traffic in kinds
        for queue in queues
        for row in cells(traffic, queue, link)
    ]


def scenario(traffic: Traffic, queue: str, link: Row) -> Row:
    """Return the scenario of one kind of traffic over one path and queue.

    All flows start at once, so that the traffic has company all the time.
    """
    found = dict(sojourn.Scenario.load(SCENARIOS / "traffic" / f"{traffic.file}.toml"))
    path = {**link, "queue": queue}
    if queue == "droptail":
        path["buffer"] = "250packets"
    for name in traffic.links:
        found["link"][name] = path
    for flow in found["flow"].values():
        flow.pop("start", None)
    return {**found, "measure": {"from": f"{FROM_S}s"}, "record": {"interval": "0s"}}


def cells(traffic: Traffic, queue: str, link: Row) -> Iterator[Row]:
    """Measure one kind of traffic over one queue, a row for each of its controllers."""
    document = scenario(traffic, queue, link)
    record = sojourn.run(document)
    for run in record.runs:
        control = f", {run['control']}" if len(record.runs) > 1 else ""
        declared = document["flow"][traffic.flow]
        source = declared.get("source", {})
        flow = next(flow for flow in run["flows"] if flow["name"].startswith(traffic.flow))
        if media := flow.get("media"):
            figures = of_media({**media})
        elif source["kind"] == "request":
            figures = of_pages(record.transfers, declared["count"], source["batch"])
        else:
            figures = delays(flow["rtt_p50_s"], flow["rtt_p99_s"])
        yield {"traffic": f"{traffic.name}{control}", "queue": queue, **figures}


def delays(p50_s: float | None, p99_s: float | None) -> Row:
    """Return two delays in ms."""
    both = {"p50_ms": p50_s, "p99_ms": p99_s}
    return {name: rounded(value, 1, 1e3) for name, value in both.items()}


def rounded(value: float | None, digits: int, factor: float = 1.0) -> float | None:
    """Return a figure in another unit; a cell without any packets has none."""
    return None if value is None else round(value * factor, digits)


def of_media(media: Row) -> Row:
    """Return the figures of a flow of media.

    The delays of the few frames that leave an overloaded path are not representative.
    """
    has_delays = media["complete_frames"] >= LEAST_COMPLETE * media["frames"]
    shown = [media[f"frame_delay_{name}_s"] if has_delays else None for name in ("p50", "p99")]
    return {
        **delays(*shown),
        "avoidable_share": rounded(media["avoidable_share"], 3),
        "frames": media["frames"],
        "complete_frames": media["complete_frames"],
        "late_frames": media["late_frames"],
        "frozen_s": round(media["frozen_s"], 2),
        "media_mbps": round(media["media_bps"] / 1e6, 3),
        "quality_mos": rounded(media["quality_mos"], 2),
    }


def of_pages(transfers: pl.DataFrame, connections: int, batch: int) -> Row:
    """Return the times of pages, from the first request to the last object of all connections.

    A page has one batch of each connection. Pages that are not complete do not count; of the few
    others, the 99th percentile is the greatest.
    """
    flows = [rows.sort("start_s").to_dicts() for _, rows in transfers.group_by("flow")]
    if len(flows) != connections:
        raise ValueError(f"{len(flows)} connections have transfers, not {connections}")
    times, unfinished = [], 0
    for first in range(0, max(map(len, flows)), batch):
        objects = [one for flow in flows for one in flow[first : first + batch]]
        begin = min(one["start_s"] for one in objects)
        if begin < FROM_S:
            continue
        ends = [one["completion_s"] for one in objects]
        if len(objects) < connections * batch or None in ends:
            unfinished += 1
            continue
        times.append(max(one["start_s"] + one["completion_s"] for one in objects) - begin)
    middle, longest = (median(times), max(times)) if times else (None, None)
    return {**delays(middle, longest), "pages": len(times), "unfinished_pages": unfinished}
