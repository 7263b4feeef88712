"""How does BBR version 3 differ from version 1, and after which drops does its estimate stay?

`draft-cases.json` has the 22 test cases of draft-ietf-ccwg-bbr-06, appendix A, and their tests.
"""

import statistics
from typing import Any

import sojourn
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 4

VERSIONS = ("bbr", "bbr3")
RTT_MS = 40
RUNS = 9
"""Runs behind a median: beside CUBIC, and under random loss, one loss decides several seconds."""
ROUND_TRIPS = 63
"""Round trips of version 3 between two probes on this path."""

RTTS_MS = (10, 20, 40, 80, 160, 320)
BUFFERS_BDP = (2, 4, 8, None)
"""Buffers in delay products of the rate before the drop; None is unlimited."""
LEFT = (0.6, 0.5, 0.4, 0.33, 0.28, 0.25, 0.2, 0.1)
"""Shares of the rate that a drop leaves."""
DROPS = 8
"""Drops behind a share: at another time of BBR's cycle each."""
SEEDS = 24
"""Seeds behind each of the drops from 100 Mbit/s."""


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has shorter runs, and one for each median."""
    seconds, runs = (5, 1) if small else (60, RUNS)
    buffers = [(control, bdps) for bdps in (1, 4) for control in VERSIONS]
    losses = [(control, loss) for loss in (0.005, 0.01, 0.02) for control in VERSIONS]
    return {
        "beside_cubic": each(lambda case: beside_cubic(*case, seconds, runs), buffers),
        "alone": each(lambda case: alone(*case, seconds), buffers),
        "random_loss": each(lambda case: random_loss(*case, seconds, runs), losses),
        "drop": each(lambda case: drop(*case), drops(small)),
        "seeds": each(lambda left: seeds(left, small), (0.33, 0.28, 0.25, 0.2, 0.1)),
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
    for loss in (0.01, 0.02):
        add(
            f"{100 * loss:g} % lost at random: Mbit/s",
            "random_loss",
            "{goodput_mbps:.1f}",
            loss=loss,
        )
    return f"{markdown(lines)}\n\n{locks(tables['drop'])}"


def locks(rows: list[Row]) -> str:
    """Return the greatest shares of the rate at which all drops lock, and at which one does."""
    buffers = ["unlimited" if bdp is None else f"{bdp} BDP" for bdp in BUFFERS_BDP]
    lines = [["round trip", *buffers]]
    for rtt_ms in RTTS_MS:
        cells = [
            [row for row in rows if (row["rtt_ms"], row["buffer_bdp"]) == (rtt_ms, bdp)]
            for bdp in BUFFERS_BDP
        ]
        lines.append([f"{rtt_ms} ms", *(locking(cell) for cell in cells)])
    return markdown(lines)


def locking(rows: list[Row]) -> str:
    """Return the greatest share that always locks, and the greatest that ever does."""
    always = [row["left"] for row in rows if row["locked"] == row["drops"]]
    ever = [row["left"] for row in rows if row["locked"]]
    if not ever:
        return "–"
    return f"{100 * max(always, default=0):.0f}, {100 * max(ever):.0f} %"


def drops(small: bool) -> list[tuple[int, int | None, float, int]]:
    """Return round trip, buffer, share of the rate that is left, and the number of drops."""
    if small:
        return [(40, None, 0.25, 1)]
    return [
        (rtt_ms, bdp, left, DROPS) for rtt_ms in RTTS_MS for bdp in BUFFERS_BDP for left in LEFT
    ]


def drop(rtt_ms: int, bdp: int | None, left: float, number: int) -> Row:
    """Count the drops of 50 Mbit/s after which the estimate is still too high a minute later.

    The estimate of a flow that has recovered exceeds the rate by some percent; one that has not
    keeps the rate before the drop, at least 1.67 times the new one. `repaired` is their number
    with that filter of the bandwidth.
    """

    def locked(filter_: str) -> int:
        control = {"kind": "bbr3", "max_bw_filter": filter_}
        return sum(
            is_locked(control, rtt_ms, bdp, left, 20 + 0.7 * place) for place in range(number)
        )

    return {
        "rtt_ms": rtt_ms,
        "buffer_bdp": bdp,
        "left": left,
        "drops": number,
        **{
            key: locked(filter_) for key, filter_ in (("locked", "draft"), ("repaired", "repaired"))
        },
    }


def seeds(left: float, small: bool) -> Row:
    """Count the seeds that lock at each time of a drop from 100 Mbit/s, 40 ms, unlimited buffer."""
    times, count = (1, 1) if small else (DROPS, SEEDS)
    control = {"kind": "bbr3"}
    locked = [
        sum(
            is_locked(control, RTT_MS, None, left, 20 + 0.7 * place, mbit=100, seed=1 + seed)
            for seed in range(count)
        )
        for place in range(times)
    ]
    return {
        "left": left,
        "drops": times * count,
        "locked": sum(locked),
        "least_of_a_time": min(locked),
        "most_of_a_time": max(locked),
    }


def is_locked(
    control: dict[str, str],
    rtt_ms: int,
    bdp: int | None,
    left: float,
    at_s: float,
    *,
    mbit: int = 50,
    seed: int = 1,
) -> bool:
    """Whether the estimate of the bandwidth outlasts a drop by a minute."""
    rate = {
        "start": f"{mbit}Mbit",
        "steps": [{"at": f"{at_s}s", "rate": f"{mbit * left}Mbit"}],
    }
    buffer = "unlimited" if bdp is None else f"{bdp * rtt_ms * mbit * 1000 // 8}B"
    dropping = (
        sojourn.Scenario(host="rfc", duration=f"{at_s + 60}s", record={"interval": "1s"})
        .link("a", rate=rate, delay=f"{rtt_ms / 2}ms", buffer=buffer)
        .link("back", delay=f"{rtt_ms / 2}ms")
        .flow("one", control=control, path=["a"], back=["back"])
    )
    estimate_bps = sojourn.run(dropping, seed=seed).flows["bandwidth_bps"][-1]
    return bool(estimate_bps > 1.3e6 * mbit * left)


def scenario(control: str, bdps: int, seconds: float, **link: object) -> sojourn.Scenario:
    """Return one flow over 50 Mbit/s and 40 ms, with a buffer of `bdps` delay products."""
    own: dict[str, Any] = {"buffer": f"{RTT_MS * bdps}ms", **link}
    return (
        sojourn.Scenario(host="rfc", duration=f"{seconds}s", record={"interval": "0s"})
        .link("a", rate="50Mbit", delay="20ms", **own)
        .link("back", delay="20ms")
        .flow("one", control=control, path=["a"], back=["back"], host={"handshake": "none"})
    )


def beside_cubic(control: str, bdps: int, seconds: float, runs: int) -> Row:
    """Measure a flow beside one CUBIC: medians of all runs."""
    pair = scenario(control, bdps, seconds).flow(
        "cubic", control="cubic", path=["a"], back=["back"], host={"handshake": "none"}
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
