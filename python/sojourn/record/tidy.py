"""The figures of a run as one tidy frame: a row for each observation, a column for each figure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from sojourn import memory
from sojourn.record.record_types import RunSummary
from sojourn.record.run_summary import Item

if TYPE_CHECKING:
    import polars as pl

Rows = Literal["flows", "links", "spikes", "sizes", "media"]
"""The rows of a table: flows, links, changes of capacity, size classes of random arrivals, or flows
of media."""

_NAMES: Mapping[Rows, str] = {
    "flows": "flow",
    "links": "link",
    "spikes": "link",
    "sizes": "flow",
    "media": "flow",
}


def table(runs: Sequence[RunSummary], rows: Rows = "flows") -> "pl.DataFrame":
    """Return a row for each entry of each run, with the run's `control` and `seed` first."""
    if rows not in get_args(Rows):
        known = ", ".join(get_args(Rows))
        raise ValueError(f"there is no table of {rows!r}; there are: {known}")
    memory.require_polars()
    import polars as pl

    found = [
        {"control": run["control"], "seed": run["seed"], **_named(entry, rows)}
        for run in runs
        for entry in _entries(run, rows)
    ]
    if not found:
        return pl.DataFrame(schema={"control": pl.String, "seed": pl.Int64})
    # Polars infers the type of a column from all its values: the first may be null.
    return pl.DataFrame(found, infer_schema_length=None)


def _entries(run: RunSummary, rows: Rows) -> Iterator[Item]:
    if rows == "media":
        for flow in run["flows"]:
            if "media" in flow:
                yield {"name": flow["name"], "control": flow["control"], **flow["media"]}
        return
    if rows != "sizes":
        yield from cast(Sequence[Item], run[rows])
        return
    for flow in run["flows"]:
        for size in flow.get("transfers_by_size") or []:
            yield {"name": flow["name"], "control": flow["control"], **size}


def _named(entry: Item, rows: Rows) -> dict[str, Any]:
    """Name an entry after its kind; the run has another `control` than the flow may have."""
    kind = _NAMES[rows]
    name = entry["link"] if rows == "spikes" else entry["name"]
    head = {kind: name}
    if "control" in entry:
        head[f"{kind}_control"] = entry["control"]
    plain = {
        key: value
        for key, value in entry.items()
        if key not in ("name", "control", "link") and not isinstance(value, (list, dict))
    }
    return {**head, **plain}
