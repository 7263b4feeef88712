"""Matching of two runs by the names of controllers, flows and links."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from sojourn.errors import RunDirectoryError, UsageError
from sojourn.record.record import Record
from sojourn.record.run_directory import What

NS = 1_000_000_000
LATEST_S = 4e9
"""Later times are in another unit: in seconds since 1970, this is the year 2096."""


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    letter: Literal["a", "b"]
    label: str
    """Its directory as the user named it."""
    run: Record
    shift_s: float = 0.0
    """Seconds to add to its times."""


@dataclass(frozen=True)
class Pair:
    """A flow or a link of both runs, with the series of each seed."""

    what: What
    control: str
    name: str
    a: Mapping[int, pl.DataFrame]
    b: Mapping[int, pl.DataFrame]


Name = tuple[str, str]
"""The controller of the run, and the name of the flow or link."""


@dataclass(frozen=True)
class Matched:
    """The pairs of both runs, and the names that only one run has."""

    pairs: list[Pair]
    only: dict[str, dict[What, list[Name]]]
    """Unmatched names by run, "a" or "b"."""


def match(a: Side, b: Side) -> Matched:
    """Pair items of the same name and controller."""
    pairs: list[Pair] = []
    only: dict[str, dict[What, list[Name]]] = {"a": {}, "b": {}}
    whats: tuple[What, ...] = ("flows", "links")
    for what in whats:
        in_a, in_b = (_names(side.run, what) for side in (a, b))
        both = [one for one in in_a if one in in_b]
        if what == "flows" and not both:
            raise UsageError(_nothing_in_common(a, b, in_a, in_b))
        of_a, of_b = _series(a, what), _series(b, what)
        pairs += [_pair(what, one, of_a, of_b) for one in both]
        only["a"][what] = [one for one in in_a if one not in in_b]
        only["b"][what] = [one for one in in_b if one not in in_a]
    return Matched(pairs, only)


def by_position(a: Record, b: Record) -> dict[Name, str]:
    """Return names of A for the flows of B, for controllers whose flows have no name in common.

    Flows are in the order of the summary, and a controller has the same number of them in both.
    """
    found: dict[Name, str] = {}
    for control in controls(a):
        in_a, in_b = ([one for one in _names(run, "flows") if one[0] == control] for run in (a, b))
        if len(in_a) == len(in_b) and not set(in_a) & set(in_b):
            found |= {own: name for own, (_, name) in zip(in_b, in_a, strict=True)}
    return found


def controls(run: Record) -> list[str]:
    """Return the controllers of a run directory, in its order."""
    return list(dict.fromkeys(one["control"] for one in run.runs))


def _names(run: Record, what: What) -> list[Name]:
    found = [(one["control"], item["name"]) for one in run.runs for item in one[what]]
    return list(dict.fromkeys(found))


def _nothing_in_common(a: Side, b: Side, in_a: list[Name], in_b: list[Name]) -> str:
    advice = "--rename OLD=NEW gives a flow another name"
    if not set(controls(a.run)) & set(controls(b.run)):
        advice = (
            "to compare controllers, simulate both in one run: "
            "`sojourn run SCENARIO --control ONE,OTHER` (`sojourn qlog FILE --control NAME` names "
            "that of a log)"
        )
    return (
        f"no flow of {a.label} is in {b.label}: flows are matched by their name and their run's "
        f"controller; {a.label} has {_listed(in_a)}; {b.label} has {_listed(in_b)}; {advice}"
    )


def _listed(names: list[Name]) -> str:
    return ", ".join(f"{name} ({control})" for control, name in names) or "none"


def _pair(what: What, name: Name, a: "_Series", b: "_Series") -> Pair:
    return Pair(what, name[0], name[1], a.get(name, {}), b.get(name, {}))


_Series = dict[Name, dict[int, pl.DataFrame]]


def _series(side: Side, what: What) -> _Series:
    """Return the series of every flow or link, by seed, ordered by time."""
    frame = side.run.flows if what == "flows" else side.run.links
    name = what.removesuffix("s")
    where = f"{side.label}: {what}.parquet"
    if what == "flows" and frame.is_empty():
        raise RunDirectoryError(
            f"{where}: it has no rows; record a series (record.interval above 0s)"
        )
    _check_keys(frame, ("control", "seed", name, "t_s"), where)
    timed = _timed(frame, side.shift_s, where)
    known = {
        (one["control"], one["seed"], item["name"]) for one in side.run.runs for item in one[what]
    }
    series: _Series = {}
    keys = ["control", "seed", name]
    for key, part in timed.partition_by(keys, as_dict=True, maintain_order=True).items():
        if key not in known:
            named = ", ".join(f"{one} {value!r}" for one, value in zip(keys, key, strict=True))
            raise RunDirectoryError(
                f"{where}: it has rows of {named}, which summary.json does not list"
            )
        control, seed, own = key
        series.setdefault((control, own), {})[seed] = _ordered(part, f"{where}: {name} {own!r}")
    return series


def _check_keys(frame: pl.DataFrame, keys: tuple[str, ...], where: str) -> None:
    for key in keys:
        if frame[key].null_count():
            raise RunDirectoryError(f"{where}: column `{key}` has nulls; every row needs a value")


def _timed(frame: pl.DataFrame, shift_s: float, where: str) -> pl.DataFrame:
    """Add the column `ns`, the time in whole nanoseconds, which avoids rounding errors."""
    largest: Any = frame["t_s"].abs().max()
    if largest is not None and not largest < LATEST_S:
        raise RunDirectoryError(f"{where}: column `t_s` has {largest:g}; times are in seconds")
    ns = (pl.col("t_s") * NS).round().cast(pl.Int64) + round(shift_s * NS)
    return frame.with_columns(ns.alias("ns"))


# Cumulative counters, which never decrease.
_GROWING: dict[str, tuple[str, ...]] = {
    "flow": ("delivered_bytes",),
    "link": ("dropped_packets", "marked_packets"),
}


def _ordered(part: pl.DataFrame, where: str) -> pl.DataFrame:
    ordered = part.sort("ns")
    twice = ordered.filter(pl.col("ns").diff() == 0)
    if twice.height:
        raise RunDirectoryError(
            f"{where}: two samples at t_s = {twice['t_s'][0]:g}; each moment has one"
        )
    kind = "flow" if "flow" in part.columns else "link"
    for column in _GROWING[kind]:
        # Cast to signed numbers, because differences of unsigned ones are never negative.
        falls = ordered.filter(pl.col(column).drop_nulls().cast(pl.Int64).diff().lt(0).any())
        if falls.height:
            raise RunDirectoryError(
                f"{where}: `{column}` falls; it counts from the start of the run"
            )
    return ordered
