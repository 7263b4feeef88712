"""The testbed's recorded series on top of simulated ones.

`python -m papers.latency_spike.series` draws `testbed-series.png` here. The measurements have
series for two of the four delays, and the peak for each delay.
"""

import struct
import zlib
from pathlib import Path

import altair as alt
import polars as pl
import sojourn
from sojourn.report import render, theme

from .testbed import DATA, RUNS, SAMPLING_S, scenario

PICTURE = Path("testbed-series.png")
# The displayed time around the drop.
FROM_S, TO_S = -4.0, 6.0
# Averaging step of the simulation: five samples of each run.
STEP_S = 0.05
ROWS = ("bbr", "cubic", "dctcp")
DELAYS_MS = (25.0, 50.0, 75.0, 100.0)
# Pixels of the picture per unit of the figure.
SCALE = 1.4
OURS, MEASURED = "#4c78a8", "#111111"

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


def row(control: str, ours: Cells, series: pl.DataFrame, peaks: pl.DataFrame, y: str) -> theme.View:
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
        marks = peak if y == "rtt" else peak.clear()
        panels.append(panel(title, y, ours[control, delay_ms], measured, marks))
    return theme.beside(panels, spacing=14)


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
    peaks: pl.DataFrame,
) -> alt.LayerSpec:
    """Draw the simulation as band, median and one run, and the measurement as line and peak."""
    band, one = ours
    scale = alt.Scale(domain=[FROM_S, TO_S], nice=False)
    x = alt.X("t:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))

    def layer(data: pl.DataFrame, mark: alt.MarkDef, field: str, high: str = "") -> alt.Chart:
        axis = alt.Axis(tickCount=4, format="d")
        up = alt.Y(f"{field}:Q", title=None, axis=axis)
        table = theme.table(data.to_dicts(), *data.columns)
        return theme.chart(table, mark, x, up, alt.Y2(high) if high else None)

    def line(colour: str, width: float, dash: list[int] | None = None) -> alt.MarkDef:
        dashed = alt.Undefined if dash is None else dash
        return alt.MarkDef("line", color=colour, strokeWidth=width, strokeDash=dashed, clip=True)

    area = alt.MarkDef("area", color=OURS, opacity=0.28, clip=True)
    dot = alt.MarkDef("point", color=MEASURED, size=55, strokeWidth=1.8, clip=True)
    return theme.layered(
        layer(band, area, f"{y}_low", f"{y}_high"),
        layer(band, line(OURS, 1.6), f"{y}_median"),
        layer(one, line(OURS, 1, [3, 2]), y),
        layer(measured, line(MEASURED, 1.1), y),
        layer(peaks, dot, y),
        title=title,
        width=205,
        height=95,
    )


def figure(views: list[theme.View]) -> theme.Spec:
    """Combine all panels with a legend."""
    return theme.document(
        "Smoothed RTT in ms (above) and window in packets, by seconds since the drop",
        f"black: measured, its peak a circle; blue: {RUNS} runs, 5th to 95th percentile "
        "and median; dashed: one of them, sampled as ss was",
        title_size=16,
        padding=12,
        vconcat=views,
        spacing=8,
        config={
            "font": "Liberation Sans, Helvetica, Arial, sans-serif",
            "view": {"stroke": "#dddddd"},
            "axis": {"gridColor": "#eeeeee", "labelFontSize": 10, "labelColor": "#444444"},
            "axisY": {"minExtent": 26},
            "title": {"fontSize": 11, "subtitleColor": "#555555"},
        },
    )


if __name__ == "__main__":
    main()
