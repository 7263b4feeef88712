"""Measure which controller survives which damage: `python benches/damage.py`.

It simulates one flow of every controller over each damaged path, those of media as a video over
RTP, and Prague beside CUBIC over queues with classic ECN. It writes docs/damage.json, the tables of
docs/damage.md and the picture docs/damage.png, in about a minute and a half.
"""

import sys
from statistics import median
from typing import Any, NamedTuple

import altair as alt
import documents
import sojourn
from sojourn.report import theme

# Runs of each cell, with consecutive seeds; a cell has their medians.
RUNS = 5
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
path    = ["before", "bottleneck"]
back    = ["back"]
control = {control}
{carrier}
"""

BESIDE_CUBIC = """
title = "Prague beside CUBIC"
duration = "60s"
record = {{ interval = "0s" }}
measure = {{ from = "20s" }}

[link.bottleneck]
rate   = "{rate}"
delay  = "10ms"
buffer = "200ms"
queue  = {{ {queue} }}

[link.back]
delay = "10ms"

[flow.prague]
control = {{ kind = "prague", classic_fallback = {fallback} }}
path    = ["bottleneck"]
back    = ["back"]

[flow.cubic]
control = "cubic"
path    = ["bottleneck"]
back    = ["back"]
"""
QUEUES = {
    "CoDel": 'kind = "codel", ecn = true',
    "PIE": 'kind = "pie", ecn = true',
    "DualPI2": 'kind = "dualpi2"',
}


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
# RAPID and LEDBAT need the arrival time of each packet.
PROFILES = {
    "TCP": 'transport = { profile = "tcp", receive_times = true }',
    "TCP, validating": (
        'transport = { profile = "tcp", receive_times = true, ecn_validation = true }'
    ),
    "QUIC": 'transport = { profile = "quic" }',
    "QUIC, validating": 'transport = { profile = "quic", ecn_validation = true }',
}
# A video over RTP, whose encoder follows its controller.
MEDIA = "RTP"
CARRIERS = {
    **PROFILES,
    MEDIA: 'source = { kind = "media", start_rate = "8Mbit", max_rate = "16Mbit" }',
}
# GCC takes a minute from its own start rate.
STARTS = {"gcc": '{ kind = "gcc", start_rate = "8Mbit" }'}
# Parameters of a controller that have a column of their own. BBR v3 ignores marks if the least
# round trip is above `ecn_max_rtt`, and that of this path is 20 ms.
VARIANTS = {
    "cubic": {"cubic, search": '{ kind = "cubic", slow_start = "search" }'},
    "bbr3": {"bbr3, ecn": '{ kind = "bbr3", ecn = true, ecn_max_rtt = "50ms" }'},
}


def columns() -> dict[str, dict[str, str]]:
    """Return the columns of each profile: their names, and their values of `control`."""
    own: dict[str, str] = {}
    media: dict[str, str] = {}
    for one in sojourn.controllers():
        name, needs = one["name"], one["needs"]
        if needs["media"]:
            media[name] = STARTS.get(name, f'"{name}"')
        elif not needs["signal"]:
            own |= {name: f'"{name}"'} | VARIANTS.get(name, {})
    return {**dict.fromkeys(PROFILES, own), MEDIA: media}


def measured(profile: str, damage: Damage, name: str, control: str) -> dict[str, Any]:
    """Return one cell of the matrix."""
    text = SCENARIO.format(
        before=damage.before,
        behind=damage.behind,
        back=damage.back,
        control=control,
        carrier=CARRIERS[profile],
    )
    runs = sojourn.run(text, runs=RUNS).runs
    flows = [run["flows"][0] for run in runs]
    links = [link for run in runs for link in run["links"] if link["name"] == "bottleneck"]
    return {
        "profile": profile,
        "damage": damage.name,
        "control": name,
        "goodput_bps": median(flow["goodput_bps"] for flow in flows),
        "queue_delay_p99_s": median(link["queue_delay_p99_s"] or 0.0 for link in links),
        "timeouts": median(flow["timeouts"] for flow in flows),
        "ecn_failures": [flow.get("ecn_failure") for flow in flows],
    }


def fate(cell: dict[str, Any], sound: dict[str, Any]) -> str:
    """Whether a flow `starves`, `delays` packets in a long queue, or `survives`."""
    if cell["goodput_bps"] < GOODPUT_SHARE * sound["goodput_bps"]:
        return "starves"
    most_s = QUEUE_FACTOR * sound["queue_delay_p99_s"] + QUEUE_EXTRA_S
    return "delays" if cell["queue_delay_p99_s"] > most_s else "survives"


def matrix() -> list[dict[str, Any]]:
    """Measure every cell."""
    cells = []
    for profile, controls in columns().items():
        for name, control in controls.items():
            sound: dict[str, Any] = {}
            for damage in DAMAGES:
                cell = measured(profile, damage, name, control)
                sound = sound or cell
                cells.append({**cell, "fate": fate(cell, sound)})
            sys.stderr.write(f"{profile}: {name}\n")
    return cells


def beside_cubic() -> list[dict[str, Any]]:
    """Measure the goodput of Prague and of CUBIC over each queue, without and with the fallback."""
    rows = []
    for queue, keys in QUEUES.items():
        for rate in ("20Mbit", "100Mbit"):
            for fallback in (False, True):
                text = BESIDE_CUBIC.format(rate=rate, queue=keys, fallback=str(fallback).lower())
                runs = sojourn.run(text, runs=RUNS).runs
                row: dict[str, Any] = {"queue": queue, "rate": rate, "fallback": fallback}
                for place, name in enumerate(("prague", "cubic")):
                    bps = median(run["flows"][place]["goodput_bps"] for run in runs)
                    row[f"{name}_bps"] = bps
                rows.append(row)
    return rows


def fallback_table(rows: list[dict[str, Any]]) -> str:
    """Return the table of Prague beside CUBIC."""
    lines = ["| queue | rate | Prague, CUBIC | with `classic_fallback` |", "|---|---|---|---|"]
    for without, fallen in zip(rows[::2], rows[1::2], strict=True):
        cells = (
            f"{row['prague_bps'] / 1e6:.1f}, {row['cubic_bps'] / 1e6:.1f}"
            for row in (without, fallen)
        )
        rate = without["rate"].replace("Mbit", " Mbit/s")
        lines.append(f"| {without['queue']} | {rate} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(cell: dict[str, Any]) -> str:
    queue_ms = 1e3 * cell["queue_delay_p99_s"]
    figures = f"{cell['goodput_bps'] / 1e6:.1f}, {queue_ms:.0f}"
    mark = {"survives": "", "delays": "*", "starves": "**"}[cell["fate"]]
    return f"{mark}{figures}{mark}"


def tables(cells: list[dict[str, Any]]) -> str:
    """Return a table for each profile: goodput in Mbit/s and the queue's 99th percentile in ms."""
    parts = []
    for profile in CARRIERS:
        own = [cell for cell in cells if cell["profile"] == profile]
        controls = list(dict.fromkeys(cell["control"] for cell in own))
        parts.append(f"### {profile}\n\n| damage | {' | '.join(controls)} |")
        parts.append("|---" * (len(controls) + 1) + "|")
        for damage in DAMAGES:
            row = [cell for cell in own if cell["damage"] == damage.name]
            parts.append(f"| {damage.name} | {' | '.join(map(_shown, row))} |")
        parts.append("")
    return "\n".join(parts)


