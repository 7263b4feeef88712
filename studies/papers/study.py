"""Which claims of the five papers hold in Sojourn?

The authors' measurements of `latency-spike` are not part of this repository. They are read from
`latency-spike-testbed.csv` in `shared/data` beside the checkout. Without this file, the claims on
the measurements are missing.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MINUTES = 6

Row = dict[str, Any]
Tables = dict[str, list[Row]]

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ROOT / "papers"
# The paper and the figures of the small form.
SMALL = (("l4s-prague", ("3", "idle")), ("packet-scale", ("3",)))


def measure(small: bool) -> Tables:
    """Run every figure of every paper."""
    if small:
        found = [run(paper, "--quick", *figures_of(names)) for paper, names in SMALL]
    else:
        found = run("all")
    claims = [
        {"paper": paper["paper"], "figure": figure["figure"], **rounded(claim)}
        for paper in found
        for figure in paper["figures"]
        for claim in figure["claims"]
    ]
    notes = [
        {"paper": paper["paper"], "figure": figure["figure"], "note": note}
        for paper in found
        for figure in paper["figures"]
        for note in figure["notes"]
    ]
    return {"claims": claims, "notes": notes}


def rounded(claim: Row) -> Row:
    """Return a claim with four digits of its numbers."""
    return {
        key: float(f"{value:.4g}") if isinstance(value, float) else value
        for key, value in claim.items()
    }


def figures_of(names: tuple[str, ...]) -> list[str]:
    """Return the options that choose these figures."""
    return [option for name in names for option in ("--figure", name)]


def run(paper: str, *options: str) -> Any:
    """Run a paper, or all, in the present folder."""
    line = [sys.executable, "-m", "sojourn", "paper", "run", paper, "--papers", str(PAPERS)]
    done = subprocess.run([*line, "--json", *options], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def answer(tables: Tables) -> str:
    """Return the number of claims that hold, by paper."""
    lines = ["| paper | claims that hold | of | figures beyond the paper |", "|---|---|---|---|"]
    for paper in dict.fromkeys(row["paper"] for row in tables["claims"]):
        rows = [row for row in tables["claims"] if row["paper"] == paper]
        lines.append(f"| {linked(paper)} | {counted(rows)} |")
    lines.append(f"| all | {counted(tables['claims'])} |")
    return "\n".join(lines)


def linked(paper: str) -> str:
    """Return a paper's name with a link to its page."""
    return f"[{paper}](../../papers/{paper.replace('-', '_')}/README.md)"


def counted(rows: list[Row]) -> str:
    """Return the claims that hold, those with a published value, and those without one."""
    held = [row["holds"] for row in rows]
    return f"{held.count(True)} | {len(held) - held.count(None)} | {held.count(None)}"
