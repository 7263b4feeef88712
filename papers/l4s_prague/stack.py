"""The four downloads carried by a real QUIC stack, beside Sojourn's model of QUIC."""

from dataclasses import dataclass

from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn_papers import Claim, Lab
from sojourn_papers.measured import Table, Value

from .downloads import BESIDE, PUBLISHED, SCENARIO, SENDERS, flow_of, rtt_over_least_ms
from .pictures import behind_link, draw_times

MODEL = {"like": "quic", "mss": "1378B", "header": "62B"}
"""The model, with the payload of the stack's packets: 1440 bytes, minus 28 of IP and UDP, 10 of the
short header, 8 of the STREAM frame and 16 of the AEAD tag."""

COLUMNS = {
    "sender": "sender",
    "stack_s": "stack (s)",
    "model_s": "model (s)",
    "difference_percent": "difference (%)",
    "stack_losses": "stack: losses",
    "model_losses": "model: losses",
    "stack_marks": "stack: marks",
    "model_marks": "model: marks",
    "stack_rtt_over_least_ms": "stack: RTT over the least (ms)",
    "model_rtt_over_least_ms": "model: RTT over the least (ms)",
}

_WHY = {
    "unrepaired": "Holds within half the difference between the two published variants, 0.1 s. As "
    "in the model, the step marks over half of an epoch's packets without a pause, too",
    "repaired": "This variant depends on the times of single packets: with an acknowledgement for "
    "each packet, both take 4.0 s, and with a jitter of 0.2 ms on both links, the stack takes 3.48 "
    "to 3.92 s",
    "reno": "The text's stack could begin two recovery periods after one overflow, which RFC 9002 "
    "section 7.3.2 forbids, and asked for one acknowledgement in 5 packets: with 5, 6 and 8 the "
    "stack takes 3.59, 3.63 and 3.77 s",
}


@dataclass(frozen=True)
class Pair:
    """The same downloads by the stack and by the model."""

    stack: Run
    model: Run

    def times_s(self) -> tuple[float, float]:
        """Return the completion times, handshake included."""
        return _time_s(self.stack), _time_s(self.model)


def downloads(lab: Lab) -> list[Claim]:
    """Run all senders in the stack, and compare them with the text and with the model."""
    pairs = {name: _pair(lab, name) for name in (*PUBLISHED, *BESIDE)}
    lab.table(Table("Stack and model", COLUMNS, [_row(name, one) for name, one in pairs.items()]))
    _draw(lab, pairs)
    published = lab.published()
    lab.note(
        "Both transports include the handshake, a round trip, and acknowledge every second packet. "
        "Their recovery periods are those of RFC 9002; the other figures of this paper have those "
        "of the text's stack. A link without marks serves senders without ECN."
    )
    return [_claim(name, pairs[name], published[name]["completion_s"]) for name in PUBLISHED]


LIVE_COLUMNS = {
    "sender": "sender",
    "live_s": "UDP (s)",
    "virtual_s": "virtual time (s)",
    "least_s": "with jitter: least (s)",
    "most_s": "with jitter: most (s)",
    "difference_percent": "difference (%)",
    "live_marks": "UDP: marks",
    "virtual_marks": "virtual: marks",
    "live_losses": "UDP: losses",
    "virtual_losses": "virtual: losses",
    "late_p50_us": "departures late, median (us)",
    "late_p99_us": "p99 (us)",
}
# The stack over UDP and in virtual time differ by at most this.
_TOLERANCE_PERCENT = 3.0
# A live run is late by some 0.1 ms at each of the sender, the links and the receiver.
_JITTER = "200us"
_JITTERED = 32


def live_downloads(lab: Lab) -> list[Claim]:
    """Run senders in the stack over UDP, through emulated links, and in virtual time."""
    rows, claims = [], []
    for name in lab.pick((*PUBLISHED, *BESIDE), ("repaired",)):
        changes = _stack_changes(lab, name)
        pair = Pair(lab.live(SCENARIO, changes), lab.run(SCENARIO, changes))
        jittered = _jittered_s(lab, changes)
        rows.append(_live_row(name, pair, jittered))
        claims.append(_live_claim(name, pair, jittered))
    lab.note(
        f"The columns with jitter are of {_JITTERED} runs in virtual time whose links "
        f"delay each packet by up to {_JITTER}. A sender whose time depends on single packets has "
        "a range there."
    )
    lab.table(Table("The stack over UDP and in virtual time", LIVE_COLUMNS, rows))
    return claims


def _jittered_s(lab: Lab, changes: dict[str, object]) -> tuple[float, float]:
    """Return the least and the greatest time in virtual time with jitter."""
    jitter = {f"link.{link}.jitter": _JITTER for link in ("down", "up")}
    found = lab.run(SCENARIO, {**changes, **jitter}, runs=_JITTERED)
    times = [_completion_s(run["flows"][0]["completion_s"]) for run in found.runs]
    return min(times), max(times)


