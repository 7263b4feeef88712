"""Reader for qlog of any origin, which yields the same figures, series and plots as a run."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING

from sojourn import _core, inputs, memory
from sojourn.capture import observed
from sojourn.errors import UsageError
from sojourn.run.results import Run

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Damage:
    """The position of an error in a file, or in its content if it is packed."""

    file: str
    at_byte: int
    line: int
    what: str
    events: int

    def __str__(self) -> str:
        before = "nothing" if self.events == 0 else f"{self.events:,} events"
        return (
            f"{self.file}: byte {self.at_byte} (line {self.line}): {self.what}; "
            f"{before} before it could be read"
        )


def read(
    files: str | PathLike[str] | Sequence[str | PathLike[str]],
    control: str = "qlog",
    interval_s: float | None = None,
) -> tuple[Run, list[Damage]]:
    """Read qlog files, with one flow per trace or path; also return the damage of each file.

    Files may be packed with gzip or zstd. `control` is the name of the run's controller,
    `interval_s` the sampling interval. Files that hold no trace are refused, and so are files that
    are damaged before their first trace.
    """
    named = [fspath(file) for file in ([files] if isinstance(files, (str, PathLike)) else files)]
    for file in named:
        # A file may be read twice: no pipes.
        inputs.require_file(file)
    available = memory.available_bytes()
    # The other half is for growing arrays, and for the samples.
    limit = None if available is None else available // 2
    text, samples = _core.qlog_flows(named, interval_s, limit)
    found = json.loads(text)
    faults = [
        Damage(file, **fault) if fault else None
        for file, fault in zip(named, found["damages"], strict=False)
    ]
    if not found["flows"]:
        raise UsageError(str(faults[-1] or f"{named[len(faults) - 1]}: it has no qlog events"))
    title = found["title"] or "qlog"
    flows = [{**flow, "control": control} for flow in found["flows"]]
    frame = _samples(samples, control)
    run = observed.run_of(title, "qlog", control, found["duration_s"], flows, frame)
    return run, [fault for fault in faults if fault]


def _samples(samples: bytes, control: str) -> "pl.DataFrame":
    """Add the columns that a log does not have."""
    memory.require_polars()
    import polars as pl

    own = (pl.lit(control).alias("control"), pl.lit(observed.SEED, pl.UInt64).alias("seed"))
    return pl.read_parquet(io.BytesIO(samples)).with_columns(*own)
