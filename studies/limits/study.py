"""How large may scenarios or files be, and what do packets, flows, links and rows cost?

A scenario grows in one dimension at a time. `sojourn check` and `sojourn run` each run in a process
of their own: time is CPU time of the whole command, user and system, so that other processes have
little effect, and memory is the greatest resident set. `readers.py` makes the files that commands
read.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tables import markdown

Row = dict[str, Any]

MINUTES = 6
ROWS = (100_000, 300_000, 1_000_000)
# The commands that read files, each with the kind of its file in `readers.py`.
READERS = {
    "`report`": ("run", ("report", "FILE")),
    "`compare`": ("run", ("compare", "FILE", "FILE", "--json")),
    "`sweep show`": ("dataset", ("sweep", "show", "FILE")),
    "`report`, transfers": ("transfers", ("report", "FILE")),
    "`rtt`, packets": ("capture", ("rtt", "FILE", "--json")),
    "`qlog`, events": ("qlog", ("qlog", "FILE", "--json")),
}

LINK = '[link.a]\nrate = "{rate}"\ndelay = "10ms"\n'
FLOW = '[flow.f]\npath = ["a"]\ncontrol = "reno"\n'
SILENT = '[record]\ninterval = "0s"\n'
SHORT = 'source = {{ kind = "file", size = "10kB" }}\n'
ESTIMATE = """
import sys, sojourn
print(sojourn.Scenario.load(sys.argv[1]).compile().memory_bytes())
"""


def flows(count: int) -> str:
    """Return a scenario with one table for many flows."""
    return 'duration = "1s"\n' + LINK.format(rate="10Gbit") + FLOW + f"count = {count}\n" + SILENT


def tables(count: int) -> str:
    """Return a scenario with a table for each flow."""
    flow = '[flow.f{}]\npath = ["a"]\ncontrol = "reno"\n' + SHORT
    own = "".join(flow.format(place) for place in range(count))
    return 'duration = "1s"\n' + LINK.format(rate="10Gbit") + SILENT + own


def links(count: int) -> str:
    """Return a scenario with a link for each flow."""
    each = (
        '[link.l{0}]\nrate = "10Mbit"\ndelay = "10ms"\n'
        '[flow.f{0}]\npath = ["l{0}"]\ncontrol = "reno"\n' + SHORT
    )
    return 'duration = "1s"\n' + SILENT + "".join(each.format(place) for place in range(count))


def steps(count: int) -> str:
    """Return a scenario with a rate step each millisecond."""
    listed = ", ".join(
        f'{{ at = "{1 + place}ms", rate = "{5 + 5 * (place % 2)}Mbit" }}' for place in range(count)
    )
    rate = f'{{ start = "10Mbit", steps = [{listed}] }}'
    duration = f'duration = "{1 + count // 1000}s"\n'
    return duration + LINK.replace('"{rate}"', rate) + FLOW + SILENT


def samples(count: int) -> str:
    """Return a scenario that records one row for the flow and one for the link at each sample."""
    record = f'[record]\ninterval = "{2 * 10**9 // count}ns"\n'
    return 'duration = "1s"\n' + LINK.format(rate="1Mbit") + FLOW + record


def packets(count: int) -> str:
    """Return a scenario with packets of 1500 bytes."""
    duration = count * 12_000 / 1e9
    return f'duration = "{duration + 0.1:.2f}s"\n' + LINK.format(rate="1Gbit") + FLOW + SILENT


@dataclass(frozen=True)
class Dimension:
    """One dimension of a scenario, its sizes, and the first size that is refused."""

    name: str
    text: Callable[[int], str]
    sizes: tuple[int, ...]
    refused: int


# The longest texts come last, because a child's resident set includes this process's memory.
DIMENSIONS = (
    Dimension("packets", packets, (10_000, 100_000, 1_000_000, 10_000_000), 10**12),
    Dimension("rows of samples", samples, (1_000, 10_000, 100_000, 1_000_000), 1_000_000_000),
    Dimension("flows (`count`)", flows, (100, 1_000, 10_000, 100_000), 1_000_001),
    Dimension("tables of flows", tables, (20, 200, 2_000, 20_000), 20_001),
    Dimension("links with a flow", links, (20, 200, 2_000, 20_000), 20_001),
    Dimension("steps of a rate", steps, (100, 1_000, 10_000, 100_000), 100_001),
)


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has one dimension and its two least sizes."""
    chosen = DIMENSIONS[1:2] if small else DIMENSIONS
    return {
        "sizes": [
            {"dimension": one.name, "size": size, **measured(one.text(size))}
            for one in chosen
            for size in (one.sizes[:2] if small else one.sizes)
        ],
        "refused": [
            {"dimension": one.name, "size": one.refused, "error": refusal(one.text(one.refused))}
            for one in chosen
        ],
        "readers": [
            reader(name, rows)
            for name in list(READERS)[: 2 if small else None]
            for rows in ((1_000, 2_000) if small else ROWS)
        ],
    }