def _live_row(name: str, pair: Pair, jittered: tuple[float, float]) -> dict[str, Value]:
    (live_s, virtual_s), live = pair.times_s(), pair.stack.runs[0]["live"]
    late = live["departures"][flow_of(pair.stack)["name"]]
    row = dict[str, Value]()
    row |= {"sender": SENDERS[name].title, "live_s": live_s, "virtual_s": virtual_s}
    row["least_s"], row["most_s"] = jittered
    row["difference_percent"] = 100 * (live_s / virtual_s - 1)
    for which, run in (("live", pair.stack), ("virtual", pair.model)):
        row[f"{which}_marks"] = flow_of(run)["marked_packets"]
        row[f"{which}_losses"] = flow_of(run)["dropped_packets"]
    for which in ("p50", "p99"):
        seconds = late[f"lateness_{which}_s"]  # type: ignore[literal-required]
        row[f"late_{which}_us"] = None if seconds is None else 1e6 * seconds
    return row


def _live_claim(name: str, pair: Pair, jittered: tuple[float, float]) -> Claim:
    live_s, virtual_s = pair.times_s()
    tolerance = _TOLERANCE_PERCENT / 100
    least_s, most_s = min(virtual_s, jittered[0]), max(virtual_s, jittered[1])
    holds = least_s * (1 - tolerance) <= live_s <= most_s * (1 + tolerance)
    shown = f"{virtual_s:.2f}"
    why = f"The other value is that of virtual time; they agree within {_TOLERANCE_PERCENT:.0f} %"
    if abs(live_s / virtual_s - 1) > tolerance:
        shown = f"{least_s:.2f} to {most_s:.2f}"
        why = (
            "The other values are the range of virtual time, whose greatest ones come from jitter "
            f"of {_JITTER} on both links. The time of this sender depends on single packets"
        )
    title = f"{SENDERS[name].title}: time for four files over UDP"
    return Claim(title, shown, live_s, "s", holds, why)


def _stack_changes(lab: Lab, name: str) -> dict[str, object]:
    real = {"kind": lab.stack, "mtu": "1440B"}
    return {**_changes(name), "flow.files.stack": real}


def _changes(name: str) -> dict[str, object]:
    sender = SENDERS[name]
    changes: dict[str, object] = {"flow.files.control": sender.control}
    if not sender.ecn:
        changes["link.down.queue"] = "droptail"
    return changes


def _pair(lab: Lab, name: str) -> Pair:
    return Pair(
        lab.run(SCENARIO, _stack_changes(lab, name)),
        lab.run(SCENARIO, {**_changes(name), "flow.files.host": MODEL}),
    )


def _time_s(run: Run) -> float:
    return _completion_s(flow_of(run)["completion_s"])


def _completion_s(done: float | None) -> float:
    if done is None:
        raise ValueError("the four files did not arrive in six seconds")
    return done


def _row(name: str, pair: Pair) -> dict[str, Value]:
    (stack_s, model_s), row = pair.times_s(), dict[str, Value]()
    row |= {"sender": SENDERS[name].title, "stack_s": stack_s, "model_s": model_s}
    row["difference_percent"] = 100 * (stack_s / model_s - 1)
    for which, run in (("stack", pair.stack), ("model", pair.model)):
        row[f"{which}_losses"] = flow_of(run)["dropped_packets"]
        row[f"{which}_marks"] = flow_of(run)["marked_packets"]
        row[f"{which}_rtt_over_least_ms"] = rtt_over_least_ms(run)
    return row


def _claim(name: str, pair: Pair, published: float | list[float]) -> Claim:
    stack_s, model_s = pair.times_s()
    if isinstance(published, list):
        first, last = published
        holds, shown = first <= stack_s <= last, f"{first} to {last:.0f}"
    elif name == "repaired":
        holds, shown = stack_s < published, f"under {published}"
    else:
        holds, shown = abs(stack_s - published) <= 0.1, f"{published}"
    why = f"The model takes {model_s:.2f} s with packets of the same size. {_WHY[name]}"
    return Claim(f"{SENDERS[name].title}: time for four files", shown, stack_s, "s", holds, why)


def _draw(lab: Lab, pairs: dict[str, Pair]) -> None:
    layers = []
    for name, colour in zip(PUBLISHED, chart.COLOURS, strict=False):
        pair = pairs[name]
        layers.append(chart.line(f"{name}, {lab.stack}", behind_link(pair.stack), colour))
        model = behind_link(pair.model)
        layers.append(chart.line(f"{name}, model", model, colour, dash=(4, 3)))
    draw_times(lab, "dashed: the model", layers)
