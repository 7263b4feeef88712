"""Write docs/limits.md, memory and time against size: `.venv/bin/python benches/limits.py`.

`sojourn check` and `sojourn run --json` each run in a separate process for every scenario.
Time is CPU time, user and system, so that other processes have little effect. Memory is the
greatest resident set. `benches/limits.json` has the same figures.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = '[link.a]\nrate = "{rate}"\ndelay = "10ms"\n'
FLOW = '[flow.f]\npath = ["a"]\ncontrol = "reno"\n'
ESTIMATE = """
import sys, sojourn
core = sojourn.Scenario.load(sys.argv[1]).compile()
print(core.memory_bytes())
"""
SILENT = '[record]\ninterval = "0s"\n'
SHORT = 'source = {{ kind = "file", size = "10kB" }}\n'


def flows(count: int) -> str:
    """Return a scenario with one table for many flows."""
    return 'duration = "1s"\n' + LINK.format(rate="10Gbit") + FLOW + f"count = {count}\n" + SILENT


def tables(count: int) -> str:
    """Return a scenario with a table for each flow."""
    flow = '[flow.f{}]\npath = ["a"]\ncontrol = "reno"\n' + SHORT
    return (
        'duration = "1s"\n'
        + LINK.format(rate="10Gbit")
        + SILENT
        + "".join(flow.format(place) for place in range(count))
    )


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


def points(count: int) -> str:
    """Return a scenario that records one row for the flow and one for the link at each sample."""
    record = f'[record]\ninterval = "{2 * 10**9 // count}ns"\n'
    return 'duration = "1s"\n' + LINK.format(rate="1Mbit") + FLOW + record


def events(count: int) -> str:
    """Return a scenario with packets of 1500 bytes, each of some two events."""
    duration = count * 12_000 / 1e9
    return f'duration = "{duration + 0.1:.2f}s"\n' + LINK.format(rate="1Gbit") + FLOW + SILENT


@dataclass(frozen=True)
class Size:
    """One dimension of a scenario, its sizes, and the first size that is refused."""

    name: str
    text: Callable[[int], str]
    sizes: tuple[int, ...]
    refused: int


# The longest texts come last, because a child's resident set includes this process's memory.
ALL = [
    Size("packets", events, (10_000, 100_000, 1_000_000, 10_000_000), 10**12),
    Size("rows of a record", points, (1_000, 10_000, 100_000, 1_000_000), 1_000_000_000),
    Size("flows (`count`)", flows, (100, 1_000, 10_000, 100_000), 1_000_001),
    Size("tables of flows", tables, (20, 200, 2_000, 20_000), 20_001),
    Size("links, each with a flow", links, (20, 200, 2_000, 20_000), 20_001),
    Size("steps of a rate", steps, (100, 1_000, 10_000, 100_000), 100_001),
]


@dataclass
class Row:
    """The measurements of one size."""

    size: int
    check_s: float
    check_mb: float
    run_s: float
    run_mb: float
    estimate_mb: float


def command(*arguments: str) -> tuple[float, float, str]:
    """Run `sojourn`; return its CPU seconds, greatest resident MB and standard error."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "sojourn", *arguments], stdout=subprocess.DEVNULL, stderr=errors
        )
        _, _, usage = os.wait4(process.pid, 0)
        errors.seek(0)
        # ru_maxrss is in kibibytes on Linux.
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, errors.read()


def measured(size: Size, count: int, file: Path) -> Row:
    """Measure `check` and `run` of one size."""
    file.write_text(size.text(count), "utf-8")
    check_s, check_mb, said = command("check", str(file))
    if said:
        raise SystemExit(said)
    run_s, run_mb, _ = command("run", str(file), "--json", "--jobs", "1")
    # In another process, because a child's resident set includes this process's memory.
    asked = [sys.executable, "-c", ESTIMATE, str(file)]
    estimate = int(subprocess.run(asked, capture_output=True, check=True).stdout)
    return Row(count, check_s, check_mb, run_s, run_mb, estimate / 1e6)


