"""The path, the cause and the cure behind a capture (docs/guide/captures.md)."""

import json
from os import PathLike, fspath
from typing import Any, cast

from sojourn import _core
from sojourn.errors import ArgumentError

Explanation = dict[str, Any]
"""The output of `explain --json`: `path`, `flows`, `fit`, `verdicts`, `cures`, `unsure`, `text`,
and `twin`, a scenario as TOML. An unknown value is None."""


def explain(
    file: str | PathLike[str], *, cures: bool = True, twin: str | PathLike[str] = "twin.toml"
) -> Explanation:
    """Explain a pcap or pcapng file of TCP flows, which may be compressed with gzip or zstd.

    The result has the bottleneck's capacity over time in bit/s, the base round-trip time in
    seconds, the buffer in bytes, the queue and each flow's controller with their odds, and the
    effect of other queues and controllers on a twin of the capture. `cures=False` leaves out the
    last. `twin` is the name of the twin's file in the commands of the cures; this function does
    not write it.

    For a malformed file, the result covers everything before the error, which is in `error`.
    """
    if not fspath(twin):
        raise ArgumentError("twin is empty; name a file")
    return cast(Explanation, json.loads(_core.explain_capture(fspath(file), fspath(twin), cures)))
