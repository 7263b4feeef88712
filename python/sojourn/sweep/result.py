"""The dataset of a sweep as users hold it: frames, medians and pictures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sojourn.sweep import figures
from sojourn.sweep.dataset import StoredDataset

if TYPE_CHECKING:
    import polars as pl

    from sojourn.sweep.pictures import DatasetFigure


class Dataset(StoredDataset):
    """The results of a sweep. Frames of Polars have a row for each entry of each run.

    `points` has a row for each run of the last plan: its identity `run`, its values of the axes,
    its controller and its seed. `runs`, `flows`, `links` and `spikes` have the results of these
    runs, with the columns of the points first. Runs of earlier plans stay in the folder, for the
    next sweep that needs them.
    """

    def medians(
        self, metrics: str | Sequence[str] = (), names: str | Sequence[str] = ()
    ) -> "pl.DataFrame":
        """Return a row for each point: the medians over its seeds, with 95 % confidence intervals.

        `metrics` are figures such as "links.queue_delay_p99_s", "flows.goodput_share" (of the
        goodput of a run) or "flows.jain" (Jain's index); by default those of `sojourn sweep show`.
        `names` selects flows and links; by default all flows, and the bottleneck. The column `n` is
        the number of runs in the dataset, and the ends of an interval are in `TABLE.COLUMN_low` and
        `_high` before the unit, null below six runs.
        """
        chosen = [figures.parse(text) for text in _listed(metrics)]
        return figures.table(self, chosen or figures.DEFAULTS, _listed(names))

    def plot(
        self,
        metric: str = "links.queue_delay_p99_s",
        x: str | None = None,
        y: str | None = None,
        by: str | None = None,
        facet: str | None = None,
        names: str | Sequence[str] = (),
        where: str | None = None,
        labels: Mapping[str, str] | None = None,
        colours: Mapping[str, str] | None = None,
        log: str | None = None,
        title: str | None = None,
    ) -> "DatasetFigure":
        """Return the picture of a figure over the axes, which notebooks display.

            >>> Dataset("runs/home-sweep").plot("flows.rtt_p99_s", x="rate", by="queue", log="x",
            ...     labels={"rate": "uplink", "fq_codel": "FQ-CoDel"})  # doctest: +SKIP

        An `x` of numbers gives lines, one for each value of `by` (default: control); a `y`, or an
        `x` of names, gives a heat map. `facet` draws a picture for each value, `names` selects
        flows and links, and `where` is a condition on the axes. `labels` has other words for axes,
        values and the figure, and `colours` the colours of values of `by`. `log` names the
        logarithmic axes: "", "x", "y" or "xy".
        """
        from sojourn.sweep.looks import Looks
        from sojourn.sweep.pictures import DatasetFigure, View

        looks = Looks(labels or {}, colours or {}, log, title)
        view = View(figures.parse(metric), x, y, by, facet, _listed(names), looks)
        return DatasetFigure(figures.where(self, where) if where else self, view)


def _listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
