"""`python readers.py KIND ROWS` makes a file, or a folder of files, with so many rows.

It is a program of its own, since the memory of a command includes that of its parent.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import sojourn

SCENARIO = """
duration = "6s"
[link.a]
rate = { start = "12Mbit", steps = [{ at = "3s", rate = "6Mbit" }] }
delay = "10ms"
[flow.f]
path = ["a"]
control = "cubic"
"""
SOURCE = '{ kind = "poisson", load = "2Mbit", sizes = "lognormal", mean = "10kB", sigma = 1 }'
TRANSFERS = f"{SCENARIO}source = {SOURCE}\n"

_FAST = """
duration = "6s"
link.a = { rate = "RATE", delay = "10ms" }
flow.f = { path = ["a"], control = "cubic" }
record = { interval = "0s" }
"""


def run(rows: int) -> Path:
    """Return a run directory with so many samples of the flow and of the link."""
    place = _saved(SCENARIO, "run")
    for name in ("flows", "links"):
        frame = pl.read_parquet(place / f"{name}.parquet")
        _repeated(frame, rows, "t_s").write_parquet(place / f"{name}.parquet")
    return place


def transfers(rows: int) -> Path:
    """Return a run directory with so many transfers."""
    place = _saved(TRANSFERS, "transfers")
    file = place / "transfers.parquet"
    _repeated(pl.read_parquet(file), rows, "start_s").write_parquet(file)
    return place


def dataset(rows: int) -> Path:
    """Return the dataset of a sweep with so many rows of flows."""
    found = sojourn.sweep(SCENARIO, {"link.a.delay": ["10ms"]}, "swept", jobs=1)
    file = next(Path("swept/flows").iterdir())
    _repeated(pl.read_parquet(file), rows).write_parquet(file)
    assert found.flows.height == rows
    return Path("swept")


def _saved(scenario: str, name: str) -> Path:
    return sojourn.run(scenario).save(name, report=())


def _repeated(frame: pl.DataFrame, rows: int, time: str | None = None) -> pl.DataFrame:
    """Return a frame with its rows again and again; times and counts rise."""
    grown = pl.concat([frame] * (rows // frame.height + 1)).head(rows)
    row = pl.int_range(1, rows + 1)
    counts = [name for name in frame.columns if name.endswith(("_bytes", "_packets"))]
    rising = [] if time is None else [(row * 6 / rows).alias(time), *(row.alias(c) for c in counts)]
    return grown.with_columns(*rising)


def capture(rows: int) -> Path:
    """Return a capture with so many packets: the first ones of a flow over a fast link."""
    rate = f"{rows * 12_000 // 4}bit"
    folder = Path("packets")
    sojourn.run(_FAST.replace("RATE", rate), pcapng=folder)
    (file,) = (one for one in folder.iterdir() if ".sender." in one.name)
    data = file.read_bytes()
    file.write_bytes(data[: _end_of(data, rows)])
    return file


def _end_of(data: bytes, packets: int) -> int:
    """Return where so many enhanced packet blocks of a capture end (pcapng, section 4.3)."""
    at = count = 0
    while count < packets:
        count += int.from_bytes(data[at : at + 4], "little") == 6
        at += int.from_bytes(data[at + 4 : at + 8], "little")
        assert at <= len(data), f"{count} packets"
    return at


def qlog(rows: int) -> Path:
    """Return a qlog file with so many events: those of a shorter one, several times."""
    small = Path("events")
    sojourn.run(SCENARIO, qlog=small)
    (file,) = (one for one in small.iterdir() if ".sender." in one.name)
    head, *events = file.read_text("utf-8").removesuffix("\n").split("\n")
    last = json.loads(events[-1].strip("\x1e"))["time"]
    with Path("events.sqlog").open("w", encoding="utf-8") as out:
        out.write(head + "\n")
        for number in range(rows):
            event = json.loads(events[number % len(events)].strip("\x1e"))
            event["time"] += last * (number // len(events))
            out.write("\x1e" + json.dumps(event) + "\n")
    return Path("events.sqlog")


FILES: dict[str, Callable[[int], Path]] = {
    "run": run,
    "dataset": dataset,
    "transfers": transfers,
    "capture": capture,
    "qlog": qlog,
}

if __name__ == "__main__":
    print(FILES[sys.argv[1]](int(sys.argv[2])))
