"""How does Rapid use a link alone, beside bursts and beside constant traffic?

Rapid's fluid model is that of "Impact of Cross Traffic Burstiness on the Packet-scale Paradigm"
(UNC TR11-007), with the corrections of docs/theory/rapid.md.
"""

import statistics
from dataclasses import dataclass
from typing import Any

import polars as pl
import sojourn
from tables import each, markdown

Row = dict[str, Any]

MINUTES = 3

GBIT = 1e9
WIRE = 1500 / 1448
"""Bits of the wire for each bit of payload."""


@dataclass(frozen=True)
class Cross:
    """Traffic without congestion control: its rate on the wire while it is on."""

    bps: float
    on_ms: int
    off_ms: int
    start_s: int


@dataclass(frozen=True)
class Setting:
    """A figure of the report, in milliseconds."""

    figure: str
    on: int
    off: int
    tau: int
    eta: int
    rtt: int


SETTINGS = [
    Setting("6", 100, 350, 150, 75, 125),
    Setting("8", 100, 200, 200, 175, 100),
    # The round trip of the worst phase: T_on / T (T_off - D).
    Setting("8, worst phase", 100, 200, 200, 175, 58),
]
LOAD_MBPS = 111
"""Mean rate of the bursts in both figures."""
FILTERS = ("exponential", "linear")


def measure(small: bool) -> dict[str, list[Row]]:
    """Return the tables; the small form has shorter runs and fewer cases."""
    rtts, loads = (
        ((10,), (0.3,)) if small else ((1, 10, 50, 100, 250, 400), (0.1, 0.3, 0.5, 0.7, 0.9))
    )
    kinds = [("ideal", "linear"), ("ideal", "exponential"), ("probe", "linear")]
    bursts_cases = [
        (setting, *kind)
        for setting in (SETTINGS[:1] if small else SETTINGS)
        for kind in (kinds[:1] if small else [*kinds, ("probe", "exponential")])
    ]
    alone_cases = [(1000, rtt, 2 if small else 6, name) for name in FILTERS for rtt in rtts]
    alone_cases += [] if small else [(10_000, 50, 2, "exponential")]
    constant_cases = [(load, name) for load in loads for name in FILTERS]
    return {
        "alone": each(lambda case: alone(*case), alone_cases),
        "slow_link": each(slow_link, [1, 2, 5, 10]),
        "bursts": each(lambda case: bursts(*case, 3 if small else 25), bursts_cases),
        "constant": each(lambda case: constant(*case, 4 if small else 10), constant_cases),
    }


def answer(tables: dict[str, list[Row]]) -> str:
    """Return utilisation and queue beside bursts, and the model's, as a table in Markdown."""
    rows = tables["bursts"]
    figures = {row["figure"]: row for row in rows}
    heads = (f"figure {name}: {row['rtt_ms']} ms" for name, row in figures.items())
    lines = [["estimator, filter", *heads]]

    def cell(row: Row, prefix: str = "") -> str:
        return f"{row[f'{prefix}utilisation']:.3f}, {row[f'{prefix}delay_max_ms']:.1f} ms"

    for kind in dict.fromkeys((row["estimator"], row["filter"]) for row in rows):
        cells = [cell(row) for row in rows if (row["estimator"], row["filter"]) == kind]
        lines.append([", ".join(kind), *cells])
    lines.append(["the model", *(cell(row, "model_") for row in figures.values())])
    return markdown(lines)


def simulate(
    mbps: int,
    rtt_ms: int,
    seconds: int,
    sample_ms: int,
    cross: Cross | None = None,
    **params: str,
) -> sojourn.Run:
    """Simulate one Rapid over a bottleneck with a buffer that never overflows."""
    scenario = (
        sojourn.Scenario(
            host="rfc",
            duration=f"{seconds}s",
            start_jitter="0s",
            noise="none",
            record={"interval": f"{sample_ms}ms"},
        )
        .link("bottleneck", rate=f"{mbps}Mbit", delay=f"{rtt_ms / 2}ms", buffer="unlimited")
        .link("back", delay=f"{rtt_ms / 2}ms")
        .flow(
            "f",
            control={"kind": "rapid", **params},
            path=["bottleneck"],
            back=["back"],
            host={"receive_times": True, "handshake": "none"},
        )
    )
    if cross is not None:
        scenario.flow(
            "cross",
            control="none",
            path=["bottleneck"],
            start=f"{cross.start_s}s",
            source={
                "kind": "on-off",
                "rate": f"{int(cross.bps / WIRE)}bit",
                "on": f"{cross.on_ms}ms",
                "off": f"{cross.off_ms}ms",
            },
            host={"handshake": "none"},
        )
    return sojourn.run(scenario, seed=1, jobs=1)