def refusal(size: Size, file: Path) -> str:
    """Return the first line of the error for the first size beyond the limit."""
    file.write_text(size.text(size.refused), "utf-8")
    for arguments in (["check", str(file)], ["run", str(file), "--json"]):
        _, _, said = command(*arguments)
        if said:
            return said.splitlines()[0].replace(str(file), file.name)
    raise SystemExit(f"{size.refused} {size.name} are not refused")


def per_item(rows: list[Row], place: int, value: str) -> float | None:
    """Return the cost of one more item since the previous size."""
    if place == 0:
        return None
    last, this = rows[place - 1], rows[place]
    return float((getattr(this, value) - getattr(last, value)) / (this.size - last.size))


def shown(value: float | None, unit: float, digits: int = 3) -> str:
    """Return the figure in a unit, or an empty text."""
    return "" if value is None else f"{value * unit:,.{digits}g}"


HEAD = (
    "| size | check, s | check, MB | run, s | run, MB | estimate, MB | run, us an item "
    "| run, kB an item |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n"
)


def table(rows: list[Row]) -> str:
    """Return the rows as Markdown."""
    lines = []
    for place, row in enumerate(rows):
        time_us = shown(per_item(rows, place, "run_s"), 1e6)
        memory_kb = shown(per_item(rows, place, "run_mb"), 1e3)
        lines.append(
            f"| {row.size:,} | {row.check_s:.2f} | {row.check_mb:,.0f} | {row.run_s:.2f} "
            f"| {row.run_mb:,.0f} | {row.estimate_mb:,.0f} | {time_us} | {memory_kb} |"
        )
    return HEAD + "\n".join(lines) + "\n"


INTRO = """# Limits

`make limits` writes this page: it measures memory and time of scenarios that grow in one
dimension at a time. `benches/limits.json` has the same figures.

Time is CPU time of the whole command, user and system; memory is the greatest resident set. The
last two columns are the cost of one more item since the row above: if they stay the same, the cost
is linear. Differences between small sizes are within the variation of Python's start.

`estimate` is compared with the available memory (`MemAvailable` of `/proc/meminfo`) before
anything runs. It is an upper bound for the engine and its results: a Python process takes
some 25 MB more. Each of several concurrent runs takes that much. Finished runs keep their
summaries and, until they are written, their series.

## Limits of a scenario

| item | limit |
|---|--:|
| text of the document | 4 MiB |
| links | 20,000 |
| tables of flows | 20,000 |
| flows, `count` included | 1,000,000 |
| transfers of flows with random arrivals | 1,000,000 |
| links in `path` and `back` of all flows | 4,000,000 |
| steps, and ramps, of one rate or delay | 100,000 |
| controllers in `controls` | 10,000 |
| pairs of a controller and a table of flows | 10,000,000 |

These limits keep `sojourn check` near one second. Everything else is limited by memory: packets in
buffers and on wires, initial windows, rows of the record.

A user's own controller may ask for any window. A run limits the packets that all flows with such
controllers have in flight together: four times as many as the queues and wires of their paths
hold, 100,000 at least, and their initial windows. If they exceed it, the run ends with an error
that names both figures. `transport.receive_window` replaces that limit for its flow.

`check` collects the first 100 problems of a document, and shows 20.

The bound of a spike uses the last 1,000 steps of capacity before the change. In a longer chain
of changes without a pause it starts without a queue. A change takes longer to compute the more
changes are within one loop delay: some 2 ms with a thousand.
"""


def main() -> None:
    """Measure all sizes and write both files."""
    found = []
    text = INTRO
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        measures = [[measured(size, count, file) for count in size.sizes] for size in ALL]
        for size, rows in zip(ALL, measures, strict=True):
            said = refusal(size, file)
            print(size.name, *rows, said, sep="\n  ", file=sys.stderr)
            found.append(
                {"name": size.name, "rows": [asdict(row) for row in rows], "refused": said}
            )
            text += (
                f"\n## {size.name[0].upper()}{size.name[1:]}\n\n{table(rows)}\n"
                f"{size.refused:,} are refused:\n\n    {said}\n"
            )
    (ROOT / "docs" / "limits.md").write_text(text, "utf-8")
    (ROOT / "benches" / "limits.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