def reader(name: str, rows: int) -> Row:
    """Measure the command that reads a file with so many rows, in a folder of its own."""
    kind, arguments = READERS[name]
    program = str(Path(__file__).with_name("readers.py"))
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            line = [sys.executable, program, kind, str(rows)]
            made = subprocess.run(line, capture_output=True, text=True, check=True)
            file = Path(made.stdout.split()[-1])
            size = sum(one.stat().st_size for one in [file, *file.rglob("*")] if one.is_file())
            ended = command(*(str(file) if one == "FILE" else one for one in arguments))
        finally:
            os.chdir(here)
    if ended.status:
        raise RuntimeError(f"{name}: status {ended.status}: {ended.said}")
    return {
        "reader": name,
        "rows": rows,
        "file_mb": round(size / 1e6, 2),
        "cpu_s": round(ended.cpu_s, 2),
        "memory_mb": round(ended.memory_mb),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the greatest size of each dimension, and the cost of one more item."""
    lines = [["greatest size", "check, s", "run, s", "MB", "estimated MB", "us an item"]]
    by_dimension: dict[str, list[Row]] = {}
    for row in tables["sizes"]:
        by_dimension.setdefault(row["dimension"], []).append(row)
    for name, rows in by_dimension.items():
        before, last = rows[-2:]
        item_s = (last["run_s"] - before["run_s"]) / (last["size"] - before["size"])
        times = (f"{last[key]:.1f}" for key in ("check_s", "run_s"))
        sizes = (f"{last[key]:,.0f}" for key in ("run_mb", "estimate_mb"))
        lines.append([f"{last['size']:,} {name}", *times, *sizes, f"{1e6 * item_s:.3g}"])
    return f"{markdown(lines)}\n\n{markdown(list(read(tables['readers'])))}"


def read(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the memory of each reader by rows, and the bytes of one more row."""
    counts = sorted({row["rows"] for row in rows})
    yield ["MB to read a file", *(f"{count:,} rows" for count in counts), "bytes a row"]
    for name in dict.fromkeys(row["reader"] for row in rows):
        own = [row for row in rows if row["reader"] == name]
        slope = (own[-1]["memory_mb"] - own[0]["memory_mb"]) / (counts[-1] - counts[0])
        yield [name, *(f"{row['memory_mb']:,}" for row in own), f"{1e6 * slope:,.0f}"]


@dataclass(frozen=True)
class Ended:
    """A command that ended: its status and errors, CPU time and greatest resident set."""

    status: int
    said: str
    cpu_s: float
    memory_mb: float


def command(*arguments: str) -> Ended:
    """Run `sojourn`."""
    errors = Path("errors.txt")
    with errors.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "sojourn", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=written,
        )
        _, status, usage = os.wait4(process.pid, 0)
    return Ended(
        status=os.waitstatus_to_exitcode(status),
        said=errors.read_text("utf-8"),
        cpu_s=usage.ru_utime + usage.ru_stime,
        # ru_maxrss is in kibibytes on Linux.
        memory_mb=usage.ru_maxrss * 1024 / 1e6,
    )


def measured(text: str) -> Row:
    """Measure `check` and `run`."""
    file = Path("scenario.toml")
    file.write_text(text, "utf-8")
    check = command("check", str(file))
    run = command("run", str(file), "--json", "--jobs", "1")
    for one in (check, run):
        # A run that failed or was refused is no fast one.
        if one.status:
            raise RuntimeError(f"status {one.status}: {one.said}")
    asked = [sys.executable, "-c", ESTIMATE, str(file)]
    estimate = int(subprocess.run(asked, capture_output=True, check=True).stdout)
    return {
        "check_s": round(check.cpu_s, 2),
        "check_mb": round(check.memory_mb, 1),
        "run_s": round(run.cpu_s, 2),
        "run_mb": round(run.memory_mb, 1),
        "estimate_mb": round(estimate / 1e6, 1),
    }


def refusal(text: str) -> str:
    """Return the first line of the error for a size beyond the limit."""
    file = Path("scenario.toml")
    file.write_text(text, "utf-8")
    for arguments in (["check", str(file)], ["run", str(file), "--json"]):
        ended = command(*arguments)
        if ended.status:
            return ended.said.splitlines()[0]
    raise RuntimeError("this size is not refused")