def loads(run: sojourn.Run, begin_s: float, end_s: float) -> pl.DataFrame:
    """Return the samples of the bottleneck in a time interval."""
    series = run.link("bottleneck").series.fill_null(0)
    return series.filter((series["t_s"] >= begin_s) & (series["t_s"] < end_s))


def longest_ms(samples: pl.DataFrame) -> float:
    """Return the greatest queueing delay of the samples."""
    return 1e3 * max(map(float, samples["queue_delay_s"]))


def carried(samples: pl.DataFrame) -> float:
    """Return the mean rate of the samples in bit/s."""
    return statistics.fmean(samples["carried_bps"])


def alone(mbps: int, rtt_ms: int, seconds: int, filter_name: str) -> Row:
    """Measure a flow alone, after the longer of four round trips and five tau.

    Five time constants leave 0.7 % of the distance.
    """
    run = simulate(mbps, rtt_ms, seconds, 10, filter=filter_name)
    ready_s = max(4 * rtt_ms / 1e3, 5 * 0.2)
    begin, rest = loads(run, ready_s, ready_s + 0.1), loads(run, ready_s, seconds + 0.1)
    return {
        "rate_mbps": mbps,
        "rtt_ms": rtt_ms,
        "filter": filter_name,
        "ready_s": ready_s,
        "first_100_ms_share": round(carried(begin) / (mbps * 1e6), 3),
        "later_share": round(carried(rest) / (mbps * 1e6), 3),
        "delay_max_ms": round(1e3 * (run.link("bottleneck").summary["queue_delay_max_s"] or 0), 2),
    }


def slow_link(mbps: int) -> Row:
    """Measure the queue of the first stream: 30 packets with a mean of 25 Mbit/s."""
    run = simulate(mbps, 50, 2, 10)
    delay_s = run.link("bottleneck").summary["queue_delay_max_s"] or 0.0
    return {"rate_mbps": mbps, "rtt_ms": 50, "delay_max_ms": round(1e3 * delay_s)}


def bursts(setting: Setting, estimator: str, filter_name: str, seconds: int) -> Row:
    """Measure a flow beside periodic bursts, from the time on at which the course is periodic.

    18 s are 40 periods of figure 6 and 60 of figure 8.
    """
    mean_bps = LOAD_MBPS * 1e6
    rate_on = mean_bps * (setting.on + setting.off) / setting.on
    run = simulate(
        1000,
        setting.rtt,
        seconds,
        10,
        Cross(rate_on, setting.on, setting.off, 1),
        tau=f"{setting.tau}ms",
        eta=f"{setting.eta}ms",
        filter=filter_name,
        estimator=estimator,
    )
    late = loads(run, min(7, seconds - 1) + 0.001, seconds + 1)
    model = sojourn.theory.rapid(
        "1Gbit",
        f"{LOAD_MBPS}Mbit",
        *(f"{value}ms" for value in (setting.on, setting.off, setting.tau, setting.eta)),
    )
    return {
        "figure": setting.figure,
        "rtt_ms": setting.rtt,
        "estimator": estimator,
        "filter": filter_name,
        "utilisation": round(carried(late) / GBIT, 3),
        "model_utilisation": round(model["utilisation"], 3),
        "delay_max_ms": round(longest_ms(late), 2),
        "model_delay_max_ms": round(1e3 * model["queue_max_bytes"] * 8 / GBIT, 2),
    }


def constant(load: float, filter_name: str, seconds: int) -> Row:
    """Measure a flow beside a constant rate, from the third second on."""
    run = simulate(1000, 50, seconds, 5, Cross(load * GBIT, 1000, 0, 0), filter=filter_name)
    available = (1 - load) * GBIT
    flow = run.flow("f").series
    estimates = [
        bps * WIRE / available for bps in flow.filter(flow["t_s"] > 3)["bandwidth_bps"].drop_nulls()
    ]
    sent = carried(loads(run, 3.001, seconds + 1)) - load * GBIT
    right = [abs(estimate - 1) <= 0.05 for estimate in estimates]
    return {
        "load": load,
        "filter": filter_name,
        "estimate_mean_share": round(statistics.fmean(estimates), 3),
        "estimates_within_5_percent_share": round(statistics.fmean(right), 2),
        "rate_share": round(sent / available, 3),
        "delay_max_third_s_ms": round(longest_ms(loads(run, 2, 3)), 1),
        "delay_max_last_s_ms": round(longest_ms(loads(run, seconds - 1, seconds)), 1),
    }
