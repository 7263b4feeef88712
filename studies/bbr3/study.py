"""How does BBR version 3 differ from version 1, beside CUBIC, alone and under random loss?

`draft-cases.json` has the 22 test cases of draft-ietf-ccwg-bbr-06, appendix A, and their tests.
"""

import statistics
from typing import Any

import sojourn
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 0.5

VERSIONS = ("bbr", "bbr3")
RTT_MS = 40
RUNS = 9
"""Runs behind a median: beside CUBIC, and under random loss, one loss decides several seconds."""
ROUND_TRIPS = 63
"""Round trips of version 3 between two probes on this path."""


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has shorter runs, and one for each median."""
    seconds, runs = (5, 1) if small else (60, RUNS)
    buffers = [(control, bdps) for bdps in (1, 4) for control in VERSIONS]
    losses = [(control, loss) for loss in (0.005, 0.01, 0.02) for control in VERSIONS]
    return {
        "beside_cubic": each(lambda case: beside_cubic(*case, seconds, runs), buffers),
        "alone": each(lambda case: alone(*case, seconds), buffers),
        "random_loss": each(lambda case: random_loss(*case, seconds, runs), losses),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return the two versions side by side as a table in Markdown."""
    lines = [["over a minute", *VERSIONS]]

    def add(what: str, table: str, form: str, **where: float) -> None:
        rows = [row for row in tables[table] if where.items() <= row.items()]
        by_control = {row["control"]: row for row in rows}
        lines.append([what, *(form.format(**by_control[version]) for version in VERSIONS)])

    for bdps in (1, 4):
        what = f"beside CUBIC, {bdps} BDP: its Mbit/s, CUBIC's"
        add(what, "beside_cubic", "{goodput_mbps:.1f}, {cubic_mbps:.1f}", buffer_bdp=bdps)
    delays = "{delay_p50_ms:.1f}, {delay_p99_ms:.1f}, {delay_max_ms:.1f}"
    add("alone, 4 BDP: Mbit/s", "alone", "{goodput_mbps:.1f}", buffer_bdp=4)
    add("its delay in ms: median, 99 %, greatest", "alone", delays, buffer_bdp=4)
    add("alone, 1 BDP: packets lost", "alone", "{lost_share:.3%}", buffer_bdp=1)
    for loss in (0.005, 0.01, 0.02):
        add(
            f"{100 * loss:g} % lost at random: Mbit/s",
            "random_loss",
            "{goodput_mbps:.1f}",
            loss=loss,
        )
    return markdown(lines)


def scenario(control: str, bdps: int, seconds: float, **link: object) -> sojourn.Scenario:
    """Return one flow over 50 Mbit/s and 40 ms, with a buffer of `bdps` delay products."""
    own: dict[str, Any] = {"buffer": f"{RTT_MS * bdps}ms", **link}
    return (
        sojourn.Scenario(duration=f"{seconds}s", record={"interval": "0s"})
        .link("a", rate="50Mbit", delay="20ms", **own)
        .link("back", delay="20ms")
        .flow("one", control=control, path=["a"], back=["back"], transport={"handshake": "none"})
    )


def beside_cubic(control: str, bdps: int, seconds: float, runs: int) -> Row:
    """Measure a flow beside one CUBIC: medians of all runs."""
    pair = scenario(control, bdps, seconds).flow(
        "cubic", control="cubic", path=["a"], back=["back"], transport={"handshake": "none"}
    )
    done = sojourn.run(pair, seed=1, runs=runs, jobs=1)
    one, cubic = (
        statistics.median(
            done.flow(name, seed=seed + 1).summary["goodput_bps"] for seed in range(runs)
        )
        for name in ("one", "cubic")
    )
    dropped = statistics.median(run["links"][0]["dropped_packets"] for run in done.runs)
    return {
        "control": control,
        "buffer_bdp": bdps,
        "goodput_mbps": round(one / 1e6, 1),
        "cubic_mbps": round(cubic / 1e6, 1),
        "dropped_packets": round(dropped),
    }


def alone(control: str, bdps: int, seconds: float) -> Row:
    """Measure a flow alone: one run."""
    run = sojourn.run(scenario(control, bdps, seconds)).runs[0]
    link, flow = run["links"][0], run["flows"][0]
    return {
        "control": control,
        "buffer_bdp": bdps,
        "goodput_mbps": round(flow["goodput_bps"] / 1e6, 1),
        "delay_p50_ms": milliseconds(link["queue_delay_p50_s"]),
        "delay_p99_ms": milliseconds(link["queue_delay_p99_s"]),
        "delay_max_ms": milliseconds(link["queue_delay_max_s"]),
        "lost_share": round(flow["dropped_packets"] / flow["sent_packets"], 5),
    }


def milliseconds(delay_s: float | None) -> float:
    """Return a delay in the unit of its column."""
    return round(1e3 * (delay_s or 0.0), 1)


def random_loss(control: str, loss: float, seconds: float, runs: int) -> Row:
    """Measure a flow that loses this share of its packets at random: the median of all runs.

    Between two probes, each round trip of version 3 reduces the rate by its loss. `kept_share` is
    the mean of the rate over a cycle by this model: (1 - (1-p)^63) / 63p.
    """
    done = sojourn.run(scenario(control, 4, seconds, loss=loss), seed=1, runs=runs, jobs=1)
    goodput = statistics.median(run["flows"][0]["goodput_bps"] for run in done.runs)
    kept = (1 - (1 - loss) ** ROUND_TRIPS) / (ROUND_TRIPS * loss)
    return {
        "control": control,
        "loss": loss,
        "goodput_mbps": round(goodput / 1e6, 1),
        "kept_share": round(kept, 2) if control == "bbr3" else None,
    }
