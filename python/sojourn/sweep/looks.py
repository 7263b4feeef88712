"""The looks of a dataset's picture that a user may choose: words, colours and scales."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sojourn.errors import UsageError
from sojourn.record import legend
from sojourn.sweep import figures
from sojourn.sweep.figures import Metric

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Looks:
    """Words for axes, values and the figure; colours of values; logarithmic axes."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Words by name: of an axis, of a figure (`links.utilisation`) or of a value."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """Colours by value of the axis that has a line for each, such as {"bbr": "#d55e00"}."""
    log: str | None = None
    """The logarithmic axes: "", "x", "y" or "xy"; None for the picture's choice."""
    title: str | None = None

    def __post_init__(self) -> None:
        if self.log not in (None, "", "x", "y", "xy"):
            raise UsageError(f"log is {self.log!r}; it is one of '', 'x', 'y' and 'xy'")

    def is_logarithmic(self, axis: str, otherwise: bool) -> bool:
        """Whether `x` or `y` is logarithmic."""
        return otherwise if self.log is None else axis in self.log

    def drawable(self, rows: "pl.DataFrame", x: str) -> "pl.DataFrame":
        """Return the rows of lines that their scales can show: a logarithmic one has no zero."""
        import polars as pl

        if self.is_logarithmic("x", False):
            rows = rows.filter(pl.col(x) > 0)
        if self.is_logarithmic("y", False):
            rows = rows.filter(pl.col("median") > 0)
            low = pl.when(pl.col("p5") > 0).then(pl.col("p5")).otherwise(pl.col("median").min())
            rows = rows.with_columns(low.alias("p5"))
        return rows

    def axis(self, column: str, unit: str = "") -> str:
        """Return the words of an axis, with its unit."""
        plain = figures.words(column)
        for name in (column, plain, plain.replace(" ", "_")):
            if name in self.labels:
                return self.labels[name]
        return f"{plain} ({unit})" if unit else plain

    def figure(self, metric: Metric) -> str:
        """Return the words of the figure."""
        return self.labels.get(metric.name) or self.labels.get(metric.column) or metric.title

    def value(self, text: str) -> str:
        """Return the words of a value."""
        return self.labels.get(text, text)

    def inks(self, names: Sequence[str]) -> dict[str, legend.Ink]:
        """Return the look of each value: its own, such as a controller's, in the chosen colour."""
        own = legend.inks({name: name for name in names})
        return {
            name: replace(ink, colour=self.colours.get(name, ink.colour))
            for name, ink in own.items()
        }
