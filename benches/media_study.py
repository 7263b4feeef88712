"""The kinds of traffic of scenarios/traffic over every queue: a part of `benches/media.py`."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import altair as alt
import polars as pl
import sojourn
from sojourn.report import theme

SCENARIOS = Path(__file__).parents[1] / "scenarios"
Row = dict[str, Any]


def tables(file: str) -> Row:
    """Return the content of a scenario."""
    return dict(sojourn.Scenario.load(SCENARIOS / f"{file}.toml"))


class Traffic(NamedTuple):
    """A kind of traffic: its file in scenarios/traffic, and the flow whose figures are shown.

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
    "cellular": {"rate": {"trace": "traces/cellular.trace"}, "delay": "10ms"},
}
FROM_S = 5
# The least share of frames that are complete in a cell with delays.
LEAST_COMPLETE = 0.1


def of_study(traffic: Traffic, queue: str, link: Row) -> Row:
    """Return the scenario of one kind of traffic over one path and queue.

    All flows start at once, so that the traffic has company all the time.
    """
    scenario = tables(f"traffic/{traffic.file}")
    path = {**link, "queue": queue}
    if queue == "droptail":
        path["buffer"] = "250packets"
    for name in traffic.links:
        scenario["link"][name] = path
    for flow in scenario["flow"].values():
        flow.pop("start", None)
    return {**scenario, "measure": {"from": f"{FROM_S}s"}, "record": {"interval": "0s"}}


def cells(traffic: Traffic, queue: str, link: Row) -> Iterator[Row]:
    """Measure one kind of traffic over one queue, a row for each of its controllers."""
    scenario = of_study(traffic, queue, link)
    record = sojourn.run(scenario)
    for run in record.runs:
        several = len(record.runs) > 1
        name = f"{traffic.name}, {run['control']}" if several else traffic.name
        source = scenario["flow"][traffic.flow].get("source", {})
        flow = next(flow for flow in run["flows"] if flow["name"].startswith(traffic.flow))
        if flow.get("media"):
            figures = of_media(flow["media"])
        elif source["kind"] == "request":
            declared = scenario["flow"][traffic.flow]
            figures = of_pages(record.transfers, declared["count"], source["batch"])
        else:
            figures = {"p50_s": flow["rtt_p50_s"], "p99_s": flow["rtt_p99_s"]}
        yield {"traffic": name, "queue": queue, **figures}


def of_media(media: Row) -> Row:
    """Return the figures of a flow of media."""
    kept = ("media_bps", "frozen_s", "avoidable_share", "quality_mos", "late_frames", "frames")
    # The delays of the few frames that leave an overloaded path are not representative.
    if media["complete_frames"] < LEAST_COMPLETE * media["frames"]:
        media = {**media, "frame_delay_p50_s": None, "frame_delay_p99_s": None}
    delays = {"p50_s": media["frame_delay_p50_s"], "p99_s": media["frame_delay_p99_s"]}
    complete = {"complete_frames": media["complete_frames"]}
    return {**delays, **complete, **{key: media[key] for key in kept}}


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
    counts = {"pages": len(times), "unfinished_pages": unfinished}
    return {"p50_s": middle, "p99_s": longest, **counts}


def study() -> list[Row]:
    """Measure every cell."""
    rows = []
    for path, link in PATHS.items():
        for traffic in TRAFFIC:
            for queue in QUEUES:
                rows += ({"path": path, **row} for row in cells(traffic, queue, link))
            sys.stderr.write(f"{path}: {traffic.name}\n")
    return rows


def kinds(rows: Iterable[Row]) -> list[str]:
    """Return the kinds of traffic of the study, with their controllers, in order."""
    return list(dict.fromkeys(row["traffic"] for row in rows))


def _shown(row: Row) -> str:
    if row["p50_s"] is None:
        return "–"
    delays = f"{1e3 * row['p50_s']:.0f}, {1e3 * row['p99_s']:.0f}"
    share = row.get("avoidable_share")
    return delays if share is None else f"{delays}, {100 * share:.0f} %"


def study_tables(rows: list[Row]) -> str:
    """Return a table for each path: p50 and p99 in ms, and the share that was avoidable."""
    parts = []
    for path in PATHS:
        parts.append(f"### {path}\n\n| traffic | {' | '.join(QUEUES)} |")
        parts.append("|---" * (len(QUEUES) + 1) + "|")
        for traffic in kinds(rows):
            own = [r for r in rows if (r["path"], r["traffic"]) == (path, traffic)]
            parts.append(f"| {traffic} | {' | '.join(map(_shown, own))} |")
        parts.append("")
    return "\n".join(parts)


def study_picture(rows: list[Row]) -> dict[str, Any]:
    """Draw the 99th percentile of each cell as a square, a map for each path."""
    every = [{**row, "p99_ms": round(1e3 * row["p99_s"], 1)} for row in rows if row["p99_s"]]
    keys = ("path", "traffic", "queue", "p99_ms")
    data = theme.table([{key: row[key] for key in keys} for row in every], "p99_ms")
    x = alt.X("queue:N", sort=list(QUEUES), title=None, axis=alt.Axis(labelAngle=-45))
    y = alt.Y("traffic:N", sort=kinds(rows), title=None, axis=alt.Axis(labelLimit=200))
    scale = alt.Scale(type="log", scheme="yelloworangered", domain=[10, 1000], clamp=True)
    legend = alt.Legend(title="99th percentile of the delay (ms)", symbolType="square")
    colour = alt.Color("p99_ms:Q", scale=scale, legend=legend)
    squares = theme.chart(data, alt.MarkDef("rect"), x, y, colour)
    # White on the dark squares.
    ink = alt.condition("datum.p99_ms > 300", alt.value("white"), alt.value("#222222"))
    text = alt.Text("p99_ms:Q", format=".0f"), alt.Color(**ink)
    marks = theme.chart(data, alt.MarkDef("text", fontSize=11), x, y, *text)
    maps = alt.layer(squares, marks, width=48 * len(QUEUES), height=22 * len(kinds(rows)))
    drawn = maps.facet(facet=alt.Facet("path:N", sort=list(PATHS), title=None), columns=2)
    about = "frames from capture to arrival; pages from the first request to the last object; pings"
    return theme.document("Traffic over six queues", about, vconcat=[drawn])
