"""The damage that a world does to a controller, from the figures of its run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from sojourn import memory
from sojourn.errors import UsageError
from sojourn.sweep import fairness, reading
from sojourn.sweep.store import AnyFolder

if TYPE_CHECKING:
    import polars as pl

Measure = Literal["excess", "utilisation", "unfairness"]
"""Damage as a number: `excess` is the greatest excess of a spike over its bound, in seconds;
`utilisation` the unused share of the link; `unfairness` 1 minus Jain's index of the goodputs
(Jain, Chiu and Hawe 1984, A Quantitative Measure of Fairness)."""
UNITS: dict[Measure, tuple[str, float]] = {
    "excess": ("ms", 1e3),
    "utilisation": ("% of the link unused", 100.0),
    "unfairness": ("(1 - Jain's index)", 1.0),
}
_TABLES: dict[Measure, str] = {"excess": "spikes", "utilisation": "links", "unfairness": "flows"}


class Damages:
    """The damage of every run in a dataset, by the identity of the run."""

    def __init__(self, folder: AnyFolder, measure: Measure, link: str) -> None:
        self._folder = folder
        self._measure: Measure = measure
        self._link = link
        self._seen: set[str] = set()
        self._found: dict[str, float] = {}

    def __getitem__(self, run: str) -> float:
        return self._found[run]

    def __contains__(self, run: str) -> bool:
        return run in self._found

    def update(self, repeats_failures: bool = False) -> None:
        """Read the batches that have been added.

        Raise `UsageError` for a run that failed, unless the search repeats it.
        """
        memory.require_polars()
        import polars as pl

        for name in self._folder.list("runs"):
            if name in self._seen:
                continue
            self._seen.add(name)
            runs = self._read("runs", name)
            errors = runs["error"].drop_nulls()
            if not errors.is_empty() and not repeats_failures:
                raise UsageError(f"{self._folder}: a simulation failed: {errors[0]}")
            completed = runs.filter(pl.col("error").is_null())
            self._found |= dict.fromkeys(completed["run"].to_list(), 0.0)
            table = _TABLES[self._measure]
            if self._folder.exists(f"{table}/{name}"):
                self._found |= dict(self._damages(self._read(table, name)))

    def _read(self, table: str, name: str) -> "pl.DataFrame":
        return reading.table(self._folder, f"{table}/{name}")

    def _damages(self, rows: "pl.DataFrame") -> Iterator[tuple[str, float]]:
        import polars as pl

        if self._measure == "excess":
            value = pl.col("excess_s").filter(pl.col("link") == self._link).max()
        elif self._measure == "utilisation":
            value = 1 - pl.col("utilisation").filter(pl.col("name") == self._link).max()
        else:
            value = 1 - fairness.jain()
        for run, damage in rows.group_by("run").agg(value.alias("damage")).iter_rows():
            yield run, 0.0 if damage is None else damage
