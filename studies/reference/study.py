"""Does a controller or a queue decide as the code that is deployed?

Generated events pass through Sojourn's form and, once, through the reference code. `data` has the
outputs of that code, as numbers: for a queue the fates of packets in windows of events, for a
controller its state after each n-th event. The reference code itself is not part of Sojourn.

`PYTHONPATH=studies python studies/reference/study.py PAIR INPUT` prints events. With PAIR alone it
prints the inputs and their settings; with `--store FOLDER` it writes `data/PAIR.csv` from the
reference's outputs in FOLDER, one file `INPUT.csv` for each input.
"""

import argparse
import csv
import functools
import json
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from inputs_queues import loads
from tables import each, markdown

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]

Row = dict[str, Any]
Rows = list[Row]

MINUTES = 2
NEEDS = ("cargo",)

EVENTS = {"queue": 90_000, "controller": 30_000}
FEW_EVENTS = 6_000
# A window of a queue's events has a row in `data`, and each n-th event of a controller.
WINDOW, NTH = 750, 200


class Input(Protocol):
    """A generator of events as CSV, and the settings of the form."""

    settings: tuple[str, ...]

    def events(self, count: int) -> Iterator[str]:
        """Yield the columns and so many events."""


class Pair(NamedTuple):
    """A form of Sojourn and the code beside which it runs."""

    name: str
    kind: str
    """`queue` or `controller`: the crate's example replays the events."""
    form: str
    reference: str
    """Repository, revision and file."""
    inputs: Mapping[str, Input]
    cause: str
    """Which rule differs."""
    is_proof: bool = False
    """Whether the reference has the form's own rule there: the rest must be equal."""


LINUX = "Linux 6.12.117"


def queue(
    form: str, reference: str, inputs: Mapping[str, Input], cause: str = "", *, proof: str = ""
) -> list[Pair]:
    """Return a pair of a queue, and its proof if there is a cause."""
    pair = Pair(form, "queue", form, reference, inputs, cause)
    changed = pair._replace(name=f"{form}_proof", reference=f"{pair.reference}, {proof}")
    return [pair, changed._replace(cause="", is_proof=True)] if proof else [pair]


DUALPI2 = loads(flood="drop_on_overload=false", slow="k=4 step_thresh=5ms", light="target=1ms")
PIE = loads(
    "ecn=true",
    bursts="bytemode=true",
    light="dq_rate_estimator=true",
    slow="dq_rate_estimator=true",
)
RED = {
    name: load._replace(sizes=(1514, 1514))
    for name, load in loads("ecn=true", "unit=bytes", "w_q=0.001953125", "bandwidth=40Mbit").items()
}
SHAPED = "bandwidth=25Mbit"
CAKE = loads("diffserv=besteffort", overload=SHAPED, bursts=SHAPED, flows=f"{SHAPED} ingress=true")

QUEUES = (
    *queue("dualpi2_linux", "torvalds/linux 92b9c2b7a88c, sch_dualpi2.c", DUALPI2),
    *queue("fq_codel", f"{LINUX}, sch_fq_codel.c", loads(light="ecn=false", slow="flows=16")),
    *queue("pie_linux", f"{LINUX}, sch_pie.c", PIE),
    *queue(
        "codel",
        f"{LINUX}, sch_codel.c",
        loads("ecn=true", slow="ce_threshold=2ms"),
        "RFC 8289: count, first drop, square root, clock",
        proof="with these rules",
    ),
    *queue(
        "cake",
        f"{LINUX}, sch_cake.c",
        CAKE,
        "the longest queue of a full buffer",
        proof="with a search",
    ),
    *queue(
        "red",
        f"{LINUX}, sch_red.c",
        RED,
        "average of an idle queue; random numbers",
        proof="with the paper's average",
    ),
)
PAIRS = (*QUEUES,)


def measure(small: bool) -> dict[str, Rows]:
    """Replay all inputs of all pairs, and compare the outputs with those of `data`."""
    cases = [(pair, name) for pair in PAIRS for name in pair.inputs]
    for kind in {pair.kind for pair in PAIRS}:
        program(kind)
    inputs = each(lambda case: compared(*case, small), cases)
    return {
        "pairs": [
            summary(pair, [row for row in inputs if row["pair"] == pair.name]) for pair in PAIRS
        ],
        "inputs": inputs,
    }


def answer(tables: dict[str, Rows]) -> str:
    """Return a row for each pair."""
    head = ["form", "reference", "inputs", "events", "equal", "greatest difference", "cause"]
    rows = [row for row in tables["pairs"] if not row["is_proof"]]
    return markdown([head, *([row[key] for key in head] for row in rows)])


def compared(pair: Pair, name: str, small: bool) -> Row:
    """Compare one input of a pair."""
    count = FEW_EVENTS if small else EVENTS[pair.kind]
    own = SHORTENED[pair.kind](replayed(pair, name, count), count)
    other = [row for row in stored(pair.name) if row["input"] == name][: len(own)]
    assert len(own) == len(other), f"{pair.name}, {name}: run the reference anew"
    differing = [place for place, rows in enumerate(zip(own, other, strict=True)) if unequal(*rows)]
    return {
        "pair": pair.name,
        "input": name,
        "events": count,
        "rows": len(own),
        "equal_rows": len(own) - len(differing),
        "first_unequal_row": differing[0] if differing else None,
        **DIFFERENCES[pair.kind](own, other),
    }


