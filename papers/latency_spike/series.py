"""The testbed's recorded series on top of simulated ones: `docs/testbed-series.png`.

`python -m papers.latency_spike.series` draws it. The measurements have series for
two of the four delays, and the peak for each delay.
"""

import struct
import zlib
from typing import Any

import polars as pl
import sojourn
from sojourn.report import render

from .testbed import DATA, ROOT, RUNS, SAMPLING_S, scenario

PICTURE = ROOT / "docs" / "testbed-series.png"
# The displayed time around the drop.
FROM_S, TO_S = -4.0, 6.0
# Averaging step of the simulation: five samples of each run.
STEP_S = 0.05
ROWS = ("bbr", "cubic", "dctcp")
DELAYS_MS = (25.0, 50.0, 75.0, 100.0)
# Pixels of the picture per unit of the figure.
SCALE = 1.4
OURS, MEASURED = "#4c78a8", "#111111"

Spec = dict[str, Any]
# The range of all runs over time, and one run, by controller and delay.
Cells = dict[tuple[str, float], tuple[pl.DataFrame, pl.DataFrame]]


def main() -> None:
    """Draw the picture."""
    series = pl.read_csv(DATA.with_name("latency-spike-testbed-series.csv"))
    peaks = pl.read_csv(DATA)
    ours = {(c, d): simulated(c, d) for c in ROWS for d in DELAYS_MS}
    views = [row(c, ours, series, peaks, y) for y in ("rtt", "window") for c in ROWS]
    picture = render.png(render.svg(figure(views)), SCALE)
    PICTURE.write_bytes(smaller(picture))


def smaller(png: bytes) -> bytes:
    """Recompress the picture's data with zlib's best level (PNG specification, section 5)."""
    chunks, place = [], 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        chunks.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + length]))
        place += 12 + length
    data = b"".join(body for kind, body in chunks if kind == b"IDAT")
    packed = zlib.compress(zlib.decompress(data), 9)
    parts = [chunks[0], (b"IDAT", packed), (b"IEND", b"")]
    ends = [(struct.pack(">I", len(body)), kind + body) for kind, body in parts]
    return png[:8] + b"".join(n + part + struct.pack(">I", zlib.crc32(part)) for n, part in ends)


def row(control: str, ours: Cells, series: pl.DataFrame, peaks: pl.DataFrame, y: str) -> Spec:
    """Draw one controller at the four delays: its round-trip time or its window."""
    panels = []
    for delay_ms in DELAYS_MS:
        measured = series.filter(cc=control, d_ms=delay_ms).select(
            t="t_since_drop_s", rtt="tcp_srtt_ms", window="cwnd_pkts"
        )
        measured = measured.filter(pl.col("t").is_between(FROM_S, TO_S))
        peak = peaks.filter(cc=control, d_ms=delay_ms).select(
            t="time_to_peak_s", rtt="peak_rtt_drop_aligned_5s_ms"
        )
        title = f"{control}, {delay_ms:.0f} ms" + (": window" if y == "window" else "")
        marks = peak.rows(named=True) if y == "rtt" else []
        panels.append(panel(title, y, ours[control, delay_ms], measured, marks))
    return {"hconcat": panels, "spacing": 14}


def simulated(control: str, delay_ms: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the range of the runs around the drop, and one run sampled like `ss`."""
    run = sojourn.run(scenario(delay_ms), control=control, runs=RUNS)
    drops = {one["seed"]: one["spikes"][0]["at_s"] for one in run.runs}
    since = pl.col("t_s") - pl.col("seed").replace_strict(drops)
    samples = run.flows.select(
        "seed", t=since, rtt=1e3 * pl.col("srtt_s"), window=pl.col("cwnd_bytes") / 1448
    ).filter(pl.col("t").is_between(FROM_S, TO_S))
    values = ("rtt", "window")
    ranges = [
        pl.col(value).quantile(q).round(2).alias(f"{value}_{name}")
        for value in values
        for name, q in (("low", 0.05), ("median", 0.5), ("high", 0.95))
    ]
    step = ((pl.col("t") / STEP_S).floor() * STEP_S).round(3).alias("t")
    band = samples.group_by(step).agg(ranges).sort("t")
    one = samples.filter(seed=run.runs[0]["seed"])
    picked = one.group_by((pl.col("t") / SAMPLING_S).floor().alias("place")).first().sort("t")
    return band, picked.select("t", *values)


def panel(
    title: str,
    y: str,
    ours: tuple[pl.DataFrame, pl.DataFrame],
    measured: pl.DataFrame,
    peaks: list[Spec],
) -> Spec:
    """Draw the simulation as band, median and one run, and the measurement as line and peak."""
    band, one = ours
    x = {
        "field": "t",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [FROM_S, TO_S], "nice": False},
        "axis": {"tickCount": 5},
    }

    def layer(data: pl.DataFrame | list[Spec], mark: Spec, field: str, **more: Any) -> Spec:
        values = data if isinstance(data, list) else data.to_dicts()
        axis = {"tickCount": 4, "format": "d"}
        up = {"field": field, "type": "quantitative", "title": None, "axis": axis}
        return {
            "data": {"values": values},
            "mark": {**mark, "clip": True},
            "encoding": {"x": x, "y": up, **more},
        }

    dot = {"type": "point", "color": MEASURED, "size": 55, "strokeWidth": 1.8}
    return {
        "title": title,
        "width": 205,
        "height": 95,
        "layer": [
            layer(
                band,
                {"type": "area", "color": OURS, "opacity": 0.28},
                f"{y}_low",
                y2={"field": f"{y}_high"},
            ),
            layer(band, {"type": "line", "color": OURS, "strokeWidth": 1.6}, f"{y}_median"),
            layer(
                one,
                {"type": "line", "color": OURS, "strokeWidth": 1, "strokeDash": [3, 2]},
                y,
            ),
            layer(measured, {"type": "line", "color": MEASURED, "strokeWidth": 1.1}, y),
            layer(peaks, dot, y),
        ],
    }


def figure(views: list[Spec]) -> Spec:
    """Combine all panels with a legend."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {
            "text": "Smoothed RTT in ms (above) and window in packets, by seconds since the drop",
            "subtitle": (
                f"black: measured, its peak a circle; blue: {RUNS} runs, 5th to 95th percentile "
                "and median; dashed: one of them, sampled as ss was"
            ),
            "anchor": "start",
            "fontSize": 16,
        },
        "background": "white",
        "padding": 12,
        "vconcat": views,
        "spacing": 8,
        "config": {
            "font": "Liberation Sans, Helvetica, Arial, sans-serif",
            "view": {"stroke": "#dddddd"},
            "axis": {"gridColor": "#eeeeee", "labelFontSize": 10, "labelColor": "#444444"},
            "axisY": {"minExtent": 26},
            "title": {"fontSize": 11, "subtitleColor": "#555555"},
        },
    }


if __name__ == "__main__":
    main()
