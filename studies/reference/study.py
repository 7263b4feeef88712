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
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple, Protocol

import vivace
from inputs_media import FAST, SLOW, media
from inputs_queues import loads
from inputs_tcp import bbr, cubic, marks, vegas
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
LEAST = 1.0
"""Differences are relative to a number, but of shares to one."""


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
    tolerance: float = 0.0
    """Difference of equal numbers: of a packet, or of a kernel's coarse rates."""


LINUX = "Linux 6.12.117"


def queue(
    form: str, reference: str, inputs: Mapping[str, Input], cause: str = "", *, proof: str = ""
) -> list[Pair]:
    """Return a pair of a queue, and its proof if there is a cause."""
    pair = Pair(form, "queue", form, reference, inputs, cause)
    return proven(pair, proof) if proof else [pair]


def controller(
    name: str,
    reference: str,
    inputs: Mapping[str, Input],
    cause: str = "",
    tolerance: float = 1e-3,
) -> Pair:
    """Return a pair of a controller, whose form is the first part of its name."""
    form = name.partition("_")[0]
    return Pair(name, "controller", form, reference, inputs, cause, tolerance=tolerance)


def proven(pair: Pair, proof: str, tolerance: float = 0.0) -> list[Pair]:
    """Return a pair, and its proof: the reference with rules of the form."""
    changed = pair._replace(name=f"{pair.name}_proof", reference=f"{pair.reference}, {proof}")
    tolerance = tolerance or pair.tolerance
    return [pair, changed._replace(cause="", is_proof=True, tolerance=tolerance)]


DUALPI2 = loads(flood="drop_on_overload=false", slow="k=4 step_thresh=5ms", light="target=1ms")
PIE = loads(
    "ecn=true",
    # The reference code's updates are exact.
    "tick=0s",
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
TINS = {
    name: load._replace(is_labelled=True)
    for name, load in loads(
        "diffserv=diffserv4",
        "bandwidth=25.6Mbit",
        steady="isolation=dual-dsthost",
        bursts="isolation=dual-srchost",
        flows="ingress=true",
        scalable="isolation=flows",
    ).items()
}

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
    Pair(
        "cake_tins",
        "queue",
        "cake",
        f"{LINUX}, sch_cake.c, with a search",
        TINS,
        "a packet's time is rounded up to the nanosecond",
        is_proof=True,
    ),
    *queue(
        "red",
        f"{LINUX}, sch_red.c",
        RED,
        "average of an idle queue; random numbers",
        proof="with the paper's average",
    ),
)
CONTROLLERS = (
    *proven(
        controller(
            "cubic_linux",
            f"{LINUX}, tcp_cubic.c",
            cubic("arithmetic=linux"),
            "an exact cube root; Linux's is within 0.2 %",
        ),
        "with an exact root",
    ),
    controller(
        "vegas_linux", f"{LINUX}, tcp_vegas.c", vegas("arithmetic=linux", "slow_start=every")
    ),
    controller(
        "dctcp_linux", f"{LINUX}, tcp_dctcp.c", marks("arithmetic=linux", "window_end=linux")
    ),
    *proven(
        controller(
            "bbr",
            f"{LINUX}, tcp_bbr.c",
            bbr(),
            "PROBE_RTT begins at a tick of 4 ms; a coarse bandwidth",
        ),
        "with ticks of 1 us",
        0.03,
    ),
    *proven(
        controller(
            "bbr3",
            "google/bbr 001a430b3ddb, tcp_bbr.c",
            bbr(every_packet=True),
            "losses at each acknowledgement, the next burst in flight, gains, clock of PROBE_RTT",
            0.05,
        ),
        "with these rules of the draft",
    ),
    *proven(
        controller(
            "prague",
            "L4STeam/udp_prague e8e343533a7c, prague_cc.cpp",
            marks("alpha_init=0.0625", "d=0", scalable=True),
            "epochs of at least a smoothed round trip; growth by 1 ms of the rate",
            0.1,
        ),
        "with the draft's epochs and growth",
        0.03,
    ),
)
OPTIONS = ("reduce_jitter=true", "conditional_loss=true", "reduce_undershoot=true")
MEDIA = (
    *proven(
        controller(
            "nada",
            "cisco/ns3-rmcat adb3f8e, nada-controller.cc",
            media(SLOW),
            "mean loss interval: the open one, losses of a round trip; update within a report",
            0.01,
        ),
        "with six rules of Sojourn",
    ),
    *proven(
        controller(
            "scream",
            "EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp",
            media(FAST, "mss=1200", *OPTIONS, marks=True),
            "the draft: back-off by delay, losses within a round trip, smoothed RTT, media rate",
            0.01,
        ),
        "with twelve rules of the draft",
    ),
    *proven(
        controller(
            "gcc",
            "webrtc-mirror/webrtc 3710345e71ad, goog_cc",
            media(SLOW._replace(report_us=50_000)),
            "the draft: gains of the threshold, filter, deviation of the capacity, losses",
            0.01,
        ),
        "with twelve rules of the draft, by delay only",
    ),
)
PAIRS = (*QUEUES, *CONTROLLERS, *MEDIA)


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
        "vivace": vivace.shares(small),
    }


