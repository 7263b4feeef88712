"""Measure media: `python benches/media.py`.

It runs the test cases of RFC 8867 (scenarios/rmcat), SCReAM over DualPI2, and each kind of traffic
of scenarios/traffic over every queue. It writes docs/media.json, the tables of docs/media.md and
the pictures docs/media-rmcat.png and docs/media-study.png, in about a minute.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any, NamedTuple

import altair as alt
import documents
import polars as pl
import sojourn
from media_study import SCENARIOS, Row, study, study_picture, study_tables, tables
from sojourn.report import theme

CONTROLS = ("scream", "nada", "gcc")


class Case(NamedTuple):
    """A test case of RFC 8867: its section, its file, and the times at which its capacity changes.

    `flows` are the media flows whose shares should be equal. `end_s` is the end of the flows. The
    figures are those of the videos on `link`. `label` distinguishes the rows of one file, and `set`
    has the values that differ from the file.
    """

    section: str
    file: str
    changes_s: tuple[float, ...]
    end_s: float
    flows: tuple[str, ...] = ()
    link: str = "forward"
    label: str = ""
    set: Mapping[str, object] = {}

    @property
    def name(self) -> str:
        """The file and the label."""
        return f"{self.file}, {self.label}" if self.label else self.file


TIMES = ("video-10", "video-25", "video-50", "video-100", "video-150")
THREE = ("first", "second", "third")
ONE = (0, 40, 60, 80)
FORWARD = (0, 20, 40, 60)
# NADA has a weight of priority, and NADA and SCReAM use ECN.
PRIORITY = {"controls": ["nada"], "flow.first.control": {"kind": "nada", "prio": 2.0}}
UNMARKED = {"link.forward.queue": {"kind": "codel", "ecn": False}, "controls": ["scream", "nada"]}
MARKS = {
    "link.forward.queue": {"kind": "codel", "ecn": True},
    "controls": ["scream", {"kind": "nada", "ecn": True}],
}
CASES = (
    Case("5.1", "variable-one", ONE, 99),
    Case("5.1", "variable-one-100", ONE, 99),
    Case("5.2", "variable-many", (0, 25, 50, 75, 100), 125, ("video-1", "video-2")),
    Case("5.3", "feedback", FORWARD, 99, label="forward"),
    Case("5.3", "feedback", (0, 35, 70), 99, link="backward", label="backward"),
    # The reference case: the reports have no congestion.
    Case("5.3", "feedback", FORWARD, 99, label="reference", set={"link.backward.rate": "2Mbit"}),
    Case("5.4", "competing", (40,), 119, THREE),
    Case("5.5", "round-trips", (100,), 299, TIMES),
    Case("5.6", "long-tcp", (5,), 119, ("video", "download")),
    Case("5.6", "long-tcp-1000", (5,), 119, ("video", "download")),
    Case("5.7", "short-tcp", (5,), 299, ("video-1", "video-2")),
    Case("5.8", "pause", (0, 40, 60), 119, THREE),
    Case("6.1", "competing", (40,), 119, THREE, label="priority 2", set=PRIORITY),
    Case("6.2", "variable-one", ONE, 99, label="CoDel without ECN", set=UNMARKED),
    Case("6.2", "variable-one", ONE, 99, label="CoDel with ECN", set=MARKS),
    Case("6.3", "bottlenecks", (20,), 299, ("through", "near"), "near", "near"),
    Case("6.3", "bottlenecks", (20,), 299, ("through", "far"), "far", "far"),
)
# RFC 8868 section 3, item 7: the ratio of two flows of the same priority should be at most 3.
MOST_RATIO = 3.0
# RFC 8867 section 4.3: the greatest and the least rate of a video, and the rate of an audio.
GREATEST_BPS, LEAST_BPS, AUDIO_BPS = 1.5e6, 150e3, 20e3
# Payload of a full packet of `packet` = "1200B".
PAYLOAD_BYTES = 1188


def on_link(case: Case, run: Row) -> tuple[list[Row], int]:
    """Return the videos whose path has the link of the case, and the number of audios with it."""
    declared = tables(f"rmcat/{case.file}")["flow"]
    # The flows of a flow with a `count` have its name and a number.
    own = [
        flow
        for flow in run["flows"]
        if flow.get("media")
        and case.link in declared.get(flow["name"], declared.get(flow["name"][:-2], {}))["path"]
    ]
    videos = [flow for flow in own if not flow["name"].startswith("audio")]
    return videos, len(own) - len(videos)


def by_second(flows: pl.DataFrame, names: Sequence[str], control: str) -> dict[int, float]:
    """Return the goodput in bit/s of all these flows together, in each second."""
    own = flows.filter(pl.col("flow").is_in(list(names)) & (pl.col("control") == control))
    own = own.with_columns(pl.col("t_s").ceil().cast(pl.Int64).alias("second"))
    each = own.group_by("flow", "second").agg(pl.col("goodput_bps").mean())
    total = each.group_by("second").agg(pl.col("goodput_bps").sum())
    return dict(zip(total["second"], total["goodput_bps"], strict=True))


def lost(names: Sequence[str], control: str, record: Any, span: tuple[float, float]) -> float:
    """Return the share of the packets of these flows in a span of time that were lost."""
    own = pl.col("flow").is_in(list(names)) & (pl.col("control") == control)
    counts = record.flows.filter(own)
    frames = record.frames.filter(own)

    def until(end: float) -> int:
        each = counts.filter(pl.col("t_s") <= end).group_by("flow")
        return int(each.agg(pl.col("lost_packets").last())["lost_packets"].sum())

    begin, end = span
    sizes = frames.filter((pl.col("captured_s") >= begin) & (pl.col("captured_s") < end))
    sent = sum(-(-size // PAYLOAD_BYTES) for size in sizes["size_bytes"])
    return (until(end) - until(begin)) / max(sent, 1)


def phases(case: Case, run: Row, record: Any) -> list[Row]:
    """Return the rate of the videos in the second half of each phase, and the rate that fits.

    The share of lost packets is that of the whole phase.
    """
    control = run["control"]
    videos, audios = on_link(case, run)
    names = [one["name"] for one in videos]
    rates = by_second(record.flows, names, control)
    link = record.links.filter((pl.col("link") == case.link) & (pl.col("control") == control))
    found = []
    for begin, end in pairwise((*case.changes_s, case.end_s)):
        middle = (begin + end) / 2
        seconds = [rate for at, rate in rates.items() if middle < at <= end]
        part = link.filter((pl.col("t_s") > middle) & (pl.col("t_s") <= end))
        capacity = float(part["capacity_bps"].mean() or 0.0)
        # A paused video has no rate.
        each = [by_second(record.flows, [name], control) for name in names]
        active = sum(
            any(own.get(at, 0) > 0 for at in range(int(middle) + 2, int(end))) for own in each
        )
        fits = min(capacity - audios * AUDIO_BPS, GREATEST_BPS * active)
        mean = fmean(seconds)
        found.append(
            {
                "from_s": middle,
                "to_s": end,
                "rate_bps": mean,
                "share": mean / fits,
                "oscillation": pstdev(seconds) / mean if mean else 0.0,
                "lost_share": lost(names, control, record, (begin, end)),
            }
        )
    return found


def of_case(case: Case, run: Row, record: Any) -> Row:
    """Return the figures of one controller in one case."""
    every, _ = on_link(case, run)
    media = [flow["media"] for flow in every]
    sent = sum(flow["sent_packets"] for flow in every)
    rates = [flow["goodput_bps"] for flow in run["flows"] if flow["name"] in case.flows]
    return {
        "section": case.section,
        "case": case.name,
        "control": run["control"],
        "media_bps": sum(one["media_bps"] for one in media),
        "least_video_bps": min(one["media_bps"] for one in media),
        "utilisation": utilisation(run, case.link),
        "frame_delay_p50_s": max(one["frame_delay_p50_s"] for one in media),
        "frame_delay_p99_s": max(one["frame_delay_p99_s"] for one in media),
        "lost_share": sum(flow["dropped_packets"] for flow in every) / max(sent, 1),
        "frozen_s": sum(one["frozen_s"] for one in media),
        "rates_bps": rates,
        "ratio": max(rates) / max(min(rates), 1.0) if rates else None,
        "quality_mos": fmean(one["quality_mos"] for one in media),
        "phases": phases(case, run, record),
    }


def utilisation(run: Row, name: str) -> float:
    """Return the utilisation of a link."""
    return next(float(link["utilisation"]) for link in run["links"] if link["name"] == name)


def rmcat() -> tuple[list[Row], list[Row]]:
    """Run every case. Returns the figures, and the rates of the videos over time."""
    rows: list[Row] = []
    points: list[Row] = []
    for case in CASES:
        record = sojourn.run(SCENARIOS / "rmcat" / f"{case.file}.toml", set=case.set)
        for run in record.runs:
            rows.append(of_case(case, run, record))
            points += curves(case, run, record)
        sys.stderr.write(f"{case.section} {case.name}\n")
    return rows, points


def curves(case: Case, run: Row, record: Any) -> Iterator[Row]:
    """Yield the rate of each video in each second, and the capacity."""
    control = run["control"]
    shared = {"case": f"{case.section} {case.name}", "control": control}
    for flow in on_link(case, run)[0]:
        for at, bps in sorted(by_second(record.flows, [flow["name"]], control).items()):
            yield {**shared, "line": flow["name"], "kind": "video", "t_s": at, "mbit": bps / 1e6}
    link = record.links.filter((pl.col("link") == case.link) & (pl.col("control") == control))
    for at, bps in zip(link["t_s"], link["capacity_bps"], strict=True):
        if at == int(at):
            yield {**shared, "line": "link", "kind": "link", "t_s": int(at), "mbit": bps / 1e6}


def rmcat_table(rows: Iterable[Row]) -> str:
    """Return the table of the cases."""
    lines = [
        "| RFC 8867 | controller | share of the fair rate | oscillation % | lost % "
        "| frame p50, p99 ms | frozen s | ratio | MOS |",
        "|---" * 9 + "|",
    ]
    for row in rows:
        shares = " ".join(f"{one['share']:.2f}" for one in row["phases"])
        swings = " ".join(f"{100 * one['oscillation']:.0f}" for one in row["phases"])
        losses = " ".join(f"{100 * one['lost_share']:.1f}" for one in row["phases"])
        delays = f"{1e3 * row['frame_delay_p50_s']:.0f}, {1e3 * row['frame_delay_p99_s']:.0f}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.1f}"
        if row["ratio"] and row["ratio"] > MOST_RATIO:
            ratio = f"**{ratio}**"
        lines.append(
            f"| {row['section']} {row['case']} | `{row['control']}` | {shares} | {swings} "
            f"| {losses} | {delays} | {row['frozen_s']:.1f} | {ratio} | {row['quality_mos']:.2f} |"
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
            if not own:
                continue
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
        used = utilisation(run, "forward")
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
        "| Mbit/s | videos | frames/s | pacing headroom | scale of sizes | link used "
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
            f"| {row['variation']} | {100 * row['utilisation']:.1f} % | {delays} "
            f"| {1e3 * row['least_at_target_s']:.1f} | {target} |"
        )
    return "\n".join(lines) + "\n"


# Ericsson's test record of 2024-10-31 (EricssonResearch/scream, test-record.md, tests 2 and 3): the
# rate of SCReAM alone in Mbit/s over 100 Mbit/s with DualPI2, for each round-trip time in ms, with
# frames of equal size, and with sizes that vary by up to 50 %.
ERICSSON = {5: (79, 70), 10: (78, 68), 25: (78, 68), 50: (76, 66), 100: (71, 64)}
# Its test 1 of 2024-10-28: the rate at 25 ms for microbursts of this length in ms.
MICROBURSTS = {0.25: 71, 0.5: 75, 1.0: 68, 2.0: 41}
# A uniform deviation of 50 % has the standard deviation 0.5 / sqrt(3), and a Laplacian one sqrt(2)
# times its scale.
VARIED = 0.5 / 6**0.5
HTB = '{{ kind = "htb", rate = "100Mbit", burst = "{burst}", inner = "dualpi2_linux" }}'
# iproute2's default, which the record does not change, and one of five packets.
HTB_BURST, LARGER_BURST = "1600B", "8kB"


def like_ericsson(
    rtt_ms: float, microburst_ms: float, variation: float, burst: str = HTB_BURST
) -> float:
    """Return the rate of the media in bit/s in the setting of Ericsson's test record.

    Linux's DualPI2 is in HTB with 100 Mbit/s, behind Ethernet (1 Gbit/s). The sender has 50 frames
    a second unless told otherwise, and packets of 1,400 bytes in IP.
    """
    text = DUALPI2.format(mbit=1000, headroom=1.5, videos=1, frame_rate=50, variation=variation)
    text = text.replace('delay = "10ms"', f'delay = "{rtt_ms / 2}ms"')
    text = text.replace('"dualpi2"', HTB.format(burst=burst))
    text += f'packet = "1372B"\nmicroburst = "{microburst_ms}ms"\n'
    return float(sojourn.run(text).runs[0]["flows"][0]["media"]["media_bps"])


def ericsson() -> list[Row]:
    """Measure SCReAM in the setting of Ericsson's tests 2 and 3."""
    return [
        {
            "rtt_ms": rtt_ms,
            "published_mbit": published,
            "rates_bps": [like_ericsson(rtt_ms, 0.5, variation) for variation in (0.0, VARIED)],
        }
        for rtt_ms, published in ERICSSON.items()
    ]