def summary(pair: Pair, inputs: Rows) -> Row:
    """Sum up the inputs of a pair."""
    rows, equal = (sum(row[key] for row in inputs) for key in ("rows", "equal_rows"))
    worst = max(inputs, key=lambda row: row["difference"])
    shown = f"{worst['difference']:.2g} ({worst['of']}, {worst['input']})"
    return {
        "form": f"`{pair.form}`",
        "reference": pair.reference,
        "inputs": len(inputs),
        "events": sum(row["events"] for row in inputs),
        "equal": "all" if equal == rows else f"{equal} of {rows}",
        "greatest difference": shown if worst["difference"] else "0",
        "cause": pair.cause,
        "is_proof": pair.is_proof,
    }


def replayed(pair: Pair, name: str, count: int) -> Rows:
    """Return the output of Sojourn's form."""
    given = pair.inputs[name]
    done = subprocess.run(
        [program(pair.kind), pair.form, *given.settings],
        input="\n".join(given.events(count)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return list(csv.DictReader(done.stdout.splitlines()))


@functools.cache
def program(kind: str) -> str:
    """Build the example that replays events, and return its path."""
    line = ["cargo", "build", "--quiet", "--message-format=json-render-diagnostics"]
    line += ["-p", {"queue": "sojourn-queue", "controller": "sojourn-cc"}[kind]]
    line += ["--example", f"replay_{kind}"]
    done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    built = [json.loads(message).get("executable") for message in done.stdout.splitlines()]
    return next(path for path in built if path)


def fates(output: Rows, count: int) -> Rows:
    """Count the fates of packets in windows of events, with a checksum of each fate."""
    windows: list[Rows] = [[] for _ in range(count // WINDOW)]
    for row in output:
        windows[int(row["event"]) // WINDOW].append(row)
    return [
        {"window": place, **counts(window), "check": checksum(window)}
        for place, window in enumerate(windows)
    ]


def counts(window: Rows) -> Row:
    """Count the packets that were delivered, dropped, and delivered with CE."""
    fields = [row["ecn"] for row in window]
    dropped = fields.count("")
    return {"delivered": len(fields) - dropped, "dropped": dropped, "marked": fields.count("3")}


def checksum(window: Rows) -> int:
    """Return the CRC-32 of all fates."""
    text = "".join(f"{row['event']},{row['packet']},{row['ecn']}\n" for row in window)
    return zlib.crc32(text.encode())


def states(output: Rows, _count: int) -> Rows:
    """Take each n-th state of a controller."""
    return output[NTH - 1 :: NTH]


def unequal(own: Row, other: Row) -> bool:
    """Whether two rows have different numbers."""
    return any(float(value) != float(other[name]) for name, value in own.items())


def difference_of_fates(own: Rows, other: Rows) -> Row:
    """Return the sums of both, and the greatest relative difference of a sum."""
    sums: Row = {}
    found = []
    for name in ("delivered", "dropped", "marked"):
        mine, its = (sum(int(row[name]) for row in rows) for rows in (own, other))
        sums |= {name: mine, f"{name}_reference": its}
        found.append((abs(mine - its) / max(its, 100), name))
    most, of = max(found)
    return {**sums, "difference": round(most, 6), "of": of}


def difference_of_states(own: Rows, other: Rows) -> Row:
    """Return the greatest relative difference of a state."""
    found = [
        (abs(float(mine[name]) - float(its[name])) / max(abs(float(its[name])), 1e-9), name)
        for mine, its in zip(own, other, strict=True)
        for name in mine
    ]
    most, of = max(found)
    return {"difference": round(most, 9), "of": of}


SHORTENED = {"queue": fates, "controller": states}
DIFFERENCES = {"queue": difference_of_fates, "controller": difference_of_states}


def stored(name: str) -> Rows:
    """Read the outputs of the reference."""
    with (FOLDER / "data" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def store(pair: Pair, outputs: Path) -> None:
    """Write the file of a pair from the reference's outputs."""
    rows: Rows = []
    for name in pair.inputs:
        with (outputs / f"{name}.csv").open() as file:
            short = SHORTENED[pair.kind](list(csv.DictReader(file)), EVENTS[pair.kind])
        rows += [{"input": name, **row} for row in short]
    with (FOLDER / "data" / f"{pair.name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def printed(lines: Iterable[str]) -> None:
    """Print lines."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def main() -> None:
    """Print the events of an input, or store the outputs of a reference."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("pair", choices=[pair.name for pair in PAIRS])
    options.add_argument("input", nargs="?", help="print the events of this input")
    options.add_argument("--store", type=Path, metavar="FOLDER", help="read outputs from FOLDER")
    given = options.parse_args()
    pair = next(one for one in PAIRS if one.name == given.pair)
    if given.store:
        store(pair, given.store)
    elif given.input:
        printed(pair.inputs[given.input].events(EVENTS[pair.kind]))
    else:
        printed(f"{name}: {' '.join(one.settings)}" for name, one in pair.inputs.items())


if __name__ == "__main__":
    main()
