"""The path, the cause and the cure behind an observation (docs/guide/captures.md)."""

import json
import shlex
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from sojourn import _core
from sojourn.errors import ArgumentError, UsageError
from sojourn.extras import require_explanations

Explanation = dict[str, Any]
"""The output of `explain --json`: `source`, `path`, `flows`, `fit`, `verdicts`, `cures`, `unsure`,
`text`, and `twin`, a scenario as TOML. An unknown value is None."""

# The columns of flows.parquet that an observation of a run has.
_COLUMNS = (
    "flow",
    "t_s",
    "rtt_s",
    "srtt_s",
    "delivered_bytes",
    "lost_packets",
    "marked_packets",
    "in_flight_bytes",
)


def explain(
    file: str | PathLike[str], *, cures: bool = True, twin: str | PathLike[str] = "twin.toml"
) -> Explanation:
    """Explain a capture, a qlog, Flent or iperf3 file, a log of `ss -ti`, or a run directory.

    The content of the file shows its kind, and it may be compressed with gzip or zstd. Of a run
    directory, the first run is explained.

    The result has the bottleneck's capacity over time in bit/s, the base round-trip time in
    seconds, the buffer in bytes, the queue and each flow's controller with their odds, and the
    effect of other queues and controllers on a twin of the observation. `cures=False` leaves out
    the last. `twin` is the name of the twin's file in the commands of the cures, which write it
    first: this function does not. `unsure` has a sentence for everything that the source cannot
    tell.

    For a malformed file, the result covers everything before the error, which is in `error`.
    Raise `UsageError` for content of another kind.
    """
    if not fspath(twin):
        raise ArgumentError("twin is empty; name a file")
    own = writer(fspath(file), fspath(twin))
    return cast(Explanation, json.loads(text(file, fspath(twin), cures, own)))


def writer(file: str, twin: str) -> str:
    """Return the command that writes the twin of a file."""
    return f"sojourn explain {shlex.quote(file)} --out {shlex.quote(twin)}"


def text(
    file: str | PathLike[str], twin: str | None, cures: bool = False, writer: str | None = None
) -> str:
    """Return the explanation as one text of JSON: the bytes of `sojourn explain --json`.

    Without a name of the twin, no twin is looked for. `writer` is the command that writes its
    file, if it will not exist.
    """
    require_explanations()
    name = fspath(file)
    try:
        if Path(name).is_dir():
            return _core.explain_text(name, _series(name), twin, cures, writer)
        return _core.explain_file(name, twin, cures, writer)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _series(directory: str) -> str:
    """Return the first run of a directory, with the columns of its flows, as JSON."""
    from sojourn.run import results

    record = results.load(directory)
    run = record.runs[0]
    rows = record.flows
    for column in ("control", "seed"):
        rows = rows.filter(rows[column].cast(str) == str(run[column]))
    columns = {name: rows[name].to_list() for name in _COLUMNS if name in rows.columns}
    return json.dumps({"run": run, "flows": columns})
