"""The figures at 100 Mbit/s with LoLa in the Linux kernel, beside simulations of the same runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl
from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn.sweep.matrix.measure import jain
from sojourn_papers import Claim, Lab, Table
from sojourn_papers.measured import Value

from .eighteen_flows import EVERY_S, FIRST_STOP_S
from .eighteen_flows import FLOWS as EIGHTEEN
from .measure import Q_TARGET_MS, between, goodput_bps
from .testbed import FLOWS, LOOKS, NAMES, SECOND_S
from .two_flows import TIME, goodput, rtt

RATE_BPS = 100e6
RATE = {"link.switch.rate": "100Mbit"}
BASE_RTTS_MS = (5, 21, 61, 101)
# The kernel's TCP: its bursts, and the acknowledgements that its receiver does not delay.
HOST = "linux-6.18"
Rtts = tuple[float, float]
Course = Callable[[pl.DataFrame], list[tuple[float, float]]]
"""A flow's samples as points over time."""


@dataclass(frozen=True)
class Part:
    """The time of a run that is measured: all flows have started, none has stopped."""

    begin_s: float
    end_s: float

    @property
    def last_s(self) -> float:
        """The start of the last third, in which the shares are measured."""
        return self.end_s - (self.end_s - self.begin_s) / 3


@dataclass(frozen=True)
class One:
    """A run, live or simulated."""

    run: Run
    flows: Sequence[str]
    part: Part

    def series(self, flow: str) -> pl.DataFrame:
        """Return a flow's samples."""
        return self.run.flow(flow).series

    @cached_property
    def utilisation(self) -> float:
        """The share of the capacity that the flows used."""
        links = between(self.run.link("switch").series, self.part.begin_s, self.part.end_s)
        return float(links["carried_bps"].sum()) / float(links["capacity_bps"].sum())

    @cached_property
    def jain(self) -> float:
        """Jain's index of the goodput in the last third."""
        part = self.part
        return jain([goodput_bps(self.series(f), part.last_s, part.end_s) for f in self.flows])

    def queue_ms(self, quantile: float) -> float:
        """Return a quantile over time of the longest queueing delay in each sample."""
        links = between(self.run.link("switch").series, self.part.begin_s, self.part.end_s)
        waits = links["queue_delay_s"].drop_nulls()
        return 1e3 * float(waits.quantile(quantile))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Both:
    """The same case live and simulated."""

    name: str
    live: One
    simulated: One


def _pair(lab: Lab, rtts_ms: Rtts) -> Both:
    """Run two flows with these base RTTs; figures share the runs."""
    delays = {
        f"link.back_{flow}.delay": f"{rtt_ms - 1:g}ms"
        for flow, rtt_ms in zip(FLOWS, rtts_ms, strict=True)
    }
    quick = lab.pick({}, {"flow.second.start": "1s", "duration": "4s"})
    part = lab.pick(Part(SECOND_S + 10, 60.0), Part(2.0, 4.0))
    name = f"{rtts_ms[0]:g} and {rtts_ms[1]:g} ms"
    made = lab.once(
        f"live {name}", lambda: _both(lab, "two-flows.toml", {**RATE, **delays, **quick}, FLOWS)
    )
    live, simulated = made
    return Both(name, One(live, FLOWS, part), One(simulated, FLOWS, part))


def _both(
    lab: Lab, scenario: str, changes: Mapping[str, object], flows: Sequence[str]
) -> tuple[Run, Run]:
    hosts = {f"flow.{flow}.host": HOST for flow in flows}
    return lab.live(scenario, changes, "lola"), lab.run(scenario, {**changes, **hosts}, "lola")


def figure_4a(lab: Lab) -> list[Claim]:
    """Measure the throughput of two flows over 21 ms: figures 4a and 5a."""
    return _figure(lab, "figure-4a-live", (21, 21), "Goodput (Mbit/s)", _megabit)


def figure_4b(lab: Lab) -> list[Claim]:
    """Measure the windows of two flows over 21 ms."""
    return _figure(lab, "figure-4b-live", (21, 21), "Congestion window (kB)", _kilobytes)


def figure_4c(lab: Lab) -> list[Claim]:
    """Measure the round-trip times over four base RTTs: figures 4c and 5b."""
    bases = lab.pick(BASE_RTTS_MS, BASE_RTTS_MS[:1])
    found = [_pair(lab, (base, base)) for base in bases]
    panels = [_panel(both, f"RTT over {both.name} (ms)", rtt) for both in found]
    lab.draw("figure-4c-live", chart.Document("Figure 4c, live", SUBTITLE, panels))
    lab.table(_table(found))
    return [claim for both in found for claim in _claims(lab, both)]


def figure_4d(lab: Lab) -> list[Claim]:
    """Measure the throughput of flows over 21 ms and 101 ms."""
    return _figure(lab, "figure-4d-live", (21, 101), "Goodput (Mbit/s)", _megabit)


def figure_6(lab: Lab) -> list[Claim]:
    """Measure eighteen flows, one more every four seconds."""
    both = _many(lab)
    panels = [
        chart.Panel(
            f"Goodput of eighteen flows, {name} (Mbit/s)",
            "s",
            "Mbit/s",
            [chart.line("a flow", _megabit(one.series(flow)), width=1) for flow in EIGHTEEN],
            x_scale=TIME,
        )
        for name, one in (("live", both.live), ("simulated", both.simulated))
    ]
    panels.append(_queues(both))
    lab.draw("figure-6-live", chart.Document("Figure 6, live: eighteen flows", SUBTITLE, panels))
    lab.table(_table([both]))
    return _claims(lab, both)


