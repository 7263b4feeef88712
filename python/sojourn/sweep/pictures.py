"""The picture of one figure of a dataset over its axes: a heat map, or lines with bands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sojourn.errors import UsageError
from sojourn.picture import Drawing
from sojourn.sweep import figures
from sojourn.sweep.figures import CONTROL, Metric
from sojourn.sweep.looks import Looks

if TYPE_CHECKING:
    from sojourn.picture.chart import Document
    from sojourn.sweep.dataset import StoredDataset

DEFAULT = Metric("links", "queue_delay_p99_s")
"""The figure of a picture, if no other one is chosen."""


@dataclass(frozen=True)
class View:
    """The choices of a picture. Axes may be named without their unit."""

    metric: Metric = DEFAULT
    x: str | None = None
    y: str | None = None
    by: str | None = None
    facet: str | None = None
    names: Sequence[str] = ()
    """Flows and links; see `figures.by`."""
    looks: Looks = field(default_factory=Looks)


class DatasetFigure(Drawing):
    """One figure of a dataset over its axes."""

    def __init__(self, dataset: "StoredDataset", view: View) -> None:
        self._dataset = dataset
        self._view = view

    def _document(self) -> "Document":
        return document(self._dataset, self._view)

    def __repr__(self) -> str:
        return f"<sojourn.DatasetFigure of {self._view.metric.name}>"


def document(dataset: "StoredDataset", view: View) -> "Document":
    """Draw a figure over the chosen axes, or over those that suit it.

    An axis of names, or a chosen `y`, gives a heat map, and an axis of numbers lines.
    """
    from sojourn.sweep import charts

    metric, axes = view.metric, figures.axes_of(dataset)
    picked = {key: getattr(view, key) for key in ("x", "y", "by", "facet")}
    named = {key: figures.require_axis(dataset, text) for key, text in picked.items() if text}
    x, facet = named.get("x") or axes[0], named.get("facet")
    is_map = "y" in named or not dataset.points[x].dtype.is_numeric()
    other: str | None
    if is_map:
        left = [axis for axis in axes if axis not in (x, facet)]
        other = named.get("y") or next(iter(left), CONTROL)
    else:
        other = named.get("by") or (CONTROL if x != CONTROL else None)
    facet = _with_controls(axes, [x, other], facet)
    keys = list(dict.fromkeys(filter(None, [x, other, facet])))
    rows = figures.by(dataset, metric, keys, view.names)
    title, over = _title(dataset, view), figures.over(dataset, keys)
    if is_map:
        return charts.heat_map(rows, metric, x, str(other), facet, title, over, view.looks)
    is_logarithmic = x in dataset.about.get("logarithmic", [])
    return charts.lines(rows, metric, x, other, facet, title, over, is_logarithmic, view.looks)


def _title(dataset: "StoredDataset", view: View) -> str:
    if view.looks.title is not None:
        return view.looks.title
    subject = figures.subject(dataset, view.metric, view.names)
    return ": ".join(filter(None, [str(dataset.about["title"]), subject]))


def _with_controls(
    axes: Sequence[str], shown: Sequence[str | None], facet: str | None
) -> str | None:
    """Return the axis of the small pictures: a median over controllers is that of none."""
    if CONTROL not in axes or CONTROL in (*shown, facet):
        return facet
    if facet is None:
        return CONTROL
    raise UsageError(
        f"--facet {facet} would show medians over controllers; take `--facet control`, or one "
        "controller by --where \"control == 'cubic'\""
    )
