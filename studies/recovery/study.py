"""How much throughput do reordering and outages cost each controller, over TCP and over QUIC?"""

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import sojourn
from tables import each

MINUTES = 1

Row = dict[str, Any]
Tables = dict[str, list[Row]]

RATE_MBPS = 50
REORDERING_RTT_MS, REORDERING_S = 40, 30
# Probability in per cent, and lateness in base round trips.
REORDERING = [(0, 0.0), *((percent, late) for percent in (1, 5) for late in (0.25, 0.5, 1.0, 2.0))]
RTTS_MS = (10, 40, 160)
OUTAGES_S = (0.2, 0.6, 2.0, 10.0)
# Seconds before an outage and measured after it.
BEFORE_S, AFTER_S = 10, 10
# Controllers that need more than a name. GCC takes a minute to reach its greatest rate.
SPECIAL: dict[str, Row] = {
    "cubic with search": {"kind": "cubic", "slow_start": "search"},
    "gcc": {"kind": "gcc", "start_rate": "20Mbit"},
}
# Payload and header of a full packet of each transport, in bytes.
PACKETS = {"tcp": (1448, 52), "quic": (1420, 55), "rtp": (1200, 28)}


def measure(small: bool) -> Tables:
    """Run every controller over every transport that carries it."""
    senders = (
        [("cubic", "tcp"), ("cubic", "quic"), ("gcc", "rtp")] if small else list(all_senders())
    )
    reordering = [(1, 0.5)] if small else REORDERING
    interruptions = [(40, 0.2)] if small else [(rtt, s) for rtt in RTTS_MS for s in OUTAGES_S]
    return {
        "reordering": each(lambda of: reordered(*of[0], *of[1]), product(senders, reordering)),
        "outages": each(lambda of: interrupted(*of[0], *of[1]), product(senders, interruptions)),
    }


def all_senders() -> Iterable[tuple[str, str]]:
    """Return each controller with each transport; videos have one of their own."""
    listed = sojourn.controllers()
    for one in listed:
        if not one["needs"]["media"]:
            names = [one["name"]] + ["cubic with search"] * (one["name"] == "cubic")
            yield from ((name, transport) for name in names for transport in ("tcp", "quic"))
    yield from ((one["name"], "rtp") for one in listed if one["needs"]["media"])


def reordered(control: str, transport: str, percent: int, late: float) -> Row:
    """Send for half a minute while some packets are late."""
    late_us = round(late * REORDERING_RTT_MS * 1000)
    wire = {"reorder": {"probability": percent / 100, "late": f"{late_us}us"}} if percent else {}
    link = {"rate": f"{RATE_MBPS}Mbit", **wire}
    flow = run(control, transport, REORDERING_RTT_MS, link, REORDERING_S)
    of = {"control": control, "transport": transport, "late_percent": percent, "late_rtts": late}
    return {**of, **figures(flow, transport, share(flow, transport, 1.0))}