def picture(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw the goodput as squares, with a mark on each flow that does not survive."""
    rows = [
        {
            "profile": cell["profile"],
            "damage": cell["damage"],
            "control": cell["control"],
            "mbit": round(cell["goodput_bps"] / 1e6, 2),
            "mark": {"survives": "", "delays": "Q", "starves": "✕"}[cell["fate"]],
        }
        for cell in cells
    ]
    views = {one: _map(one, [row for row in rows if row["profile"] == one]) for one in CARRIERS}
    first, second, third, fourth, media = views.values()
    about = "cross: less than half of the goodput without damage; Q: a much longer queue"
    rows_of_views = [alt.hconcat(first, second), alt.hconcat(third, fourth), media]
    return theme.document("Which controller survives which damage", about, vconcat=rows_of_views)


def _map(profile: str, rows: list[dict[str, Any]]) -> Any:
    """Draw the map of one profile."""
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
    text = alt.Text("mark:N"), alt.ColorValue("#e8590c")
    marks = theme.chart(data, alt.MarkDef("text", fontSize=13, fontWeight="bold"), x, y, *text)
    size = {"width": 24 * len(controls), "height": 18 * len(DAMAGES)}
    return alt.layer(squares, marks, title=theme.titled(profile, fontSize=12), **size)


def main() -> int:
    """Measure the matrix and write it."""
    cells = matrix()
    rows = beside_cubic()
    documents.save(
        "damage",
        {"matrix": cells, "beside_cubic": rows},
        {"damage": tables(cells), "fallback": fallback_table(rows)},
        {"damage.png": picture(cells)},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
