"""Measure media: `python benches/media.py`.

It runs the test cases of RFC 8867 (scenarios/rmcat), SCReAM over DualPI2, and each kind of traffic
beside one download over every queue. It writes docs/media.json, the tables of docs/media.md and the
pictures docs/media-rmcat.png and docs/media-study.png, in half a minute.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any, NamedTuple

import altair as alt
import documents
import polars as pl
import sojourn
from sojourn.report import theme

SCENARIOS = Path(__file__).parents[1] / "scenarios"
CONTROLS = ("scream", "nada", "gcc")
Row = dict[str, Any]


class Case(NamedTuple):
    """A test case of RFC 8867: its section, its file, and the times at which its capacity changes.

    `flows` are the media flows whose shares should be equal. `end_s` is the end of the flows.
    """

    section: str
    file: str
    changes_s: tuple[float, ...]
    end_s: float
    flows: tuple[str, ...] = ()


TIMES = ("video-10", "video-25", "video-50", "video-100", "video-150")
CASES = (
    Case("5.1", "variable-one", (0, 40, 60, 80), 99),
    Case("5.1", "variable-one-100", (0, 40, 60, 80), 99),
    Case("5.2", "variable-many", (0, 25, 50, 75, 100), 125, ("video-1", "video-2")),
    Case("5.3", "feedback", (0, 20, 40, 60), 99),
    Case("5.4", "competing", (40,), 119, ("first", "second", "third")),
    Case("5.5", "round-trips", (100,), 299, TIMES),
    Case("5.6", "long-tcp", (5,), 119, ("video", "download")),
    Case("5.6", "long-tcp-1000", (5,), 119, ("video", "download")),
    Case("5.7", "short-tcp", (5,), 299, ("video-1", "video-2")),
    Case("5.8", "pause", (0, 40, 60), 119, ("first", "second", "third")),
)
# RFC 8868 section 3, item 7: the ratio of two flows of the same priority should be at most 3.
MOST_RATIO = 3.0
# RFC 8867 section 4.3: the greatest and the least rate of a video, and the rate of an audio.
GREATEST_BPS, LEAST_BPS, AUDIO_BPS = 1.5e6, 150e3, 20e3


def videos(run: Row) -> list[Row]:
    """Return the flows of video of a run."""
    flows = [flow for flow in run["flows"] if flow.get("media")]
    return [flow for flow in flows if not flow["name"].startswith("audio")]


def by_second(flows: pl.DataFrame, names: Sequence[str], control: str) -> dict[int, float]:
    """Return the goodput in bit/s of all these flows together, in each second."""
    own = flows.filter(pl.col("flow").is_in(list(names)) & (pl.col("control") == control))
    own = own.with_columns(pl.col("t_s").ceil().cast(pl.Int64).alias("second"))
    each = own.group_by("flow", "second").agg(pl.col("goodput_bps").mean())
    total = each.group_by("second").agg(pl.col("goodput_bps").sum())
    return dict(zip(total["second"], total["goodput_bps"], strict=True))


def phases(case: Case, run: Row, record: Any) -> list[Row]:
    """Return the rate of the videos in the second half of each phase, and the rate that fits."""
    control = run["control"]
    forward = [one for one in videos(run) if one["name"] != "backward"]
    rates = by_second(record.flows, [one["name"] for one in forward], control)
    link = record.links.filter((pl.col("link") == "forward") & (pl.col("control") == control))
    found = []
    for begin, end in zip(case.changes_s, (*case.changes_s[1:], case.end_s), strict=True):
        middle = (begin + end) / 2
        seconds = [rate for at, rate in rates.items() if middle < at <= end]
        part = link.filter((pl.col("t_s") > middle) & (pl.col("t_s") <= end))
        capacity = float(part["capacity_bps"].mean() or 0.0)
        audios = sum(flow["name"].startswith("audio") for flow in run["flows"])
        fits = min(capacity - audios * AUDIO_BPS, GREATEST_BPS * len(forward))
        mean = fmean(seconds)
        found.append(
            {
                "from_s": middle,
                "to_s": end,
                "rate_bps": mean,
                "share": mean / fits,
                "oscillation": pstdev(seconds) / mean if mean else 0.0,
            }
        )
    return found


def of_case(case: Case, run: Row, record: Any) -> Row:
    """Return the figures of one controller in one case."""
    every = videos(run)
    media = [flow["media"] for flow in every]
    sent = sum(flow["sent_packets"] for flow in every)
    rates = [flow["goodput_bps"] for flow in run["flows"] if flow["name"] in case.flows]
    forward = next(link for link in run["links"] if link["name"] == "forward")
    return {
        "section": case.section,
        "case": case.file,
        "control": run["control"],
        "media_bps": sum(one["media_bps"] for one in media),
        "least_video_bps": min(one["media_bps"] for one in media),
        "utilisation": forward["utilisation"],
        "frame_delay_p50_s": max(one["frame_delay_p50_s"] for one in media),
        "frame_delay_p99_s": max(one["frame_delay_p99_s"] for one in media),
        "lost_share": sum(flow["dropped_packets"] for flow in every) / max(sent, 1),
        "frozen_s": sum(one["frozen_s"] for one in media),
        "ratio": max(rates) / max(min(rates), 1.0) if rates else None,
        "quality_mos": fmean(one["quality_mos"] for one in media),
        "phases": phases(case, run, record),
    }


def rmcat() -> tuple[list[Row], list[Row]]:
    """Run every case. Returns the figures, and the rates of the videos over time."""
    rows: list[Row] = []
    points: list[Row] = []
    for case in CASES:
        record = sojourn.run(SCENARIOS / "rmcat" / f"{case.file}.toml")
        for run in record.runs:
            rows.append(of_case(case, run, record))
            points += curves(case, run, record)
        sys.stderr.write(f"{case.section} {case.file}\n")
    return rows, points


def curves(case: Case, run: Row, record: Any) -> Iterator[Row]:
    """Yield the rate of each video in each second, and the capacity."""
    control = run["control"]
    shared = {"case": f"{case.section} {case.file}", "control": control}
    for flow in videos(run):
        for at, bps in sorted(by_second(record.flows, [flow["name"]], control).items()):
            yield {**shared, "line": flow["name"], "kind": "video", "t_s": at, "mbit": bps / 1e6}
    link = record.links.filter((pl.col("link") == "forward") & (pl.col("control") == control))
    for at, bps in zip(link["t_s"], link["capacity_bps"], strict=True):
        if at == int(at):
            yield {**shared, "line": "link", "kind": "link", "t_s": int(at), "mbit": bps / 1e6}


def rmcat_table(rows: Iterable[Row]) -> str:
    """Return the table of the cases."""
    lines = [
        "| RFC 8867 | controller | share of the fair rate | oscillation | frame p50, p99 ms | lost "
        "| frozen s | ratio | MOS |",
        "|---" * 9 + "|",
    ]
    for row in rows:
        shares = " ".join(f"{one['share']:.2f}" for one in row["phases"])
        swings = " ".join(f"{100 * one['oscillation']:.0f}" for one in row["phases"])
        delays = f"{1e3 * row['frame_delay_p50_s']:.0f}, {1e3 * row['frame_delay_p99_s']:.0f}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.1f}"
        if row["ratio"] and row["ratio"] > MOST_RATIO:
            ratio = f"**{ratio}**"
        lines.append(
            f"| {row['section']} {row['case']} | `{row['control']}` | {shares} | {swings} % "
            f"| {delays} | {100 * row['lost_share']:.2f} % | {row['frozen_s']:.1f} | {ratio} "
            f"| {row['quality_mos']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def rmcat_picture(points: list[Row]) -> dict[str, Any]:
    """Draw the rates of the videos, a column for each controller."""
    cases = list(dict.fromkeys(row["case"] for row in points))
    rows = []
    for case in cases:
        views = []
        for control in CONTROLS:
            own = [p for p in points if (p["case"], p["control"]) == (case, control)]
            x = alt.X("t_s:Q", title=None)
            y = alt.Y("mbit:Q", title="Mbit/s", scale=alt.Scale(domainMin=0))
            lines = [row for row in own if row["kind"] == "video"]
            capacity = [row for row in own if row["kind"] == "link"]
            step = alt.MarkDef("line", interpolate="step-before", color="#bbbbbb", strokeWidth=3)
            mark = alt.MarkDef("line", strokeWidth=1.3)
            colour = alt.Color("line:N", legend=None)
            layers = alt.layer(
                theme.chart(theme.table(capacity, "t_s", "mbit"), step, x, y),
                theme.chart(theme.table(lines, "t_s", "mbit"), mark, x, y, colour),
            )
            title = theme.titled(f"{case}, {control}", fontSize=11)
            views.append(layers.properties(width=270, height=95, title=title))
        rows.append(alt.hconcat(*views))
    about = "goodput of each video in each second (colours), and the capacity (grey)"
    return theme.document("The test cases of RFC 8867", about, vconcat=rows)


class Setting(NamedTuple):
    """SCReAM over DualPI2: videos, frames a second, pacing headroom, deviation of frame sizes."""

    mbit: int
    videos: int
    frame_rate: int
    headroom: float = 1.5
    variation: float = 0.15


# RECOMMENDED headroom first; then more frames a second, less headroom, equal frames, more videos.
SETTINGS = (
    *(Setting(50, 1, 30), Setting(10, 1, 60), Setting(50, 1, 60), Setting(100, 1, 60)),
    *(Setting(50, 1, 60, 1.3), Setting(50, 1, 60, 1.1), Setting(50, 1, 60, 1.5, 0.0)),
    *(Setting(50, 1, 120), Setting(50, 1, 120, 1.3), Setting(50, 1, 120, 1.3, 0.0)),
    *(Setting(20, 1, 240), Setting(50, 1, 240), Setting(100, 1, 240)),
    *(Setting(50, 4, 60), Setting(50, 16, 60), Setting(50, 2, 120), Setting(50, 2, 120, 1.3)),
    *(Setting(50, 4, 120), Setting(50, 4, 240)),
)
DUALPI2 = """
duration = "60s"
record = {{ interval = "0s" }}
measure = {{ from = "20s" }}
[link.forward]
rate = "{mbit}Mbit"
delay = "10ms"
queue = "dualpi2"
[link.backward]
delay = "10ms"
[flow.video]
control = {{ kind = "scream", packet_pacing_headroom = {headroom} }}
path = ["forward"]
back = ["backward"]
count = {videos}
stagger = "1s"
[flow.video.source]
kind = "media"
max_rate = "400Mbit"
frame_rate = {frame_rate}
variation = {variation}
resolution = "1080p"
"""
# The target: p99 at most half the round trip and 10 ms, at this share of the capacity.
LEAST_USED, MOST_P99_S = 0.8, 0.020


def dualpi2() -> list[Row]:
    """Measure SCReAM over DualPI2 at 20 ms."""
    rows = []
    for one in SETTINGS:
        text = DUALPI2.format(**one._asdict())
        run = sojourn.run(text).runs[0]
        media = [flow["media"] for flow in run["flows"]]
        used = next(link for link in run["links"] if link["name"] == "forward")["utilisation"]
        p99 = max(each["frame_delay_p99_s"] for each in media)
        rows.append(
            {
                **one._asdict(),
                "utilisation": used,
                "least_s": fmean(each["least_frame_delay_mean_s"] for each in media),
                "frame_delay_p50_s": max(each["frame_delay_p50_s"] for each in media),
                "frame_delay_p99_s": p99,
                # Half the round trip, and the transmission of a mean frame alone.
                "least_at_target_s": 0.010 + LEAST_USED / one.videos / one.frame_rate,
                "is_met": used >= LEAST_USED and p99 <= MOST_P99_S,
            }
        )
        sys.stderr.write(f"dualpi2: {one}\n")
    return rows


def dualpi2_table(rows: Iterable[Row]) -> str:
    """Return the table of SCReAM over DualPI2."""
    lines = [
        "| Mbit/s | videos | frames/s | pacing headroom | sizes vary | link used "
        "| frame least, p50, p99 ms | least mean at 80 %, ms | target |",
        "|---" * 9 + "|",
    ]
    for row in rows:
        delays = ", ".join(
            f"{1e3 * row[key]:.1f}" for key in ("least_s", "frame_delay_p50_s", "frame_delay_p99_s")
        )
        target = "met" if row["is_met"] else "missed"
        lines.append(
            f"| {row['mbit']} | {row['videos']} | {row['frame_rate']} | {row['headroom']} "
            f"| {100 * row['variation']:.0f} % | {100 * row['utilisation']:.0f} % | {delays} "
            f"| {1e3 * row['least_at_target_s']:.1f} | {target} |"
        )
    return "\n".join(lines) + "\n"


# Ericsson's test record of 2024-10-31 (EricssonResearch/scream, test-record.md, tests 2 and 3): the
# rate of SCReAM alone in Mbit/s over 100 Mbit/s with DualPI2, for each round-trip time in ms, with
# frames of equal size, and with sizes that vary by 50 %.
ERICSSON = {5: (79, 70), 10: (78, 68), 25: (78, 68), 50: (76, 66), 100: (71, 64)}


def ericsson() -> list[Row]:
    """Measure SCReAM in the setting of Ericsson's test record."""
    rows = []
    for rtt_ms, published in ERICSSON.items():
        rates = []
        # A uniform deviation of 50 % has a standard deviation of 0.29.
        for variation in (0.0, 0.29):
            text = DUALPI2.format(
                mbit=100, headroom=1.5, videos=1, frame_rate=50, variation=variation
            ).replace('delay = "10ms"', f'delay = "{rtt_ms / 2}ms"')
            flow = sojourn.run(text).runs[0]["flows"][0]
            rates.append(flow["media"]["media_bps"])
        rows.append({"rtt_ms": rtt_ms, "published_mbit": published, "rates_bps": rates})
    return rows


