"""Does `sojourn explain` find the path of real hosts, and does its best cure hold there?

Each case is a live run over a path of known capacity, delay, buffer and queue, whose sender's
capture is explained. The best cure is then run on real hosts over the twin's path.
"""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import sojourn
from tables import markdown

MINUTES = 6
NEEDS = ("root",)
# A run of two seconds may show no capacity, no loss and no twin.
NULL_WHEN_SMALL = tuple(
    f"cases.{column}"
    for column in (
        "capacity_mbps",
        "base_rtt_ms",
        "buffer_kb",
        "named",
        "rtt_error",
        "goodput_error",
        "loss_error",
        "cure",
        "predicted_ms",
        "measured_ms",
    )
)

Row = dict[str, Any]
Stack = Literal["kernel", "udp"]


@dataclass(frozen=True)
class Case:
    """One live run."""

    controller: str
    stack: Stack
    rate_mbps: float
    rtt_ms: float
    buffer_kb: float
    queue: str = "droptail"


def cases(small: bool) -> Iterator[Case]:
    """Yield controllers on each kind of host, over two paths."""
    if small:
        yield Case("cubic", "kernel", 20, 20, 100)
        return
    for controller in ("reno", "cubic", "bbr", "lola"):
        yield Case(controller, "kernel", 20, 30, 150)
    yield Case("dctcp", "kernel", 50, 20, 125, "codel")
    for controller in ("cubic", "bbr"):
        yield Case(controller, "udp", 20, 30, 150)
    yield Case("reno", "udp", 50, 20, 125)


def scenario(case: Case, duration_s: float) -> sojourn.Scenario:
    """Return the scenario of a case: a flow of much data, over a path in two directions."""
    queue: Any = case.queue
    if case.controller == "dctcp":
        queue = {"kind": case.queue, "ecn": True}
    half = f"{case.rtt_ms / 2:g}ms"
    flow: dict[str, Any] = {"control": case.controller, "path": ["up"], "back": ["down"]}
    return (
        sojourn.Scenario(title="A path to find", duration=f"{duration_s:g}s")
        .link(
            "up",
            rate=f"{case.rate_mbps:g}Mbit",
            delay=half,
            buffer=f"{case.buffer_kb:g}kB",
            queue=queue,
        )
        .link("down", delay=half)
        .flow("upload", **flow)
    )


def measure(small: bool) -> dict[str, list[Row]]:
    """Return a row for each case; one after the other, since they are timed."""
    return {"cases": [measured(case, 2 if small else 20) for case in cases(small)]}


def measured(case: Case, duration_s: float) -> Row:
    """Run a case live, explain its capture, and try the best cure on real hosts."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "packets"
        sojourn.live(scenario(case, duration_s), stack=case.stack, pcapng=place)
        (capture,) = place.glob("*.sender.pcapng")
        found = sojourn.explain(capture)
    path, fit = found["path"], found["fit"] or {}
    rates = [piece["rate_bps"] for piece in path["capacity"] if piece["rate_bps"]]
    flow = found["flows"][0] if found["flows"] else {}
    row: Row = {
        "controller": case.controller,
        "hosts": case.stack,
        "rate_mbps": case.rate_mbps,
        "rtt_ms": case.rtt_ms,
        "true_buffer_kb": case.buffer_kb,
        "true_queue": case.queue,
        "capacity_mbps": _in(rates[0], 1e6) if rates else None,
        "base_rtt_ms": _in(path["base_rtt_s"], 1e-3),
        "buffer_kb": _in(path["buffer_bytes"], 1e3),
        "queue": path["queue"]["kind"],
        "named": flow.get("controller", {}).get("kind"),
        "is_sure": flow.get("controller", {}).get("sure"),
        "rtt_error": _in(fit.get("rtt"), 1),
        "goodput_error": _in(fit.get("goodput"), 1),
        "loss_error": _loss_error(fit),
        "is_good": bool(fit.get("good")),
    }
    return row | cured(found, case.stack)


def cured(found: Row, stack: Stack) -> Row:
    """Run the best cure that the hosts have on real hosts, over the twin's path."""
    for cure in (one for one in found["cures"][1:] if one["gain_s"] > 0):
        # The kernel has not all controllers.
        with suppress(sojourn.LiveError):
            run = sojourn.live(found["twin"], set=cure["set"], stack=stack)
            (flow,) = run.summary["runs"][0]["flows"]
            base = found["flows"][0]["base_rtt_s"]
            delay = None if flow["rtt_p50_s"] is None else flow["rtt_p50_s"] - base
            return {
                "cure": cure["name"],
                "predicted_ms": _in(cure["delay_p50_s"]["median"], 1e-3),
                "measured_ms": _in(delay, 1e-3),
            }
    return {"cure": None, "predicted_ms": None, "measured_ms": None}


def _loss_error(fit: Row) -> float | None:
    if not fit or not fit["losses"]:
        return None
    return _in(abs(fit["twin_losses"] / fit["losses"] - 1), 1)


def _in(value: float | None, unit: float) -> float | None:
    return None if value is None else round(value / unit, 4)


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the shares of the cases that are right, by hosts and links."""
    head = ["hosts", "cases", "capacity 2 %", "base RTT 2 ms or 4 %", "buffer 20 %"]
    head += ["controller", "twin: RTT 5 %, goodput 2 %, losses 20 %", "cure 20 % or 2 ms"]
    lines: list[list[object]] = [head]
    for kind in sorted({row["hosts"] for row in tables["cases"]}):
        own = [row for row in tables["cases"] if row["hosts"] == kind]
        lines.append([kind, len(own), *(sum(map(one, own)) for one in CHECKS)])
    return markdown(lines) + f"\n\nMedian error of the capacity: {_capacity_error(tables):.2f} %."


def _capacity_error(tables: dict[str, list[Row]]) -> float:
    known = [row for row in tables["cases"] if row["capacity_mbps"]]
    return median(100 * abs(row["capacity_mbps"] / row["rate_mbps"] - 1) for row in known)


def is_near(found: float | None, true: float, share: float, least: float = 0) -> bool:
    """Return whether a figure is right within a share of the true one, or a least difference."""
    return found is not None and abs(found - true) <= max(share * true, least)


def is_twin(row: Row) -> bool:
    """Return whether the twin behaves as the observation."""
    rtt, goodput, losses = row["rtt_error"], row["goodput_error"], row["loss_error"]
    has_rtt = rtt is not None and (rtt <= 0.05 or rtt * row["rtt_ms"] <= 1)
    return has_rtt and goodput <= 0.02 and (losses is None or losses <= 0.2)


# Twice the tolerances of simulated captures, since hosts have noise.
CHECKS = (
    lambda row: is_near(row["capacity_mbps"], row["rate_mbps"], 0.02),
    lambda row: is_near(row["base_rtt_ms"], row["rtt_ms"], 0.04, 2),
    lambda row: is_near(row["buffer_kb"], row["true_buffer_kb"], 0.2),
    lambda row: row["named"] == row["controller"],
    is_twin,
    lambda row: (
        row["measured_ms"] is not None and is_near(row["measured_ms"], row["predicted_ms"], 0.2, 2)
    ),
)
