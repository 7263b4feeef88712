"""An observation of the real world as a run: figures and series alone, without links."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from sojourn import _core
from sojourn.record import run_directory
from sojourn.record.record_types import FlowSummary
from sojourn.record.summary import FORMAT, Summary
from sojourn.run.results import Run

if TYPE_CHECKING:
    import polars as pl

SEED = 1
"""The seed of an observation, which has none."""


def run_of(
    title: str,
    source: str,
    control: str,
    duration_s: float,
    flows: Sequence[Mapping[str, object]],
    frame: "pl.DataFrame",
) -> Run:
    """Return a run of `control` with these figures of flows, and their samples in `frame`.

    A figure or a column that the source lacks is unknown.
    """
    unknown = dict.fromkeys(FlowSummary.__annotations__)
    run = {
        "control": control,
        "seed": SEED,
        "duration_s": duration_s,
        "flows": cast(list[FlowSummary], [{**unknown, **flow} for flow in flows]),
        "links": [],
        "spikes": [],
    }
    summary = {
        "format": FORMAT,
        "scenario": title,
        "version": f"Sojourn {_core.__version__}, from {source}",
        "runs": [run],
    }
    file = io.BytesIO()
    run_directory.complete_series(frame, "flows").write_parquet(file)
    series = {"flows": file.getvalue(), "links": run_directory.empty_series("links")}
    return Run(cast(Summary, summary), "", title, cast(Any, series), {})
