"""How do SCReAM, NADA and GCC adapt, and over which queue does their traffic arrive in time?

The tables `cases` and `phases` have the test cases of RFC 8867 (scenarios/rmcat), `dualpi2` SCReAM
over DualPI2, `ericsson` and `microbursts` its rate beside that of its authors' test record, and
`traffic` each kind of traffic of scenarios/traffic over every queue.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any, NamedTuple

import media_traffic
import polars as pl
import sojourn
from media_traffic import SCENARIOS, Row
from tables import markdown

MINUTES = 0.5

CONTROLS = ("scream", "nada", "gcc")


class Case(NamedTuple):
    """A test case of RFC 8867: its section, its file, and the times at which its capacity changes.

    `flows` are the media flows whose rates should be equal. `end_s` is the end of the flows. The
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
CASES: tuple[Case, ...] = (
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
# RFC 8867 section 4.3: the greatest rate of a video, and the rate of an audio.
GREATEST_BPS, AUDIO_BPS = 1.5e6, 20e3
# Payload of a full packet of `packet` = "1200B".
PAYLOAD_BYTES = 1188


class Setting(NamedTuple):
    """SCReAM over DualPI2: videos, frames a second, pacing headroom, deviation of frame sizes."""

    rate_mbps: int
    videos: int
    frame_rate: int
    headroom: float = 1.5
    variation: float = 0.15


# Recommended headroom first; then more frames a second, less headroom, equal frames, more videos.
SETTINGS: tuple[Setting, ...] = (
    *(Setting(50, 1, 30), Setting(10, 1, 60), Setting(50, 1, 60), Setting(100, 1, 60)),
    *(Setting(50, 1, 60, 1.3), Setting(50, 1, 60, 1.1), Setting(50, 1, 60, 1.5, 0.0)),
    *(Setting(50, 1, 120), Setting(50, 1, 120, 1.3), Setting(50, 1, 120, 1.3, 0.0)),
    *(Setting(20, 1, 240), Setting(50, 1, 240), Setting(100, 1, 240)),
    *(Setting(50, 4, 60), Setting(50, 16, 60), Setting(50, 2, 120), Setting(50, 2, 120, 1.3)),
    *(Setting(50, 4, 120), Setting(50, 4, 240)),
)
DUALPI2 = """
duration = "{seconds}s"
host = "rfc"
record = {{ interval = "0s" }}
measure = {{ from = "{from_s}s" }}
[link.forward]
rate = "{rate}"
delay = "{delay}"
queue = {queue}
[link.backward]
delay = "{delay}"
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
{more}
"""
# The target: p99 at most half the round trip and 10 ms, at this share of the capacity.
LEAST_USED, MOST_P99_S = 0.8, 0.020
# EricssonResearch/scream, test-record.md, tests 2 and 3 of 2024-10-31: the rate of SCReAM alone in
# Mbit/s over 100 Mbit/s with DualPI2, for each round-trip time in ms, with frames of equal size,
# and with sizes that vary by up to 50 %.
ERICSSON = {5: (79, 70), 10: (78, 68), 25: (78, 68), 50: (76, 66), 100: (71, 64)}
# Its test 1 of 2024-10-28: the rate at 25 ms for microbursts of this length in ms.
MICROBURSTS = {0.25: 71, 0.5: 75, 1.0: 68, 2.0: 41}
# A uniform deviation of 50 % has the standard deviation 0.5 / sqrt(3), and a Laplacian one sqrt(2)
# times its scale.
VARIED = 0.5 / 6**0.5
HTB = '{{ kind = "htb", rate = "100Mbit", burst = "{burst}", inner = "dualpi2_linux" }}'
# iproute2's default, which the record does not change, and one of five packets.
HTB_BURST, LARGER_BURST = "1600B", "8kB"


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has the first case, setting and path, and shorter runs."""
    few = slice(1) if small else slice(None)
    found = [part for case in CASES[few] for part in of_case(case)]
    return {
        "cases": [case for case, _ in found],
        "phases": [phase for _, phases in found for phase in phases],
        "dualpi2": [dualpi2(setting, small) for setting in SETTINGS[few]],
        "ericsson": [row for rtt_ms in list(ERICSSON)[few] for row in ericsson(rtt_ms, small)],
        "microbursts": [microbursts(length, small) for length in list(MICROBURSTS)[few]],
        "traffic": media_traffic.measure(small),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the least share of the fair rate over the phases of each case under congestion."""
    lines = [["RFC 8867", *CONTROLS]]
    for section, case in dict.fromkeys((row["section"], row["case"]) for row in tables["phases"]):
        own = [row for row in tables["phases"] if row["case"] == case]
        shares = [
            [row["share"] for row in own if (row["section"], row["control"]) == (section, control)]
            for control in CONTROLS
        ]
        if all(shares) and "reference" not in case:
            lines.append([f"{section} {case}", *(f"{min(one):.2f}" for one in shares)])
    return markdown(lines)


def of_case(case: Case) -> list[tuple[Row, list[Row]]]:
    """Return the figures of a case, and those of its phases, for each controller."""
    name = f"{case.file}, {case.label}" if case.label else case.file
    record = sojourn.run(SCENARIOS / "rmcat" / f"{case.file}.toml", set=case.set)
    found = []
    for run in record.runs:
        head: Row = {"section": case.section, "case": name, "control": run["control"]}
        own = [{**head, **phase} for phase in phases_of(case, run, record)]
        found.append(({**head, **figures_of(case, run)}, own))
    return found


def figures_of(case: Case, run: Any) -> Row:
    """Return the figures of one controller in one case."""
    flows, _ = on_link(case, run)
    media = [flow["media"] for flow in flows]
    sent = sum(flow["sent_packets"] for flow in flows)
    lost = sum(flow["dropped_packets"] for flow in flows)
    rates = [flow["goodput_bps"] for flow in run["flows"] if flow["name"] in case.flows]
    return {
        "media_mbps": mbps(sum(one["media_bps"] for one in media)),
        "least_video_mbps": mbps(min(one["media_bps"] for one in media)),
        "utilisation": round(utilisation(run, case.link), 3),
        "frame_delay_p50_ms": ms(max(one["frame_delay_p50_s"] for one in media)),
        "frame_delay_p99_ms": ms(max(one["frame_delay_p99_s"] for one in media)),
        "lost_share": round(lost / max(sent, 1), 4),
        "frozen_s": round(sum(one["frozen_s"] for one in media), 2),
        "rates_mbps": [mbps(rate) for rate in rates],
        "ratio": round(max(rates) / max(min(rates), 1.0), 2) if rates else None,
        "quality_mos": round(fmean(one["quality_mos"] for one in media), 2),
    }


def phases_of(case: Case, run: Any, record: sojourn.Run) -> list[Row]:
    """Return the rate of the videos in the second half of each phase, and its share of what fits.

    The share of lost packets is that of the whole phase.
    """
    control = run["control"]
    videos, audios = on_link(case, run)
    names = [one["name"] for one in videos]
    rates = by_second(record.flows, names, control)
    each = [by_second(record.flows, [name], control) for name in names]
    link = record.links.filter((pl.col("link") == case.link) & (pl.col("control") == control))
    found = []
    for begin, end in pairwise((*case.changes_s, case.end_s)):
        middle = (begin + end) / 2
        seconds = [rate for at, rate in rates.items() if middle < at <= end]
        part = link.filter((pl.col("t_s") > middle) & (pl.col("t_s") <= end))
        capacity: Any = part["capacity_bps"].mean() or 0.0
        # A paused video has no rate.
        inside = range(int(middle) + 2, int(end))
        active = sum(any(own.get(at, 0) > 0 for at in inside) for own in each)
        fits = min(capacity - audios * AUDIO_BPS, GREATEST_BPS * active)
        mean = fmean(seconds)
        found.append(
            {
                "from_s": middle,
                "to_s": end,
                "rate_mbps": mbps(mean),
                "share": round(mean / fits, 3),
                "oscillation": round(pstdev(seconds) / mean, 3) if mean else 0.0,
                "lost_share": round(lost(names, control, record, (begin, end)), 4),
            }
        )
    return found


def on_link(case: Case, run: Any) -> tuple[list[Row], int]:
    """Return the videos whose path has the link of the case, and the number of audios with it."""
    declared = sojourn.Scenario.load(SCENARIOS / "rmcat" / f"{case.file}.toml")["flow"]
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


def lost(
    names: Sequence[str], control: str, record: sojourn.Run, span: tuple[float, float]
) -> float:
    """Return the share of the packets of these flows in a span of time that were lost."""
    own = pl.col("flow").is_in(list(names)) & (pl.col("control") == control)
    counts = record.flows.filter(own)
    frames = record.frames.filter(own)

    def until(end: float) -> int:
        each = counts.filter(pl.col("t_s") <= end).group_by("flow")
        return int(each.agg(pl.col("lost_packets").last())["lost_packets"].sum())

    begin, end = span
    sizes = frames.filter((pl.col("captured_s") >= begin) & (pl.col("captured_s") < end))
    sent: int = sum(-(-size // PAYLOAD_BYTES) for size in sizes["size_bytes"])
    return (until(end) - until(begin)) / max(sent, 1)


def utilisation(run: Any, name: str) -> float:
    """Return the utilisation of a link."""
    (own,) = (link for link in run["links"] if link["name"] == name)
    return float(own["utilisation"])


def over_dualpi2(small: bool, **values: object) -> Any:
    """Simulate videos of SCReAM over DualPI2."""
    given = {"delay": "10ms", "queue": '"dualpi2"', "more": "", **values}
    times = {"seconds": 4, "from_s": 2} if small else {"seconds": 60, "from_s": 20}
    return sojourn.run(DUALPI2.format(**given, **times)).runs[0]


def dualpi2(setting: Setting, small: bool) -> Row:
    """Measure SCReAM over DualPI2 at a round-trip time of 20 ms."""
    run = over_dualpi2(small, rate=f"{setting.rate_mbps}Mbit", **setting._asdict())
    media = [flow["media"] for flow in run["flows"]]
    used = utilisation(run, "forward")
    p99_s = max(one["frame_delay_p99_s"] for one in media)
    return {
        **setting._asdict(),
        "utilisation": round(used, 3),
        "least_ms": ms(fmean(one["least_frame_delay_mean_s"] for one in media)),
        "frame_delay_p50_ms": ms(max(one["frame_delay_p50_s"] for one in media)),
        "frame_delay_p99_ms": ms(p99_s),
        # Half the round trip, and the transmission of a mean frame alone.
        "least_at_target_ms": ms(0.010 + LEAST_USED / setting.videos / setting.frame_rate),
        "is_met": used >= LEAST_USED and p99_s <= MOST_P99_S,
    }


def like_ericsson(
    small: bool, rtt_ms: float, microburst_ms: float, variation: float, burst: str = HTB_BURST
) -> float:
    """Return the rate of the media in Mbit/s in the setting of Ericsson's test record.

    Linux's DualPI2 is in HTB with 100 Mbit/s, behind Ethernet (1 Gbit/s). The sender has 50 frames
    a second unless told otherwise, and packets of 1,400 bytes in IP.
    """
    run = over_dualpi2(
        small,
        rate="1Gbit",
        delay=f"{rtt_ms / 2}ms",
        queue=HTB.format(burst=burst),
        headroom=1.5,
        videos=1,
        frame_rate=50,
        variation=variation,
        more=f'packet = "1372B"\nmicroburst = "{microburst_ms}ms"',
    )
    return mbps(run["flows"][0]["media"]["media_bps"])


def ericsson(rtt_ms: int, small: bool) -> list[Row]:
    """Measure SCReAM in the setting of Ericsson's tests 2 and 3."""
    frames = zip(("equal", "varied"), ERICSSON[rtt_ms], (0.0, VARIED), strict=True)
    return [
        {
            "rtt_ms": rtt_ms,
            "frames": name,
            "published_mbps": published,
            "rate_mbps": like_ericsson(small, rtt_ms, 0.5, variation),
        }
        for name, published, variation in frames
    ]


def microbursts(length_ms: float, small: bool) -> Row:
    """Measure SCReAM in the setting of Ericsson's test 1, and with a larger burst of HTB."""
    return {
        "microburst_ms": length_ms,
        "published_mbps": MICROBURSTS[length_ms],
        "rate_mbps": like_ericsson(small, 25, length_ms, 0.0),
        "larger_burst_mbps": like_ericsson(small, 25, length_ms, 0.0, LARGER_BURST),
    }


def mbps(bps: float) -> float:
    """Return a rate in Mbit/s."""
    return round(float(bps) / 1e6, 3)


def ms(seconds: float) -> float:
    """Return a time in milliseconds."""
    return round(seconds * 1e3, 1)
