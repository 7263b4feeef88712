"""Measure which controller survives which damage: `python benches/damage.py`.

It simulates one flow of every controller over each damaged path, and writes docs/damage.json, the
tables of docs/damage.md and the picture docs/damage.png. About ten minutes on two cores.
"""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import sojourn
from sojourn.report import render, theme

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- damage: begin -->\n", "<!-- damage: end -->\n"
# A flow survives if it keeps this share of its goodput, and the queue delays at most so much more.
GOODPUT_SHARE, QUEUE_FACTOR, QUEUE_EXTRA_S = 0.5, 2.0, 0.010

SCENARIO = """
title = "One flow over a damaged path"
duration = "20s"
record = {{ interval = "0s" }}
measure = {{ from = "5s" }}

[link.before]
rate = "1Gbit"
{before}

[link.bottleneck]
rate   = "20Mbit"
delay  = "10ms"
buffer = "200ms"
queue  = {{ kind = "dualpi2" }}
{behind}

[link.back]
delay = "10ms"
{back}

[flow.upload]
path      = ["before", "bottleneck"]
back      = ["back"]
transport = {{ {transport} }}
"""


class Damage(NamedTuple):
    """A damaged path: keys of its links, and of the transport of both profiles."""

    name: str
    before: str = ""
    behind: str = ""
    back: str = ""
    transport: str = ""


WIFI = 'slots = { least = "800us", most = "10ms", packets = 42, bytes = "64kB"'
DAMAGES = (
    Damage("no damage"),
    Damage("ECN bleached before the queue", before='ecn = "bleach"'),
    Damage("ECN bleached behind the queue", behind='ecn = "bleach"'),
    Damage("half of ECN bleached behind it", behind='ecn = { kind = "bleach", probability = 0.5 }'),
    Damage("ECT(1) to ECT(0) before the queue", before='ecn = "ect1-to-ect0"'),
    Damage("CE on every packet", behind='ecn = "mark"'),
    Damage("ECN-capable packets dropped", behind='ecn = "drop"'),
    Damage("ECN SYNs dropped", behind='ecn = "drop-syn"'),
    Damage("10 % of ACKs lost", back="loss = 0.1"),
    Damage("50 % of ACKs lost", back="loss = 0.5"),
    Damage("one ACK of 8 passes", back="ack_thinning = 8"),
    Damage("one ACK of 32 passes", back="ack_thinning = 32"),
    Damage("ACKs in slots as in WiFi", back=f"{WIFI} }}"),
    Damage("the same, filtered", back=f"{WIFI}, filter_acks = true }}"),
    Damage("data in slots as in WiFi", behind=f"{WIFI} }}"),
)
# RAPID needs the arrival time of each packet.
PROFILES = {
    "TCP": 'profile = "tcp", receive_times = true',
    "TCP, validating": 'profile = "tcp", receive_times = true, ecn_validation = true',
    "QUIC": 'profile = "quic"',
    "QUIC, validating": 'profile = "quic", ecn_validation = true',
}


def measured(profile: str, damage: Damage, control: str) -> dict[str, Any]:
    """Return one cell of the matrix."""
    text = SCENARIO.format(
        before=damage.before,
        behind=damage.behind,
        back=damage.back,
        transport=PROFILES[profile],
    )
    run = sojourn.run(text, control=control).runs[0]
    flow = run["flows"][0]
    queue = next(link for link in run["links"] if link["name"] == "bottleneck")
    return {
        "profile": profile,
        "damage": damage.name,
        "control": control,
        "goodput_bps": flow["goodput_bps"],
        "queue_delay_p99_s": queue["queue_delay_p99_s"],
        "timeouts": flow["timeouts"],
        "ecn_failure": flow.get("ecn_failure"),
    }


