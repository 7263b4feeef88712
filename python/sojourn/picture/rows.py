"""The rows of a picture over time: lines or bands of every flow or link, from top to bottom."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from sojourn.picture import series
from sojourn.picture.chart import Layer, Panel, Row, Scale
from sojourn.record.legend import MOST_LINES, WEIGHTS, Ink, Legend

NEUTRAL = "#444444"
CAPACITY = "#d4d4d4"
_GUIDE = "#8c8c8c"
# Pixels of a row: the whole run, and beside it the part that a reader chooses.
WIDTH = 940
Shades = Sequence[tuple[str, str, float]]
"""First and last column of each band, and opacity."""

# The edges of a band stay visible below other bands.
_FLOW_SHADES: Shades = (("p5", "p95", 0.15), ("p25", "p75", 0.25))
_SEED_SHADES: Shades = (("p5", "p95", 0.18),)
_WIDTH = 1.5


@dataclass
class Rows:
    """The time axis and the legend that all rows share, and the panels so far."""

    legend: Legend
    begin_s: float
    end_s: float
    windows: Sequence[tuple[float, float]]
    """The parts of the time that keep full detail."""
    shown: tuple[float, float]
    """The part that the second panel of each row shows at first."""
    changes: Sequence[float] = ()
    """Times of changes of capacity."""
    made: list[Panel] = field(default_factory=list)
    is_banded: bool = False
    """Whether a row has too many lines to distinguish, and shows percentiles instead."""

    def add(
        self,
        title: str,
        unit: str,
        height: int,
        data: pl.DataFrame,
        scale: float,
        guides: Sequence[Layer] = (),
        from_zero: bool = True,
        key: str = "",
    ) -> None:
        """Add a row of `data` with columns `t`, `v`, `series`, `flow`, divided by `scale`."""
        lines, is_crowded = self.lines(data, scale)
        # Single ones of many flows: the link's capacity would be out of their scale.
        self.row(title, unit, height, [*(() if is_crowded else guides), *lines], from_zero, key)

    def row(
        self,
        title: str,
        unit: str,
        height: int,
        layers: Sequence[Layer],
        from_zero: bool = True,
        key: str = "",
    ) -> None:
        """Add a row of these layers, with the changes of capacity behind them."""
        marks: list[Row] = [(at, None, at, None) for at in self.changes]
        changes = Layer("", "rules", marks, _GUIDE, width=1, dash=(2, 2), listed=False)
        time: Scale = {"domain": (self.begin_s, self.end_s)}
        self.made.append(
            Panel(
                f"{title} ({unit})",
                "",
                unit,
                [changes, *layers],
                width=WIDTH,
                height=height,
                x_scale=time,
                y_scale={"zero": from_zero},
                legend=False,
                zoom=self.shown,
                key=key,
            )
        )

    def lines(self, data: pl.DataFrame, scale: float, link: str = "") -> tuple[list[Layer], bool]:
        """Return the lines of `data`, and whether they are medians over many flows.

        If the data have a column `seed` with several seeds, the lines are medians over the seeds.
        """
        span_s = self.end_s - self.begin_s
        scaled = series.with_gaps(data.with_columns(pl.col("v") / scale), span_s)
        count = scaled.select("series", "flow").n_unique() if data.height else 0
        is_crowded = count > MOST_LINES
        seeded = "seed" in data.columns and data["seed"].n_unique() > 1
        shades: Shades = ()
        if is_crowded or seeded:
            points = series.bands(scaled, span_s, self.windows, by_flow=not is_crowded)
            shades = flow_shades(self.legend) if is_crowded else _SEED_SHADES
            self.is_banded |= is_crowded
        else:
            points = series.thin(scaled.drop("seed", strict=False), span_s, self.windows)
        keys = ["series", "flow"]
        parts = series.rounded(points).partition_by(keys, as_dict=True, maintain_order=True)
        bands = [
            self._band(name, part, shade, link)
            for shade in shades
            for (name, _), part in parts.items()
        ]
        lines = [self._line(name, flow, part, link) for (name, flow), part in parts.items()]
        return [*bands, *lines], is_crowded

    def _band(
        self, name: object, part: pl.DataFrame, shade: tuple[str, str, float], link: str
    ) -> Layer:
        low, high, opacity = shade
        points = part.select("t", low, high).rows()
        colour = self.legend.colours.get(str(name), NEUTRAL)
        return Layer(str(name), "area", points, colour, opacity=opacity, listed=False, link=link)

    def _line(self, name: object, flow: object, part: pl.DataFrame, link: str) -> Layer:
        ink = self.legend.inks.get(str(name), Ink(NEUTRAL))
        return Layer(
            str(name),
            "line",
            part.select("t", "v").rows(),
            ink.colour,
            width=_WIDTH * ink.weight * self._weights().get(str(flow), 1.0),
            dash=ink.dash,
            link=link,
            part=str(flow),
        )

    def _weights(self) -> dict[str, float]:
        """Return weights that distinguish the flows of one label; only a few are readable."""
        key = self.legend
        if len(key.flows) > MOST_LINES:
            return {}
        runs = [one for one in key.inks if one not in key.others.values()]
        each = [[key.label(run, flow) for flow in key.flows] for run in runs]
        shared = [
            flow
            for place, flow in enumerate(key.flows)
            if any(labels.count(labels[place]) > 1 for labels in each)
        ]
        return {} if len(shared) > len(WEIGHTS) else dict(zip(shared, WEIGHTS, strict=False))

    @property
    def panels(self) -> list[Panel]:
        """The rows; the last names the axis."""
        return [*self.made[:-1], *(replace(one, x="time (s)") for one in self.made[-1:])]

    def keys(self) -> list[Layer]:
        """Return the legend: the series, then the flows of one colour."""
        flows = {flow: Ink(NEUTRAL, weight=one) for flow, one in self._weights().items()}
        return [
            Layer(name, "line", (), ink.colour, width=_WIDTH * ink.weight, dash=ink.dash)
            for name, ink in [*self.legend.inks.items(), *flows.items()]
        ]


def capacity(points: Sequence[Row], colour: str = CAPACITY, link: str = "") -> Layer:
    """Return the link's capacity as a step line behind the rates of the flows."""
    return Layer(
        "capacity",
        "line",
        points,
        colour,
        width=5,
        steps="step-before",
        listed=False,
        link=link,
    )


def flow_shades(legend: Legend) -> Shades:
    """Both shades for one series; only the quartiles of several, because they overlap less."""
    return _FLOW_SHADES[len(legend.colours) > 1 :]


def band_text(legend: Legend) -> str:
    """Explain lines and shades of a row with too many flows to distinguish."""
    shades = {"p5": "pale shade: 5th to 95th percentile", "p25": "shade: 25th to 75th percentile"}
    parts = [shades[low] for low, _, _ in flow_shades(legend)]
    return "; ".join([f"lines: medians of {len(legend.flows):,} flows", *parts])
