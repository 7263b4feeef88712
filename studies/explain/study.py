"""Does `sojourn explain` answer, or say why not, on public captures and logs of other programs?

`SOJOURN_EXPLAIN_FILES` names a folder of files that the project does not keep: `SOURCE/...`, where
SOURCE is the `owner+name` of a public repository. The result names each file and its SHA-256. The
small form takes the files of the tests.
"""

import hashlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

import sojourn
from sojourn.errors import UsageError
from tables import each, markdown

MINUTES = 6
TESTS = Path(__file__).resolve().parents[2] / "tests"
NULL_WHEN_SMALL = (
    "files.capacity_mbps",
    "files.base_rtt_ms",
    "files.buffer_kb",
    "files.queue",
    "files.controller",
    "files.rtt_error",
)
# More is absurd for a path of packets: a round trip to the Moon and back twice, and a fast link.
MOST_RTT_S = 10
MOST_BPS = 400e9

Row = dict[str, Any]


def measure(small: bool) -> dict[str, list[Row]]:
    """Return a row for each file, and the number of files with each verdict."""
    if small:
        folders = [TESTS / "captures", TESTS / "qlog"]
        ends = (".pcap", ".pcapng", ".sqlog")
        files = [(file, "tests") for one in folders for file in found(one) if file.suffix in ends]
    else:
        folder = Path(os.environ["SOJOURN_EXPLAIN_FILES"])
        files = [(file, file.relative_to(folder).parts[0]) for file in found(folder)]
    rows = each(lambda one: explained(*one), files)
    counts = Counter((row["kind"], row["verdict"]) for row in rows)
    verdicts = [
        {"kind": kind, "verdict": verdict, "files": number}
        for (kind, verdict), number in sorted(counts.items())
    ]
    return {"verdicts": verdicts, "files": rows}


def found(folder: Path) -> list[Path]:
    """Return the files of a folder in order."""
    return sorted(file for file in folder.rglob("*") if file.is_file())


def explained(file: Path, source: str) -> Row:
    """Explain a file; keep the path, the twin's fit and the first reason."""
    row: Row = {
        "file": file.name,
        "source": source,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }
    try:
        one = sojourn.explain(file, cures=False)
    except UsageError as error:
        return row | _figures({}, "refused", str(error))
    reasons = [*one["unsure"], *([one["error"]["message"]] if one["error"] else [])]
    return row | _figures(one, verdict(one), "; ".join(reasons))


def verdict(one: Row) -> str:
    """Return what the answer is worth."""
    path = one["path"]
    rates = [piece["rate_bps"] for piece in path["capacity"]]
    base = path["base_rtt_s"]
    known = [rate for rate in rates if rate is not None]
    if any(not 0 < rate < MOST_BPS for rate in known) or (base or 0) > MOST_RTT_S:
        return "absurd"
    if not one["flows"]:
        return "reason alone"
    if not known:
        return "lower bound"
    return "twin" if one["fit"] and one["fit"]["good"] else "path"


def _figures(one: Row, verdict: str, reason: str) -> Row:
    path = one.get("path") or {"capacity": [], "queue": {}}
    known = [piece["rate_bps"] for piece in path["capacity"] if piece["rate_bps"]]
    flows = sorted(one.get("flows", []), key=lambda flow: -flow["packets"])
    flow = flows[0] if flows else {}
    controller = flow.get("named_controller") or flow.get("controller", {}).get("kind")
    fit = one.get("fit") or {}
    return {
        "kind": one.get("source", "unknown"),
        "verdict": verdict,
        "flows": len(flows),
        "capacity_mbps": round(max(known) / 1e6, 3) if known else None,
        "base_rtt_ms": _ms(path.get("base_rtt_s")),
        "buffer_kb": _kb(path.get("buffer_bytes")),
        "queue": path["queue"].get("kind"),
        "controller": controller,
        "rtt_error": round(fit["rtt"], 3) if fit else None,
        "reason": reason,
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1e3 * seconds, 3)


def _kb(size: float | None) -> float | None:
    return None if size is None else round(size / 1e3, 1)


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the verdicts by kind."""
    names = ["twin", "path", "lower bound", "reason alone", "refused", "absurd"]
    kinds = sorted({row["kind"] for row in tables["verdicts"]})
    number = {(row["kind"], row["verdict"]): row["files"] for row in tables["verdicts"]}
    head = ["source", "files", *names]
    rows = [
        [kind, sum(number.get((kind, name), 0) for name in names)]
        + [number.get((kind, name), "") for name in names]
        for kind in kinds
    ]
    return markdown([head, *rows])
