"""A record as JSON for the page: the first run of each controller, with its samples."""

import json
from typing import TYPE_CHECKING

from sojourn.errors import RunDirectoryError, UsageError
from sojourn.record.record import Record
from sojourn.record.record_types import RunSummary
from sojourn.record.run_directory import What

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 3_000_000
"""Rows of all series; a browser would need gigabytes for more."""

_COLUMNS: dict[What, tuple[str, ...]] = {
    "flows": ("t_s", "goodput_bps", "cwnd_bytes", "rtt_s"),
    "links": ("t_s", "capacity_bps", "carried_bps", "queue_delay_s"),
}


def encoded(value: object) -> bytes:
    """Return compact JSON; raise `UsageError` for a number that JSON does not have."""
    try:
        # In the order of the keys, so that a report drawn from the data again is the same.
        return json.dumps(value, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()
    except ValueError as error:
        raise _infinite() from error


def to_json(record: Record, most_rows: int = MOST_ROWS) -> bytes:
    """Return a record as the page reads it; raise `UsageError` if it has more rows than these."""
    first = first_runs(record)
    parts = [(_own(record, "flows", run), _own(record, "links", run)) for run in first]
    rows = sum(flows.height + links.height for flows, links in parts)
    if rows > most_rows:
        raise UsageError(f"the run has {rows:,} samples, too many for the page; see its report")
    head = encoded(
        {
            "title": record.title,
            "scenario": record.scenario,
            "files": {name: text for name, text in record.files.items() if name[-3:] != ".py"},
            "runs": first,
        }
    ).decode()
    flows = ",".join(_samples(own, "flows") for own, _ in parts)
    links = ",".join(_samples(own, "links") for _, own in parts)
    return f'{head[:-1]},"flows":[{flows}],"links":[{links}]}}'.encode()


def first_runs(record: Record) -> list[RunSummary]:
    """Return the first run of each controller."""
    first: dict[str, RunSummary] = {}
    for run in record.runs:
        first.setdefault(run["control"], run)
    return list(first.values())


def _own(record: Record, what: What, run: RunSummary) -> "pl.DataFrame":
    """Return the rows of a run. Links without a limit have no queue that the page shows."""
    import polars as pl

    frame = record.flows if what == "flows" else record.links
    own = frame.filter(pl.col("control") == run["control"], pl.col("seed") == run["seed"])
    limited = [link["name"] for link in run["links"] if link["capacity_bps"] is not None]
    return own.filter(pl.col("link").is_in(limited)) if what == "links" and limited else own


def _samples(own: "pl.DataFrame", what: What) -> str:
    """Return the samples of a run: at each time one row for every name, in the same order."""
    import polars as pl

    key = what.removesuffix("s")
    names = own[key].unique(maintain_order=True).to_list()
    if own.height != len(names) * own["t_s"].n_unique():
        raise RunDirectoryError(f"the {what} have no samples at equal times; see the report")
    order = {name: place for place, name in enumerate(names)}
    own = own.with_columns(pl.col(key).replace_strict(order, return_dtype=pl.Int64).alias("_place"))
    own = own.sort("t_s", "_place")
    columns = ",".join(f'"{name}":[{_numbers(own[name])}]' for name in _COLUMNS[what])
    return f'{{"names":{encoded(names).decode()},"columns":{{{columns}}}}}'


def _numbers(column: "pl.Series") -> str:
    """Return numbers in JSON. Polars converts them ten times as fast as Python's encoder."""
    import polars as pl

    values = column.cast(pl.Float64).fill_nan(None)
    if values.is_infinite().any():
        raise _infinite()
    return ",".join(values.cast(pl.String).fill_null("null").to_list())


def _infinite() -> UsageError:
    return UsageError("the run has a value that is infinite or not a number; write null instead")