def microbursts() -> list[Row]:
    """Measure SCReAM in the setting of Ericsson's test 1."""
    return [
        {
            "microburst_ms": microburst_ms,
            "published_mbit": published,
            "rate_bps": like_ericsson(25, microburst_ms, 0.0),
            "larger_burst_bps": like_ericsson(25, microburst_ms, 0.0, LARGER_BURST),
        }
        for microburst_ms, published in MICROBURSTS.items()
    ]


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


def microburst_table(rows: Iterable[Row]) -> str:
    """Return the table of microbursts beside Ericsson's figures."""
    lines = [f"| microburst ms | Ericsson, Mbit/s | here | with HTB's burst {LARGER_BURST} |"]
    lines.append("|---" * 4 + "|")
    lines += (
        f"| {row['microburst_ms']} | {row['published_mbit']} | {row['rate_bps'] / 1e6:.0f} "
        f"| {row['larger_burst_bps'] / 1e6:.0f} |"
        for row in rows
    )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure all, and write it."""
    os.chdir(SCENARIOS)
    cases, points = rmcat()
    parts = {
        "rmcat": cases,
        "dualpi2": dualpi2(),
        "ericsson": ericsson(),
        "microbursts": microbursts(),
        "study": study(),
    }
    documents.save(
        "media",
        parts,
        {
            "rmcat": rmcat_table(cases),
            "dualpi2": dualpi2_table(parts["dualpi2"]),
            "ericsson": ericsson_table(parts["ericsson"]),
            "microbursts": microburst_table(parts["microbursts"]),
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
