"""What the rows of a figure gather while they are made: data sets, panels, views."""

from collections.abc import Sequence

import polars as pl

from sojourn.report import panels, series
from sojourn.report.panels import Frame, Panel, Spec


class Canvas:
    """The rows of one figure, one below another."""

    def __init__(self, windows: Sequence[tuple[float, float]]) -> None:
        self.windows = windows
        """The stretches of time that are kept in detail."""
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
        columns = {line: f"c{place}" for place, line in enumerate(lines)}
        thinned = series.thin(scaled, frame.duration_s - frame.begin_s, self.windows)
        self.datasets[one.name] = series.to_csv(thinned)
        if frame.interactive:
            moments = series.moments(scaled, columns, self.windows)
            self.datasets[f"{one.name}_at"] = series.to_csv(moments)
        self.panels.append(one)
        self.views += panels.row(one, frame, lines, list(behind), before)
