"""Comparison of two runs: their common time on one grid, and figures over it.

Controllers, flows and links are matched by name, and a controller's flows by their position if
both runs have the same number of them and no name in common. Seeds are pooled: percentiles are
over the peaks of the steps of all seeds, goodput and counts are means over the seeds, and a
trajectory is the median over the seeds at each time. Figures of whole runs come from the summaries.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import polars as pl

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.record import combined
from sojourn.record.comparison import align, measure, renaming, scenarios
from sojourn.record.comparison.matching import (
    LATEST_S,
    Matched,
    Pair,
    Side,
    by_position,
    controls,
    match,
)
from sojourn.record.comparison.summary import (
    ComparedRun,
    ComparisonSummary,
    Named,
    NotCompared,
    OnlyIn,
    Renamed,
)
from sojourn.record.run_directory import What

C = TypeVar("C", bound="ComparedRuns")


class ComparedRuns:
    """Two runs on their common time, and the figures of both."""

    def __init__(
        self, a: Side, b: Side, summary: ComparisonSummary, flows: pl.DataFrame, links: pl.DataFrame
    ) -> None:
        self.a = a
        self.b = b
        self.summary = summary
        """All figures, with the keys of `sojourn compare --json`."""
        self.flows = flows
        """The flows on their common grid: one row per flow, `side`, seed and cell."""
        self.links = links
        """The links on their common grid, in the same form."""

    @classmethod
    def compare(cls: type[C], a: Side, b: Side) -> C:
        """Compare everything that both runs have; refuse two runs without anything in common."""
        if not abs(b.shift_s) < LATEST_S:
            raise UsageError(
                f"the shift of B is {b.shift_s:g}; it is in seconds, below {LATEST_S:g}"
            )
        names = by_position(a.run, b.run)
        positions: list[Renamed] = [
            {"control": control, "name": name, "name_b": own}
            for (control, own), name in names.items()
        ]
        if names:
            b = replace(b, run=renaming.renamed(b.run, names))
        matched = match(a, b)
        compared: dict[What, list[tuple[Pair, align.Grid, pl.DataFrame]]] = {
            "flows": [],
            "links": [],
        }
        left_out: list[NotCompared] = []
        for pair in matched.pairs:
            grid = align.grid_of(pair)
            if isinstance(grid, str):
                what = pair.what.removesuffix("s")
                left_out.append(
                    {"what": what, "control": pair.control, "name": pair.name, "why": grid}
                )
            else:
                compared[pair.what].append((pair, grid, align.aligned(pair, grid)))
        if not compared["flows"]:
            raise UsageError(_nothing_to_compare(a, b, left_out))
        differ = scenarios.differences([a.run.scenario, b.run.scenario])
        labels = scenarios.run_names([a.run, b.run], differ, [a.label, b.label])
        runs = dict(zip(labels, (a.run, b.run), strict=True))
        own_names = combined.labels_of(runs)
        both = combined.summarise(runs, own_names)
        summary: ComparisonSummary = {
            **both,
            "version": _core.__version__,
            "a": _about(a, labels[0], own_names),
            "b": _about(b, labels[1], own_names),
            "differences": [
                {"key": key, "a": of_a, "b": of_b} for key, (of_a, of_b) in differ.items()
            ],
            "shift_b_s": b.shift_s,
            "by_position": positions,
            "only_in_a": _only(matched, a, b),
            "only_in_b": _only(matched, b, a),
            "not_compared": left_out,
            "flows": [
                measure.flow(*one, measure.of_whole_runs(one[0], a.run, b.run))
                for one in compared["flows"]
            ],
            "links": [
                measure.link(*one, measure.of_whole_runs(one[0], a.run, b.run))
                for one in compared["links"]
            ],
        }
        return cls(a, b, summary, _frame(compared["flows"]), _frame(compared["links"]))


def _about(side: Side, name: str, own_names: Mapping[tuple[str, str], str]) -> ComparedRun:
    summary = side.run.summary
    return {
        "directory": side.label,
        "controls": [label for (source, _), label in own_names.items() if source == name],
        "scenario": summary["scenario"],
        "version": summary["version"],
    }


def _only(matched: Matched, one: Side, other: Side) -> OnlyIn:
    def named(what: What) -> list[Named]:
        return [
            {"control": control, "name": name} for control, name in matched.only[one.letter][what]
        ]

    theirs = controls(other.run)
    own = [name for name in controls(one.run) if name not in theirs]
    return {"controls": own, "flows": named("flows"), "links": named("links")}


def _nothing_to_compare(a: Side, b: Side, left_out: list[NotCompared]) -> str:
    flows = [one for one in left_out if one["what"] == "flow"]
    each = "; ".join(f"{one['name']} ({one['control']}): {one['why']}" for one in flows)
    advice = ""
    if any("no time in common" in one["why"] for one in flows):
        advice = "; --shift-b SECONDS moves the clock of B"
    return f"no flow of {a.label} (A) and {b.label} (B) can be compared: {each}{advice}"


def _frame(compared: list[tuple[Pair, align.Grid, pl.DataFrame]]) -> pl.DataFrame:
    if not compared:
        return pl.DataFrame()
    kind = compared[0][0].what.removesuffix("s")
    cells = pl.concat([cells.drop("ns") for _, _, cells in compared])
    keys = ("control", kind, "side", "seed")
    return cells.select(*keys, pl.exclude(*keys))