def ericsson_table(rows: Iterable[Row]) -> str:
    """Return the table beside Ericsson's figures."""
    lines = [
        "| round trip ms | equal frames: Ericsson, here, Mbit/s | varied frames: Ericsson, here |",
        "|---|---|---|",
    ]
    for row in rows:
        cells = (
            f"{theirs}, {ours / 1e6:.0f}"
            for theirs, ours in zip(row["published_mbit"], row["rates_bps"], strict=True)
        )
        lines.append(f"| {row['rtt_ms']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


class Traffic(NamedTuple):
    """A kind of traffic of scenarios/traffic: its flow, and the flow whose figures are shown."""

    name: str
    flow: str


UPDATES = (
    'kind = "media", min_rate = "24960bit", frame_rate = 60, variation = 0.0, packet = "64B", '
    'quality = "voice"'
)
VOICE = (
    'kind = "media", min_rate = "64kbit", frame_rate = 50, variation = 0.0, packet = "172B", '
    'quality = "voice"'
)
VIDEO = 'kind = "media", max_rate = "4Mbit"'
GAMING = (
    'kind = "media", min_rate = "20Mbit", max_rate = "50Mbit", frame_rate = 60, '
    'resolution = "1080p"'
)
PAGE = 'kind = "request", request = "500B", response = "32kB", interval = "200ms"'


def _flow(control: str, source: str, more: str = "") -> str:
    return f'[flow.probe]\ncontrol = "{control}"\nsource = {{ {source} }}\n{more}'


TRAFFIC = (
    Traffic("game", _flow("none", UPDATES)),
    Traffic("VoIP", _flow("none", VOICE)),
    *(Traffic(f"video, {one}", _flow(one, VIDEO)) for one in CONTROLS),
    *(Traffic(f"cloud gaming, {one}", _flow(one, GAMING)) for one in CONTROLS),
    Traffic("web page", _flow("cubic", PAGE, "count = 6\n")),
    Traffic("RRUL", _flow("none", 'kind = "ping", interval = "200ms"')),
    Traffic("VoIP and torrent", _flow("none", VOICE)),
)
QUEUES = ("droptail", "codel", "fq_codel", "cake", "pie", "dualpi2")
PATHS = {
    "10 Mbit/s": 'rate = "10Mbit"\ndelay = "10ms"',
    "50 Mbit/s": 'rate = "50Mbit"\ndelay = "10ms"',
    "100 Mbit/s": 'rate = "100Mbit"\ndelay = "10ms"',
    "WiFi": (
        'rate = { start = "80Mbit", ramps = [{ from = "10s", to = "18s", rate = "5Mbit" }], '
        'steps = [{ at = "20s", rate = "0bit" }, { at = "20500ms", rate = "80Mbit" }] }\n'
        'delay = "10ms"\njitter = "3ms"\nloss = { p = 0.0001, r = 0.3 }'
    ),
    "cellular": 'rate = { trace = "traces/cellular.trace" }\ndelay = "10ms"',
}
BESIDE = """
duration = "30s"
measure = {{ from = "5s" }}
record = {{ interval = "0s" }}
[link.forward]
{link}
{buffer}
queue = "{queue}"
[link.backward]
delay = "10ms"
{flows}
{probe}path = ["forward"]
back = ["backward"]
"""
BULK = '[flow.bulk]\ncontrol = "cubic"\npath = ["forward"]\nback = ["backward"]\n'
# RRUL has four downloads in each direction; the path back has no bottleneck here.
MORE = {
    "RRUL": BULK + "count = 4\n",
    "VoIP and torrent": BULK.replace('"cubic"', '"ledbat++"') + 'count = 40\nstagger = "5s"\n',
}


def cell(traffic: Traffic, queue: str, link: str) -> Row:
    """Measure one kind of traffic beside a download, over one queue."""
    text = BESIDE.format(
        link=link,
        buffer='buffer = "250packets"' if queue == "droptail" else "",
        queue=queue,
        flows=MORE.get(traffic.name, BULK),
        probe=traffic.flow,
    )
    flows = sojourn.run(text).runs[0]["flows"]
    probes = [flow for flow in flows if flow["name"].startswith("probe")]
    media = probes[0].get("media")
    if media:
        kept = ("media_bps", "frozen_s", "avoidable_share", "quality_mos", "late_frames", "frames")
        delays = {"p50_s": media["frame_delay_p50_s"], "p99_s": media["frame_delay_p99_s"]}
        return {**delays, **{key: media[key] for key in kept}}
    what = "rtt" if "ping" in traffic.flow else "response"
    p50 = median(flow[f"{what}_p50_s"] for flow in probes)
    p99 = max(flow[f"{what}_p99_s"] for flow in probes)
    # The least is the same request over the path alone.
    return {"p50_s": p50, "p99_s": p99, "avoidable_share": None}


def study() -> list[Row]:
    """Measure every cell."""
    rows = []
    for path, link in PATHS.items():
        for traffic in TRAFFIC:
            for queue in QUEUES:
                figures = cell(traffic, queue, link)
                rows.append({"path": path, "traffic": traffic.name, "queue": queue, **figures})
            sys.stderr.write(f"{path}: {traffic.name}\n")
    return rows


def _shown(row: Row) -> str:
    if row["p50_s"] is None:
        return "–"
    delays = f"{1e3 * row['p50_s']:.0f}, {1e3 * row['p99_s']:.0f}"
    share = row["avoidable_share"]
    return delays if share is None else f"{delays}, {100 * share:.0f} %"


def study_tables(rows: list[Row]) -> str:
    """Return a table for each path: p50 and p99 in ms, and the share that was avoidable."""
    parts = []
    for path in PATHS:
        parts.append(f"### {path}\n\n| traffic | {' | '.join(QUEUES)} |")
        parts.append("|---" * (len(QUEUES) + 1) + "|")
        for traffic in TRAFFIC:
            own = [r for r in rows if (r["path"], r["traffic"]) == (path, traffic.name)]
            parts.append(f"| {traffic.name} | {' | '.join(map(_shown, own))} |")
        parts.append("")
    return "\n".join(parts)


def study_picture(rows: list[Row]) -> dict[str, Any]:
    """Draw the 99th percentile of each cell as a square, a map for each path."""
    every = [{**row, "p99_ms": round(1e3 * row["p99_s"], 1)} for row in rows if row["p99_s"]]
    keys = ("path", "traffic", "queue", "p99_ms")
    data = theme.table([{key: row[key] for key in keys} for row in every], "p99_ms")
    x = alt.X("queue:N", sort=list(QUEUES), title=None, axis=alt.Axis(labelAngle=-45))
    y = alt.Y(
        "traffic:N", sort=[one.name for one in TRAFFIC], title=None, axis=alt.Axis(labelLimit=200)
    )
    scale = alt.Scale(type="log", scheme="yelloworangered", domain=[10, 1000], clamp=True)
    legend = alt.Legend(title="99th percentile of the delay (ms)", symbolType="square")
    colour = alt.Color("p99_ms:Q", scale=scale, legend=legend)
    squares = theme.chart(data, alt.MarkDef("rect"), x, y, colour)
    # White on the dark squares.
    ink = alt.condition("datum.p99_ms > 300", alt.value("white"), alt.value("#222222"))
    text = alt.Text("p99_ms:Q", format=".0f"), alt.Color(**ink)
    marks = theme.chart(data, alt.MarkDef("text", fontSize=11), x, y, *text)
    maps = alt.layer(squares, marks, width=48 * len(QUEUES), height=22 * len(TRAFFIC))
    drawn = maps.facet(facet=alt.Facet("path:N", sort=list(PATHS), title=None), columns=2)
    about = "frames from capture to arrival; web pages and pings from request to response"
    return theme.document("Media beside one download", about, vconcat=[drawn])


def main() -> int:
    """Measure all, and write it."""
    os.chdir(SCENARIOS)
    cases, points = rmcat()
    parts = {"rmcat": cases, "dualpi2": dualpi2(), "ericsson": ericsson(), "study": study()}
    documents.save(
        "media",
        parts,
        {
            "rmcat": rmcat_table(cases),
            "dualpi2": dualpi2_table(parts["dualpi2"]),
            "ericsson": ericsson_table(parts["ericsson"]),
            "study": study_tables(parts["study"]),
        },
        {
            "media-rmcat.png": rmcat_picture(points),
            "media-study.png": study_picture(parts["study"]),
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