def survives(cell: dict[str, Any], sound: dict[str, Any]) -> bool:
    """Whether a flow keeps most of its goodput, and keeps its queue short."""
    most_s = QUEUE_FACTOR * (sound["queue_delay_p99_s"] or 0.0) + QUEUE_EXTRA_S
    keeps = bool(cell["goodput_bps"] >= GOODPUT_SHARE * sound["goodput_bps"])
    return keeps and (cell["queue_delay_p99_s"] or 0.0) <= most_s


def matrix(controls: list[str]) -> list[dict[str, Any]]:
    """Measure every cell."""
    cells = []
    for profile in PROFILES:
        for control in controls:
            sound: dict[str, Any] = {}
            for damage in DAMAGES:
                cell = measured(profile, damage, control)
                sound = sound or cell
                cells.append({**cell, "survives": survives(cell, sound)})
            sys.stderr.write(f"{profile}: {control}\n")
    return cells


def _shown(cell: dict[str, Any]) -> str:
    queue_ms = 1e3 * (cell["queue_delay_p99_s"] or 0.0)
    figures = f"{cell['goodput_bps'] / 1e6:.1f}, {queue_ms:.0f}"
    return figures if cell["survives"] else f"**{figures}**"


def tables(cells: list[dict[str, Any]]) -> str:
    """Return a table for each profile: goodput in Mbit/s and the queue's 99th percentile in ms."""
    parts = []
    controls = list(dict.fromkeys(cell["control"] for cell in cells))
    for profile in PROFILES:
        parts.append(f"### {profile}\n\n| damage | {' | '.join(controls)} |")
        parts.append("|---" * (len(controls) + 1) + "|")
        for damage in DAMAGES:
            row = [c for c in cells if (c["profile"], c["damage"]) == (profile, damage.name)]
            parts.append(f"| {damage.name} | {' | '.join(map(_shown, row))} |")
        parts.append("")
    return "\n".join(parts)


def picture(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw the goodput as squares; a cross marks a flow that does not survive."""
    rows = [
        {
            "profile": cell["profile"],
            "damage": cell["damage"],
            "control": cell["control"],
            "mbit": round(cell["goodput_bps"] / 1e6, 2),
            "cross": "" if cell["survives"] else "✕",
        }
        for cell in cells
    ]
    controls = list(dict.fromkeys(row["control"] for row in rows))
    x = alt.X("control:N", sort=controls, title=None, axis=alt.Axis(labelAngle=-45))
    y = alt.Y(
        "damage:N", sort=[one.name for one in DAMAGES], title=None, axis=alt.Axis(labelLimit=240)
    )
    scale = alt.Scale(scheme="greens", domain=[0, 20])
    legend = alt.Legend(title="goodput (Mbit/s)", symbolType="square")
    colour = alt.Color("mbit:Q", scale=scale, legend=legend)
    data = theme.table(rows, "mbit")
    squares = theme.chart(data, alt.MarkDef("rect"), x, y, colour)
    text = alt.Text("cross:N"), alt.ColorValue("#c02020")
    crosses = theme.chart(data, alt.MarkDef("text", fontSize=13, fontWeight="bold"), x, y, *text)
    maps = alt.layer(squares, crosses, width=24 * len(controls), height=18 * len(DAMAGES))
    facet = alt.Facet("profile:N", sort=list(PROFILES), title=None)
    drawn = maps.facet(facet=facet, columns=2)
    about = "a cross: less than half of the goodput without damage, or a much longer queue"
    return theme.document("Which controller survives which damage", about, vconcat=[drawn])


def main() -> int:
    """Measure the matrix and write it."""
    cells = matrix([one["name"] for one in sojourn.controllers() if not one["needs"]["signal"]])
    lines = ",\n".join(json.dumps(cell) for cell in cells)
    (DOCS / "damage.json").write_text(f"[\n{lines}\n]\n")
    page = DOCS / "damage.md"
    head, _, rest = page.read_text().partition(BEGIN)
    page.write_text(head + BEGIN + tables(cells) + END + rest.partition(END)[2])
    (DOCS / "damage.png").write_bytes(render.png(render.svg(picture(cells))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