def answer(tables: dict[str, Rows]) -> str:
    """Return a row for each pair, and one for each proof that is not wholly equal."""
    head = ["form", "reference", "equal", "greatest difference"]
    pairs = [
        {**row, "reference": row["reference"].removeprefix(f"{LINUX}, ")}
        for row in tables["pairs"]
        if not row["is_proof"]
    ]
    names = {pair.name for pair in PAIRS if pair.is_proof}
    by_proof = {
        name: [row for row in tables["inputs"] if row["pair"] == name] for name in sorted(names)
    }
    rests = [rest(name, rows) for name, rows in by_proof.items() if lacking(rows)]
    titles = ["own rules", "unequal", "most in", "median", "greatest"]
    first = markdown([head, *([row[key] for key in head] for row in pairs)])
    return f"{first}\n\n{markdown([titles, *rests])}"


def lacking(rows: Rows) -> int:
    """Return the number of unequal rows."""
    return sum(row["rows"] - row["equal_rows"] for row in rows)


def rest(name: str, rows: Rows) -> list[str]:
    """Return how far a reference with the form's own rules still differs."""
    most = max(rows, key=lambda row: row["rows"] - row["equal_rows"])
    usual = [row["median_difference"] for row in rows if "median_difference" in row]
    return [
        f"`{name}`",
        f"{lacking(rows)} of {sum(row['rows'] for row in rows)}",
        f"{most['input']}: {lacking([most])}",
        f"{max(usual):.1%}" if usual else "",
        f"{max(row['difference'] for row in rows):.1%}",
    ]


def compared(pair: Pair, name: str, small: bool) -> Row:
    """Compare one input of a pair; `few_` columns have only the events of the small form."""
    count = FEW_EVENTS if small else EVENTS[pair.kind]
    own = SHORTENED[pair.kind](replayed(pair, name, count), count)
    other = [row for row in stored(pair.name) if row["input"] == name][: len(own)]
    assert len(own) == len(other), f"{pair.name}, {name}: run the reference anew"
    differing = unequal(pair, own, other)
    first = FEW_EVENTS // EACH[pair.kind]
    few = own[:first], other[:first]
    return {
        "pair": pair.name,
        "input": name,
        "events": count,
        "rows": len(own),
        "equal_rows": len(own) - len(differing),
        "first_unequal_row": differing[0] if differing else None,
        **DIFFERENCES[pair.kind](own, other),
        "few_equal_rows": first - len(unequal(pair, *few)),
        "few_difference": DIFFERENCES[pair.kind](*few)["difference"],
        "few_medians": medians(*few),
    }


def unequal(pair: Pair, own: Rows, other: Rows) -> list[int]:
    """Return the places of the rows that differ by more than the pair's tolerance."""
    return [
        place
        for place, (mine, its) in enumerate(zip(own, other, strict=True))
        if max(differences(mine, its))[0] > pair.tolerance
    ]


def medians(own: Rows, other: Rows) -> dict[str, float]:
    """Return the median difference of each column."""
    columns: dict[str, list[float]] = {}
    for rows in zip(own, other, strict=True):
        for value, name in differences(*rows):
            if name not in ("check", "falls", "window"):
                columns.setdefault(name, []).append(value)
    return {name: round(median(values), 6) for name, values in columns.items()}


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
    """Build the example that replays events, and return its path.

    With `--workspace` the crates below it have the features of all tests, and are not built again.
    """
    line = ["cargo", "build", "--quiet", "--message-format=json-render-diagnostics"]
    line += ["--workspace", "--example", f"replay_{kind}"]
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
    """Take each n-th state, and since the one before the means and how often the window fell."""
    columns = [name for name in output[0] if name not in ("now", "phase")]
    numbers = [{name: float(row[name] or 0) for name in columns} for row in output]
    windows = [row.get("cwnd", 0.0) for row in numbers]
    fell = [0, *(after < 0.999 * before for before, after in pairwise(windows))]
    return [
        {name: f"{value:.7g}" for name, value in (*numbers[end - 1].items(), *since.items())}
        for end in range(NTH, len(numbers) + 1, NTH)
        for since in [{**means(numbers[end - NTH : end]), "falls": sum(fell[end - NTH : end])}]
    ]


def means(block: Rows) -> Row:
    """Return the mean of each column."""
    return {f"{name}_mean": fmean(row[name] for row in block) for name in block[0]}


def differences(own: Row, other: Row) -> list[tuple[float, str]]:
    """Return the relative difference of each number that the reference has."""
    pairs = [(float(own[name]), float(other[name]), name) for name in other if name != "input"]
    return [(abs(mine - its) / max(abs(its), LEAST), name) for mine, its, name in pairs]


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
    """Return the falls of both, and the greatest relative difference of a state."""
    falls, reference = (sum(int(row["falls"]) for row in rows) for rows in (own, other))
    found = [differences(*rows) for rows in zip(own, other, strict=True)]
    states = [(value, name) for row in found for value, name in row if name != "falls"]
    most, of = max(states)
    usual = median(value for value, name in states if name == of)
    return {
        "falls": falls,
        "falls_reference": reference,
        "difference": round(most, 6),
        "of": of,
        "median_difference": round(usual, 6),
    }


EACH = {"queue": WINDOW, "controller": NTH}
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
