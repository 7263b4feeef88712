"""The figures of a dataset by its axes: medians over seeds, with the range of most of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast, get_args

from sojourn import _core, memory
from sojourn.errors import UsageError, require_known
from sojourn.record import stats
from sojourn.record.formatting import Unit, unit_of
from sojourn.sweep import expressions, fairness, quantities
from sojourn.sweep.dataset import D, StoredDataset
from sojourn.sweep.places import Argument
from sojourn.sweep.tables import Table, columns

if TYPE_CHECKING:
    import polars as pl

CONTROL = "control"
UNITS = ("_bps", "_s", "_bytes")
"""The ends of columns that name their unit."""
_UNITS: dict[Unit, tuple[str, float]] = {
    "rate": ("Mbit/s", 1e-6),
    "ms": ("ms", 1e3),
    "percent": ("%", 100.0),
}
# The column with the name of a flow or link.
_NAMED: dict[Table, str] = {"flows": "name", "links": "name", "spikes": "link"}


@dataclass(frozen=True)
class Metric:
    """A figure: its table, its column, and its unit for people."""

    table: Table
    column: str

    @property
    def unit(self) -> tuple[str, float]:
        """The unit's name, and the factor to it."""
        return unit(self.column)

    @property
    def name(self) -> str:
        """Its name for `parse`."""
        return f"{self.table}.{self.column}"

    @property
    def head(self) -> str:
        """Its heading, as in the table of a run."""
        return _core.heading(self.column)

    @property
    def title(self) -> str:
        """The heading and the unit."""
        unit = self.unit[0]
        return f"{self.head} ({unit})" if unit else self.head


DEFAULTS = (
    Metric("flows", "goodput_bps"),
    Metric("links", "utilisation"),
    Metric("links", "queue_delay_p50_s"),
    Metric("links", "queue_delay_p99_s"),
    Metric("spikes", "spike_s"),
)
"""The columns of the table, if no other figure is chosen."""


def parse(text: str) -> Metric:
    """Read `TABLE.COLUMN`, such as `links.queue_delay_p99_s`."""
    table, _, column = text.partition(".")
    tables = {name: numbers_of(name) for name in get_args(Table)}
    if column in tables.get(table, ()):
        return Metric(cast(Table, table), column)
    # A column alone, a figure of another table, or a part of a name.
    word = column or table
    every = [f"{name}.{one}" for name, known in tables.items() for one in known]
    same = [one for one in every if one.endswith(f".{word}")]
    within = [one for one in every if word in one.partition(".")[2].split("_")]
    within.sort(key=lambda one: not one.startswith(f"{table}."))
    found = same or within or get_close_matches(text, every, 3)
    hint = f"did you mean {' or '.join(f'`{one}`' for one in found[:3])}? " if found else ""
    known = tables.get(table)
    rest = f"it has {', '.join(known)}" if known else f"tables are {', '.join(tables)}"
    raise UsageError(f"there is no figure `{text}`; {hint}{rest[0].upper()}{rest[1:]}")


def numbers_of(table: Table) -> list[str]:
    """Return the columns of a table that have numbers."""
    own = [name for name, kind in columns(table).items() if kind != "String"]
    return [*own, *fairness.COLUMNS] if table == "flows" else own


def unit(column: str) -> tuple[str, float]:
    """Return the unit in which a column is shown, and the factor to it."""
    return ("kB", 1e-3) if column.endswith("_bytes") else _UNITS.get(unit_of(column), ("", 1.0))


def words(column: str) -> str:
    """Return the name of a column without its unit, in words."""
    for unit in UNITS:
        column = column.removesuffix(unit)
    return column.replace("_", " ")


def by(
    dataset: StoredDataset, metric: Metric, axes: Sequence[str], names: Sequence[str] = ()
) -> "pl.DataFrame":
    """Return one row for each point of the axes: median, 5th and 95th percentile over the rest.

    `low` and `high` are the median's 95 % confidence interval, null below six values. `names`
    selects flows and links, and a table without any of them has its default: all flows, and the
    bottleneck, which is the link with the greatest median delay. `subject` says how several are
    taken together.
    """
    import polars as pl

    each = _of_runs(dataset, metric, axes, names)
    if each.is_empty():
        return each
    value = pl.col(metric.column)
    rows = each.group_by(axes, maintain_order=True).agg(
        value.median().alias("median"),
        value.quantile(0.05, "linear").alias("p5"),
        value.quantile(0.95, "linear").alias("p95"),
        pl.len().alias("n"),
        value.drop_nulls().sort().alias("ordered"),
    )
    intervals = [stats.median_interval(values) for values in rows["ordered"]]
    ends = {
        end: pl.Series([one[place] if one else None for one in intervals], dtype=pl.Float64)
        for place, end in enumerate(("low", "high"))
    }
    return rows.with_columns(**ends).drop("ordered")


def table(
    dataset: StoredDataset, metrics: Sequence[Metric], names: Sequence[str] = ()
) -> "pl.DataFrame":
    """Return one row for each point, with the median of each figure and its interval.

    `n` is the number of runs in the dataset, which an interrupted sweep has not completed. A figure
    has the columns `TABLE.COLUMN`, `_low` and `_high`.
    """
    memory.require_polars()
    import polars as pl

    axes = axes_of(dataset)
    present = pl.col("run").is_in(dataset.runs["run"].to_list())
    rows = dataset.points.group_by(axes, maintain_order=True).agg(present.sum().alias("n"))
    for metric in metrics:
        found = by(dataset, metric, axes, names)
        if not found.is_empty():
            ends = [found[end].alias(label(metric, f"_{end}")) for end in ("low", "high")]
            own = found.select(*axes, found["median"].alias(label(metric)), *ends)
            rows = rows.join(own, on=axes, how="left", nulls_equal=True, maintain_order="left")
    return rows


