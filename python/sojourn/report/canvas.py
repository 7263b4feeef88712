"""The data sets, panels and views of a figure, collected row by row."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from sojourn.legend import MOST_LINES
from sojourn.report import panels, series
from sojourn.report.panels import Frame, Panel


class Canvas:
    """The rows of one figure, from top to bottom."""

    def __init__(self, windows: Sequence[tuple[float, float]], shown: tuple[float, float]) -> None:
        self.windows = windows
        """The time windows that keep full detail."""
        self.shown = shown
        """The window of the right side: its initial one, or on paper its only one."""
        self.is_banded = False
        """Whether a row has too many lines to distinguish, and shows percentiles instead."""
        self.names: set[str] = set()
        """The names in the legend."""
        self.datasets: dict[str, str] = {}
        self.panels: list[Panel] = []
        self.views: list[alt.LayerSpec] = []

    def row(
        self,
        frame: Frame,
        one: Panel,
        data: pl.DataFrame,
        scale: float,
        behind: panels.Ground | None = None,
        before: panels.Guides = lambda *_: [],
    ) -> None:
        """Add a row of `data` with the columns `t`, `v`, `series`, `flow`, divided by `scale`.

        If it has a column `seed` with several seeds, the lines are medians over the seeds.
        """
        scaled = data.with_columns(pl.col("v") / scale)
        lines = scaled.select("series", "flow").unique(maintain_order=True).rows()
        is_crowded = len(lines) > MOST_LINES
        seeded = "seed" in data.columns and data["seed"].n_unique() > 1
        shades: panels.Shades = ()
        if is_crowded or seeded:
            span_s = frame.duration_s - frame.begin_s
            scaled = series.bands(scaled, span_s, self.windows, by_flow=not is_crowded)
            lines = scaled.select("series", "flow").unique(maintain_order=True).rows()
            shades = panels.flow_shades(frame.legend) if is_crowded else panels.SEED_SHADES
            self.is_banded |= is_crowded
        elif "seed" in scaled.columns:
            scaled = scaled.drop("seed")
        self._lines(frame, one, scaled, bool(shades))
        if frame.interactive:
            columns = {line: f"c{place}" for place, line in enumerate(lines)}
            moments = series.moments(scaled, columns, self.windows)
            self.datasets[f"{one.name}_at"] = series.to_csv(moments)
        self.panels.append(one)
        self.names.update(frame.legend.colours)
        # A row of many flows shows single ones; the link's capacity would be out of their scale.
        ground = _no_ground if is_crowded or behind is None else behind
        self.views += panels.row(one, frame, lines, ground, before, shades)

    def _lines(self, frame: Frame, one: Panel, data: pl.DataFrame, banded: bool) -> None:
        """Thin the points of both sides; on paper, each side has as many as its pixels show."""
        span_s = frame.duration_s - frame.begin_s
        if banded or frame.interactive:
            text = series.to_csv(data if banded else series.thin(data, span_s, self.windows))
            self.datasets.update(dict.fromkeys(panels.data_names(one, frame), text))
            return
        whole, detail = panels.data_names(one, frame)
        self.datasets[whole] = series.to_csv(series.thin(data, span_s, []))
        near = series.thin(series.inside(data, self.shown), span_s, [self.shown])
        self.datasets[detail] = series.to_csv(near)


def _no_ground(_: panels.Side) -> Sequence[alt.Chart]:
    return ()
