"""The tables of a dataset: their columns, and the rows of one run."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from sojourn import memory
from sojourn.record.record_types import (
    FlowSummary,
    LinkSummary,
    MediaSummary,
    RunSummary,
    SpikeSummary,
)

if TYPE_CHECKING:
    import polars as pl

Table = Literal["runs", "flows", "links", "spikes"]
TABLES: tuple[Table, ...] = get_args(Table)
POINTS = "points.parquet"
"""The file of the points."""
DOCUMENTS = "scenarios.parquet"
"""The file of the scenarios of `matrix` and `paper run`, one for each run."""
SERIES = ("series_flows", "series_links")
"""The tables of series, which `series` adds."""
WHOLE = ("summaries", "transfers", "frames")
"""The tables that the results of `matrix` and `paper run` need besides: each summary as JSON."""
Detail = Literal["figures", "series", "whole"]
"""The tables of a batch; each has those of the ones before it."""
DETAILS: tuple[Detail, ...] = get_args(Detail)

Rows = dict[Table, list[tuple[Any, ...]]]

_ENTRIES: Mapping[Table, tuple[type, ...]] = {
    # A flow of media has the figures of its frames too.
    "flows": (FlowSummary, MediaSummary),
    "links": (LinkSummary,),
    "spikes": (SpikeSummary,),
}
_TYPES: Mapping[Any, str] = {
    str: "String",
    int: "Int64",
    float: "Float64",
    str | None: "String",
    int | None: "Int64",
    float | None: "Float64",
}


@cache
def columns(table: Table) -> Mapping[str, str]:
    """Return the columns of a table and the names of their types in polars."""
    if table == "runs":
        texts = ("run", "control", "error", "version")
        return dict.fromkeys(texts, "String") | {"seed": "Int64", "duration_s": "Float64"}
    hints = [one for entry in _ENTRIES[table] for one in get_type_hints(entry).items()]
    found = {key: _TYPES[hint] for key, hint in hints if hint in _TYPES}
    return {"run": "String", **found}


def empty() -> Rows:
    """Return no rows."""
    return {table: [] for table in TABLES}


def add(rows: Rows, key: str, version: str, run: RunSummary) -> None:
    """Add the rows of a run."""
    head = (key, run["control"], None, version, run["seed"], run["duration_s"])
    rows["runs"].append(head)
    for table in ("flows", "links", "spikes"):
        entries: Sequence[Mapping[str, Any]] = run[table]
        names = list(columns(table))[1:]
        # Some keys are optional, such as the reason why a stack closed the connection.
        whole = [{**entry, **(entry.get("media") or {})} for entry in entries]
        rows[table] += [(key, *map(entry.get, names)) for entry in whole]


def add_failure(rows: Rows, key: str, version: str, seed: int, error: str) -> None:
    """Add the row of a run that failed."""
    rows["runs"].append((key, None, error, version, seed, None))


def frame(table: Table, rows: Sequence[tuple[Any, ...]]) -> "pl.DataFrame":
    """Convert rows to a frame, with the same columns for any rows."""
    memory.require_polars()
    import polars as pl

    schema = {name: getattr(pl, kind) for name, kind in columns(table).items()}
    return pl.DataFrame(rows, schema=schema, orient="row")