def interrupted(control: str, transport: str, rtt_ms: int, outage_s: float) -> Row:
    """Stop the link after ten seconds, and measure from then on to ten seconds after its end."""
    # Whole seconds: the remainder of the last one is measured, and counts as available.
    measured_s = -(-round(1000 * outage_s) // 1000) + AFTER_S
    steps = [
        {"at": f"{BEFORE_S}s", "rate": "0bit"},
        {"at": f"{round(1000 * (BEFORE_S + outage_s))}ms", "rate": f"{RATE_MBPS}Mbit"},
    ]
    link = {"rate": {"start": f"{RATE_MBPS}Mbit", "steps": steps}}
    flow = run(control, transport, rtt_ms, link, BEFORE_S + measured_s, BEFORE_S)
    goodput = share(flow, transport, (measured_s - outage_s) / measured_s)
    of = {"control": control, "transport": transport, "rtt_ms": rtt_ms, "outage_s": outage_s}
    return {**of, **figures(flow, transport, goodput)}


def run(
    control: str, transport: str, rtt_ms: int, link: Row, duration_s: int, from_s: int = 0
) -> Row:
    """Run a flow over a drop-tail queue of one and a quarter bandwidth-delay products."""
    host = {"tcp": "rfc", "quic": "quic"}.get(transport)
    carrier: Row = {"host": {"like": host, "receive_times": True, "handshake": "none"}}
    if transport == "rtp":
        carrier = {"source": {"kind": "media", "max_rate": "40Mbit"}}
    half, buffer = f"{rtt_ms * 500}us", f"{RATE_MBPS * rtt_ms * 125 * 5 // 4}B"
    sender = {"control": SPECIAL.get(control, control), "path": ["a"], "back": ["back"]}
    scenario = sojourn.Scenario(
        duration=f"{duration_s}s",
        host="rfc",
        record={"interval": "0s"},
        measure={"from": f"{from_s}s"},
        link={"a": {**link, "delay": half, "buffer": buffer}, "back": {"delay": half}},
        flow={"f": sender | carrier},
    )
    return dict(sojourn.run(scenario).runs[0]["flows"][0])


def share(flow: Row, transport: str, available: float) -> float:
    """Return the goodput as a share of the link's maximum while the link was available."""
    payload, header = PACKETS[transport]
    most_bps = RATE_MBPS * 1e6 * payload / (payload + header)
    return float(flow["goodput_bps"]) / most_bps / available


def figures(flow: Row, transport: str, goodput: float) -> Row:
    """Return the columns of a cell; videos send nothing again, so that they have goodput alone."""
    # The simulator knows which packets were dropped, independently of the transport.
    needless = max(0, flow["retransmitted_packets"] - flow["dropped_packets"])
    resends = transport != "rtp"
    return {
        "goodput_share": round(goodput, 2),
        "needless_per_1000": round(1000 * needless / flow["sent_packets"], 1) if resends else None,
        "undone_reductions": flow["undone_reductions"] if resends else None,
    }


Map = tuple[str, dict[str, Row], list[Row]]
"""A part of the picture: its title, the condition of each column, and the rows."""


def draw(tables: Tables, folder: Path) -> None:
    """Draw the goodput of each controller over both transports, at a base round trip of 40 ms."""
    late = {
        f"{p} % by {rtts:g}": {"late_percent": p, "late_rtts": rtts} for p, rtts in REORDERING[1:]
    }
    stopped = {f"{s:g} s": {"rtt_ms": REORDERING_RTT_MS, "outage_s": s} for s in OUTAGES_S}
    maps: list[Map] = [
        ("packets late, by round trips", late, tables["reordering"]),
        ("outage", stopped, tables["outages"]),
    ]
    named = dict.fromkeys(row["control"] for row in tables["outages"] if row["transport"] == "tcp")
    controls = [control for control in named if control != "cubic with search"]
    height = HIGH * len(controls) + 106
    width = LEFT + WIDE * (len(late) + len(stopped)) + 2 * GAP
    fills = "".join(f".c{level}{{fill:{colour(level / 9)}}}" for level in range(10))
    style = "text{font:12px sans-serif}.b{font-weight:bold}.e{text-anchor:end}"
    style += ".m,.w,.k{text-anchor:middle}.w{fill:#fff}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -2 {width} {2 * height}">',
        f"<style>{style}{fills}</style>",
        f'<rect x="-4" y="-2" width="{width}" height="{2 * height}" fill="#fff"/>',
        *panel("tcp", controls, maps, 0),
        *panel("quic", controls, maps, height),
        "</svg>",
    ]
    (folder / "goodput.svg").write_text("\n".join(lines) + "\n", "utf-8")


def panel(transport: str, controls: list[str], maps: list[Map], top: int) -> Iterator[str]:
    """Return the elements of one transport: a row for each controller, a column a condition."""
    yield text(0, top + 14, f"{transport.upper()}: goodput in % of the maximum", "b")
    for row, control in enumerate(controls):
        yield text(LEFT - 6, top + 34 + HIGH * row, control, "e")
    left, bottom = LEFT, top + HIGH * len(controls)
    for title, conditions, rows in maps:
        yield text(left + WIDE * len(conditions) // 2, bottom + 94, title, "m")
        for name, where in conditions.items():
            yield upright(left + 19, bottom + 28, name)
            for row, control in enumerate(controls):
                of = {"control": control, "transport": transport, **where}
                shares = [one["goodput_share"] for one in rows if of.items() <= one.items()]
                yield from (rectangle(left, top + 21 + HIGH * row, share) for share in shares)
            left += WIDE
        left += GAP


# Place of the first column, size of a cell, and gap between the maps, in pixels.
LEFT, WIDE, HIGH, GAP = 70, 31, 17, 14


def text(x: int, y: int, words: str, style: str) -> str:
    """Return a text of the picture."""
    return f'<text x="{x}" y="{y}" class="{style}">{words}</text>'


def upright(x: int, y: int, words: str) -> str:
    """Return the name of a column, which ends at a point and rises towards it."""
    return f'<text transform="translate({x} {y}) rotate(-50)" class="e">{words}</text>'


def rectangle(x: int, y: int, goodput: float) -> str:
    """Return a cell of a map: its colour and its number."""
    number = text(x + 15, y + 13, f"{100 * goodput:.0f}", "k" if 0.3 < goodput < 0.75 else "w")
    return f'<path class="c{round(9 * min(goodput, 1))}" d="M{x} {y}h30v16h-30z"/>{number}'


def colour(part: float) -> str:
    """Return a colour from red by sand to green."""
    red, sand, green = (158, 47, 34), (242, 217, 160), (42, 127, 98)
    low, high, place = (red, sand, 2 * part) if part < 0.5 else (sand, green, 2 * part - 1)
    mixed = (round(a + (b - a) * place) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
