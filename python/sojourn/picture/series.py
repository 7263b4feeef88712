"""The series of the figure: every seed, thinned without losing a spike."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.record.legend import Legend

if TYPE_CHECKING:
    from sojourn.record.record import Record

# Points are thinned to the minimum and the maximum of each interval. The whole run has this many
# intervals, and so does the window around every change of capacity, into which readers zoom.
_WHOLE_STRETCHES = 500
_DETAIL_STRETCHES = 250
# Goodput is drawn as a mean over the preceding time, because single samples show only that
# packets arrive in bursts.
_MEAN_S = 0.1
# A capacity that changes in a larger share of the samples comes from a trace or a ramp.
_OFTEN = 0.1
# Samples further apart than this, or than an interval of the whole run, are not joined.
_JOINED_S = 0.05
# Larger windows mean "no window": controllers that set only a rate report them.
_NO_WINDOW_BYTES = 1e15
# Never occurs in the name of a run or a flow (TOML 1.0 allows no bare control characters).
_BETWEEN = "\0"


def flow_series(run: "Record", legend: Legend, column: str) -> pl.DataFrame:
    """Return columns `t`, `v`, `series`, `flow`, `seed`: one figure of every flow.

    A missing sample is null. If the changes of the links come at other times in other runs
    (`spread`), their times are those of the first run.
    """
    return (
        _aligned(run, run.flows)
        .select(
            pl.col("t"),
            pl.col(column).cast(pl.Float64).alias("v"),
            _label(legend).alias("series"),
            pl.col("flow"),
            pl.col("seed"),
        )
        .with_columns(pl.when(pl.col("v") < _NO_WINDOW_BYTES).then(pl.col("v")))
        .filter(pl.col("series").is_in(list(legend.colours)))
    )


def mean_width_s(duration_s: float) -> float:
    """Return the averaging time of goodput."""
    return min(max(_MEAN_S, duration_s / 600), duration_s / 20)


def mean_over(series: pl.DataFrame, width_s: float) -> pl.DataFrame:
    """At each sample, the mean over the preceding time, so that no effect precedes its cause."""
    ns = (pl.col("t") * 1e9).round().cast(pl.Int64)
    keys = ["series", "flow", *(["seed"] if "seed" in series.columns else [])]
    ordered = series.sort(*keys, "t").with_columns(ns.alias("ns"))
    mean = pl.col("v").rolling_mean_by("ns", window_size=f"{max(round(width_s * 1e9), 1)}i")
    # Rounding errors can make a running sum of zeros slightly negative.
    means = mean.over(*keys).clip(lower_bound=0.0)
    return ordered.select("t", means.alias("v"), *keys)


def link_series(run: "Record", legend: Legend, column: str, link: str | None) -> pl.DataFrame:
    """The same for a link; `series` is empty if no single series owns its queue."""
    return (
        _aligned(run, run.links)
        .filter(pl.col("link").eq_missing(pl.lit(link)))
        .select(
            pl.col("t"),
            pl.col(column).cast(pl.Float64).alias("v"),
            (pl.col("control") if legend.by == "run" else pl.lit(_owner(legend))).alias("series"),
            pl.lit("").alias("flow"),
            pl.col("seed"),
        )
        .filter(pl.col("v").is_finite(), pl.col("series").is_in([*legend.colours, ""]))
    )


def capacity(run: "Record", legend: Legend, width_s: float, link: str | None) -> pl.DataFrame:
    """Return columns `t`, `v`: the capacity of a link in the first run, up to each change.

    A trace has delivery opportunities rather than a rate, so it is averaged like goodput.
    """
    series = link_series(run, legend, "capacity_bps", link).drop("seed")
    first = pl.col("series") == pl.col("series").first()
    series = series.filter(first).unique("t", keep="first", maintain_order=True).sort("t")
    return steps(series, width_s)


def steps(series: pl.DataFrame, width_s: float) -> pl.DataFrame:
    """Columns `t`, `v`: the last sample of each value, or means if the value changes constantly."""
    # A sample describes the interval that it ends, so the last one of each value marks its end.
    until = pl.col("v").ne(pl.col("v").shift(-1)).fill_null(True)
    first = pl.col("t") == pl.col("t").min()
    last = series.filter(until | first)
    if last.height > series.height * _OFTEN:
        last = mean_over(series, width_s)
    return last.select("t", "v")


def thin(
    series: pl.DataFrame, duration_s: float, windows: Sequence[tuple[float, float]]
) -> pl.DataFrame:
    """Keep at most two points per interval: its minimum and its maximum.

    A gap is one null (`with_gaps`).
    """
    keys = ["series", "flow", "stretch"]
    v = pl.col("v")
    ends = (
        series.with_columns(_stretch(duration_s, windows))
        .group_by(keys)
        .agg(
            pl.col("t").get(pl.coalesce(v.arg_min(), 0)).alias("t0"),
            v.min().alias("v0"),
            pl.col("t").get(pl.coalesce(v.arg_max(), 0)).alias("t1"),
            v.max().alias("v1"),
        )
    )
    least, greatest = (ends.select(*keys, t=f"t{end}", v=f"v{end}") for end in (0, 1))
    points = pl.concat([least, greatest]).unique(["series", "flow", "t"])
    return _one_gap(points.select("t", "v", "series", "flow").sort("series", "flow", "t"))


def with_gaps(series: pl.DataFrame, duration_s: float) -> pl.DataFrame:
    """Drop missing samples, but for those of gaps: intervals of the run without a sample."""
    width = max(duration_s / _WHOLE_STRETCHES, min(_JOINED_S, duration_s / 50))
    interval = (pl.col("t") / width).floor().alias("interval")
    keys = ["series", "flow", *(["seed"] if "seed" in series.columns else []), interval]
    return series.filter(pl.col("v").is_not_null() | pl.col("v").is_null().all().over(keys))


def _one_gap(points: pl.DataFrame) -> pl.DataFrame:
    """Keep the first of consecutive nulls of a line."""
    before = pl.col("v").is_null().shift(1).over("series", "flow").fill_null(True)
    return points.filter(~(pl.col("v").is_null() & before))


def bands(
    series: pl.DataFrame,
    duration_s: float,
    windows: Sequence[tuple[float, float]],
    by_flow: bool = False,
) -> pl.DataFrame:
    """For each interval and series, the percentiles of all samples of all flows and seeds.

    Columns `t`, `v` (the median), `p5`, `p25`, `p75`, `p95`, `series`, and `flow`, which is empty
    unless each flow has percentiles of its own (`by_flow`).
    """
    if not by_flow:
        series = series.with_columns(pl.lit("").alias("flow"))
    v = pl.col("v")
    found = (
        series.with_columns(_stretch(duration_s, windows))
        .group_by("series", "flow", "stretch")
        .agg(
            pl.col("t").max(),
            v.median(),
            *(v.quantile(p / 100, "linear").alias(f"p{p}") for p in (5, 25, 75, 95)),
        )
    )
    return _one_gap(found.drop("stretch").sort("series", "flow", "t"))


def _stretch(duration_s: float, windows: Sequence[tuple[float, float]]) -> pl.Expr:
    """Return the number of the interval that contains `t`; an interval is about a pixel wide."""
    stretch = (pl.col("t") / (duration_s / _WHOLE_STRETCHES)).floor()
    for place, (begin, end) in enumerate(windows, start=1):
        width = (end - begin) / max(_DETAIL_STRETCHES // len(windows), 1)
        # Each window has its own range of numbers, beyond those of the whole run.
        fine = ((pl.col("t") - begin) / width).floor() + place * 1_000_000
        stretch = pl.when(pl.col("t").is_between(begin, end)).then(fine).otherwise(stretch)
    return stretch.alias("stretch")


def rounded(frame: pl.DataFrame) -> pl.DataFrame:
    """Round times to 0.1 ms and values to four digits, which is more than a screen shows."""
    numbers = pl.selectors.float() - pl.selectors.by_name("t", require_all=False)
    return frame.with_columns(numbers.round_sig_figs(4), pl.col("t").round(4))


def _label(legend: Legend) -> pl.Expr:
    if legend.by == "run":
        if not legend.others:
            return pl.col("control")
        line = pl.concat_str("control", "flow", separator=_BETWEEN)
        others = {_BETWEEN.join(line): label for line, label in legend.others.items()}
        return line.replace_strict(others, default=pl.col("control"))
    own = pl.col("flow")
    return own.replace_strict(legend.control_of) if legend.by == "control" else own


def _owner(legend: Legend) -> str:
    """The owner of the queue in a single run: the only flow, or no flow if there are several."""
    return next(iter(legend.colours)) if len(legend.flows) == 1 else ""


def _aligned(run: "Record", frame: pl.DataFrame) -> pl.DataFrame:
    """Add the column `t`: the time since the start, less the delay of the run's changes."""
    first = run.runs[0]["spikes"][:1]
    delays = [
        {"control": one["control"], "seed": one["seed"], "shift": spikes[0]["at_s"] - at["at_s"]}
        for one in run.runs
        for at, spikes in zip(first, [one["spikes"]], strict=False)
        if spikes and abs(spikes[0]["at_s"] - at["at_s"]) > 0
    ]
    if not delays:
        return frame.with_columns(pl.col("t_s").alias("t"))
    types: dict[str, Any] = {
        "control": pl.String,
        "seed": frame.schema["seed"],
        "shift": pl.Float64,
    }
    shifts = pl.DataFrame(delays, schema=types)
    joined = frame.join(shifts, on=["control", "seed"], how="left", maintain_order="left")
    moved = pl.col("t_s") - pl.col("shift").fill_null(0.0)
    return joined.with_columns(moved.alias("t")).drop("shift").filter(pl.col("t") >= 0)