SUBTITLE = "100 Mbit/s; LoLa in the Linux kernel; dashed: simulated with Linux's bursts"


def _figure(lab: Lab, name: str, rtts_ms: Rtts, title: str, of: Course) -> list[Claim]:
    both = _pair(lab, rtts_ms)
    figure = name.removesuffix("-live").replace("figure-", "Figure ")
    lab.draw(name, chart.Document(f"{figure}, live", SUBTITLE, [_panel(both, title, of)]))
    lab.table(_table([both]))
    return _claims(lab, both)


def _many(lab: Lab) -> Both:
    if lab.quick:
        every_s, stop_s = 0.1, 4.0
        times: dict[str, object] = {"duration": "4s"}
        for place, flow in enumerate(EIGHTEEN):
            times |= {f"flow.{flow}.start": f"{every_s * place:g}s", f"flow.{flow}.stop": "4s"}
    else:
        every_s, stop_s, times = EVERY_S, FIRST_STOP_S, {}
    part = Part(every_s * len(EIGHTEEN), stop_s)
    live, simulated = _both(lab, "eighteen-flows.toml", {**RATE, **times}, EIGHTEEN)
    return Both("18 flows, 21 ms", One(live, EIGHTEEN, part), One(simulated, EIGHTEEN, part))


def _panel(both: Both, title: str, of: Course) -> chart.Panel:
    """Draw both flows, live, and simulated as dashed lines."""
    layers = [
        chart.line(NAMES[flow], of(both.live.series(flow)), *LOOKS[flow], width=1.2)
        for flow in FLOWS
    ]
    layers += [
        chart.line(
            f"{NAMES[flow]}, simulated",
            of(both.simulated.series(flow)),
            chart.COLOURS[place + 3],
            (4, 3),
            width=1,
        )
        for place, flow in enumerate(FLOWS)
    ]
    return chart.Panel(title, "s", title.split("(")[1].rstrip(")"), layers, x_scale=TIME)


def _queues(both: Both) -> chart.Panel:
    lines = [
        chart.line(name, _waits(one), colour, width=1)
        for name, one, colour in (
            ("live", both.live, chart.COLOURS[0]),
            ("simulated", both.simulated, chart.COLOURS[1]),
        )
    ]
    return chart.Panel("Queueing delay (ms)", "s", "ms", lines, x_scale=TIME)


def _waits(one: One) -> list[tuple[float, float]]:
    links = one.run.link("switch").series
    return links.select("t_s", 1e3 * pl.col("queue_delay_s")).drop_nulls().rows()


def _megabit(series: pl.DataFrame) -> list[tuple[float, float]]:
    return goodput(series, 0.25, 1e6)


def _kilobytes(series: pl.DataFrame) -> list[tuple[float, float]]:
    return series.select("t_s", pl.col("cwnd_bytes") / 1e3).drop_nulls().rows()


def _claims(lab: Lab, both: Both) -> list[Claim]:
    live, simulated = both.live, both.simulated
    queue_ms, other_ms = live.queue_ms(0.99), simulated.queue_ms(0.99)
    of_use = f"simulated {simulated.utilisation:.4f}. Holds above gamma, 0.95"
    of_shares = "Jain's index of the goodput in the last third of the time with all flows; "
    of_shares += f"simulated {simulated.jain:.4f}. Holds above 0.95"
    of_queue = f"99th percentile; simulated {other_ms:.2f} ms. Holds within 1 ms of the simulation"
    use, shares = round(live.utilisation, 4), round(live.jain, 4)
    is_near = abs(queue_ms - other_ms) <= 1
    found = [
        Claim("link utilisation", lab.value("utilisation"), use, "", use > 0.95, of_use),
        Claim("fairness", lab.value("shares"), shares, "", shares > 0.95, of_shares),
        Claim("queueing delay", Q_TARGET_MS, queue_ms, "ms", is_near, of_queue),
    ]
    named = [replace(one, claim=f"{both.name}: {one.claim}") for one in found]
    # A quick run is too short for the published values.
    return [replace(one, published=None, holds=None) for one in named] if lab.quick else named


def _table(found: Sequence[Both]) -> Table:
    columns = {
        "case": "base RTTs",
        "utilisation": "utilisation: live",
        "simulated_utilisation": "simulated",
        "jain": "Jain's index: live",
        "simulated_jain": "simulated",
        "queue_p50_ms": "queue, ms: live p50",
        "queue_p99_ms": "p99",
        "simulated_queue_p50_ms": "simulated p50",
        "simulated_queue_p99_ms": "p99",
    }
    title = "LoLa in the Linux kernel at 100 Mbit/s, while all flows send"
    return Table(title, columns, [_row(both) for both in found])


def _row(both: Both) -> dict[str, Value]:
    live, simulated = both.live, both.simulated
    return {
        "case": both.name,
        "utilisation": live.utilisation,
        "simulated_utilisation": simulated.utilisation,
        "jain": live.jain,
        "simulated_jain": simulated.jain,
        "queue_p50_ms": live.queue_ms(0.5),
        "queue_p99_ms": live.queue_ms(0.99),
        "simulated_queue_p50_ms": simulated.queue_ms(0.5),
        "simulated_queue_p99_ms": simulated.queue_ms(0.99),
    }