def label(metric: Metric, end: str = "") -> str:
    """Return the key of a figure; `end` precedes its unit."""
    unit = next((unit for unit in UNITS if metric.column.endswith(unit)), "")
    return f"{metric.table}.{metric.column.removesuffix(unit)}{end}{unit}"


def _of_runs(
    dataset: StoredDataset, metric: Metric, axes: Sequence[str], names: Sequence[str]
) -> "pl.DataFrame":
    """Return one value for each run; an empty frame if the table has no such flow or link."""
    import polars as pl

    known = {name for table in _NAMED for name in _names(dataset, table)}
    for name in names:
        require_known("flow or link", name, sorted(known))
    frame = _selected(dataset.table(metric.table), metric, names)
    if frame.is_empty():
        return pl.DataFrame()
    if metric.column == fairness.JAIN:
        value = fairness.jain().alias(metric.column)
    elif _is_summed(metric, names):
        value = pl.col(metric.column).cast(pl.Float64).sum()
    else:
        value = pl.col(metric.column).cast(pl.Float64).max()
    return frame.group_by([*axes, "run"], maintain_order=True).agg(value)


def _is_summed(metric: Metric, names: Sequence[str]) -> bool:
    """Whether a figure of several flows is their sum; the shares of all flows sum to 1."""
    return metric.column == "goodput_bps" or (metric.column == fairness.SHARE and bool(names))


def _selected(frame: "pl.DataFrame", metric: Metric, names: Sequence[str]) -> "pl.DataFrame":
    import polars as pl

    if metric.table == "runs" or frame.is_empty():
        return frame
    own = frame.filter(pl.col(_NAMED[metric.table]).is_in(names))
    if not own.is_empty():
        return own
    if metric.table != "links":
        return frame
    delays = frame.group_by("name", maintain_order=True).agg(pl.col("queue_delay_p99_s").median())
    focus = delays.sort("queue_delay_p99_s", descending=True, nulls_last=True)["name"][0]
    return frame.filter(pl.col("name") == focus)


def _names(dataset: StoredDataset, table: Table) -> list[str]:
    frame = dataset.table(table)
    return [] if frame.is_empty() else frame[_NAMED[table]].unique(maintain_order=True).to_list()


def subject(dataset: StoredDataset, metric: Metric, names: Sequence[str] = ()) -> str:
    """Return the flows or links of a figure in words, and how several are taken together."""
    if metric.table not in ("flows", "links"):
        return ""
    every = _names(dataset, metric.table)
    chosen = [name for name in every if name in names]
    if metric.table == "links" and not chosen:
        return "the bottleneck"
    if len(chosen) == 1 or len(every) == 1:
        return (chosen or every)[0]
    which = ", ".join(chosen) or "all flows"
    if metric.column == fairness.JAIN:
        return which
    return f"{'sum' if _is_summed(metric, names) else 'greatest'} of {which}"


def axis_text(name: str, value: object) -> str:
    """Format a value of an axis as scenarios write it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if name.endswith("_bps"):
            return _core.quantity_text("rate", round(value))
        if name.endswith("_bytes"):
            return _core.quantity_text("data", round(value))
        if name.endswith("_s"):
            return _core.quantity_text("time", round(value * 1e9))
        return f"{value:.15g}"
    return "–" if value is None else str(value)


def scenario_text(name: str, value: object) -> str:
    """Return a value of an axis as scenarios write it, with all its digits."""
    is_quantity = name.endswith(UNITS) and not isinstance(value, str)
    return axis_text(name, value) if is_quantity else str(value)


def where(dataset: D, condition: str) -> D:
    """Return the dataset with the points that fulfil a condition on its axes."""
    expression = expressions.parse(condition, Argument("--where", condition))
    columns = {name: require_axis(dataset, name) for name in expression.names}

    def holds(point: dict[str, object]) -> bool:
        texts = {name: scenario_text(own, point[own]) for name, own in columns.items()}
        return expression.holds(lambda name: quantities.parse(texts[name]))

    kept = [str(point["run"]) for point in dataset.points.iter_rows(named=True) if holds(point)]
    if not kept:
        raise UsageError(f"no point of {dataset.folder} fulfils the condition `{condition}`")
    return dataset.only(kept)


def axes_of(dataset: StoredDataset) -> list[str]:
    """Return the axes of the dataset, and the controllers if they differ."""
    controls = dataset.points[CONTROL].n_unique()
    return [*dataset.axes, *([CONTROL] if controls > 1 or not dataset.axes else [])]


def over(dataset: StoredDataset, keys: Sequence[str]) -> str:
    """Name the seeds, and the axes with several values at one point of `keys`."""
    import polars as pl

    points = dataset.points
    others = [axis for axis in axes_of(dataset) if axis not in keys]
    counts = points.group_by(keys).agg(pl.col(others).n_unique())
    pooled = [words(axis) for axis in others if (counts[axis] > 1).any()]
    *most, last = ["seeds", *pooled]
    return f"{', '.join(most)} and {last}" if most else last


def require_axis(dataset: StoredDataset, name: str) -> str:
    """Return the column of an axis, which may be named without its unit."""
    known = [*dataset.axes, CONTROL]
    near = [one for one in known if one == name or words(one).replace(" ", "_") == name]
    if not near:
        require_known("axis", name, known)
    if len(near) > 1:
        raise UsageError(f"`{name}` names several axes: {', '.join(near)}")
    return near[0]
