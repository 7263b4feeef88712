"""What the rows of a figure gather while they are made: data sets, panels, views."""

from collections.abc import Sequence

import polars as pl

from sojourn.legend import MOST_LINES
from sojourn.report import panels, series
from sojourn.report.panels import Frame, Panel, Spec


class Canvas:
    """The rows of one figure, one below another."""

    def __init__(self, windows: Sequence[tuple[float, float]], shown: tuple[float, float]) -> None:
        self.windows = windows
        """The stretches of time that are kept in detail."""
        self.shown = shown
        """The one that the right side shows: at first, or for good on paper."""
        self.is_banded = False
        """Whether a row has more lines than can be told apart, and shows percentiles instead."""
        self.datasets: dict[str, str] = {}
        self.panels: list[Panel] = []
        self.views: list[Spec] = []

    def row(
        self,
        frame: Frame,
        one: Panel,
        data: pl.DataFrame,
        scale: float,
        behind: Sequence[Spec] = (),
        before: panels.Guides = lambda _: [],
    ) -> None:
        """Adds a row of `data` with the columns `t`, `v`, `series`, `flow`, over `scale`."""
        scaled = data.with_columns(pl.col("v") / scale)
        lines = scaled.select("series", "flow").unique(maintain_order=True).rows()
        banded = len(lines) > MOST_LINES
        if banded:
            self.is_banded = True
            scaled = series.bands(scaled, frame.duration_s - frame.begin_s, self.windows)
            lines = scaled.select("series", "flow").unique(maintain_order=True).rows()
        self._lines(frame, one, scaled, banded)
        if frame.interactive:
            columns = {line: f"c{place}" for place, line in enumerate(lines)}
            moments = series.moments(scaled, columns, self.windows)
            self.datasets[f"{one.name}_at"] = series.to_csv(moments)
        self.panels.append(one)
        # Beside one flow of many, what all of them share would be out of scale.
        self.views += panels.row(one, frame, lines, [] if banded else [*behind], before, banded)

    def _lines(self, frame: Frame, one: Panel, data: pl.DataFrame, banded: bool) -> None:
        """The points of both sides; on paper each has its own, as many as its pixels show."""
        span_s = frame.duration_s - frame.begin_s
        if banded or frame.interactive:
            text = series.to_csv(data if banded else series.thin(data, span_s, self.windows))
            self.datasets.update(dict.fromkeys(panels.data_names(one, frame), text))
            return
        whole, detail = panels.data_names(one, frame)
        self.datasets[whole] = series.to_csv(series.thin(data, span_s, []))
        near = series.thin(series.inside(data, self.shown), span_s, [self.shown])
        self.datasets[detail] = series.to_csv(near)
