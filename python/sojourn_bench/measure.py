"""Measurement of all cases, one process at a time, and their figures."""

import os
import platform
from collections.abc import Callable, Sequence
from statistics import median

from sojourn import _core

from sojourn_bench import wall_clock
from sojourn_bench.cases import CASES, SAMPLED, Case, Plan
from sojourn_bench.figures import Bench, Memory, Parts, Scaling
from sojourn_bench.figures import Case as CaseFigures
from sojourn_bench.worker import Figures, run_worker

# Splits the nanoseconds per packet of a case by component.
PartsOf = Callable[[Case, float], Parts]


class Progress:
    """Report the current measurement and the number of completed ones."""

    def __init__(self, report: Callable[[str, int, int], None], total: int) -> None:
        self._report = report
        self._total = total
        self._done = -1

    def step(self, what: str) -> None:
        """Report the start of the next measurement."""
        self._done += 1
        self._report(what, self._done, self._total)


class _Bare:
    """The speed of the bare loop beside every measurement."""

    def __init__(self) -> None:
        self.pps: list[float] = []

    def take(self, figures: Figures) -> float:
        """Record the bare loop's speed; return the ratio of the case's speed to it."""
        self.pps.append(figures["bare_loop_pps"])
        return figures["pps"] / figures["bare_loop_pps"]


def bench(
    plan: Plan,
    names: Sequence[str],
    report: Callable[[str, int, int], None],
    parts_of: PartsOf | None = None,
) -> Bench:
    """Measure the named cases; without names, measure everything.

    `parts_of` splits the time of a case's packets by component.
    """
    everything = not names
    cases = [plan.case(name) for name in names or [case.name for case in CASES]]
    bare = _Bare()
    progress = Progress(report, _steps(plan, len(cases), everything, parts_of is not None))
    measured = {case.name: _case(plan, case, bare, progress, parts_of) for case in cases}
    scaling = [_scaling(plan, flows, bare, progress) for flows in plan.flows if everything]
    found: Bench = {
        "version": _core.__version__,
        "quick": plan.quick,
        "machine": _machine(),
        "bare_loop_pps": median(bare.pps),
        "bare_loop_low_pps": min(bare.pps),
        "bare_loop_high_pps": max(bare.pps),
        "cases": measured,
        "scaling": scaling,
    }
    if everything:
        found["memory"] = _memory(plan, progress)
        progress.step("start-up")
        found["startup"] = wall_clock.startup(plan.startups)
        progress.step("threads")
        found["jobs"] = wall_clock.threads(plan)
    return found


def _steps(plan: Plan, cases: int, everything: bool, parts: bool) -> int:
    each = 2 * plan.rounds + (1 if parts else 0)
    scaling = sum(map(plan.scaling_rounds, plan.flows))
    return each * cases + (scaling + 3 if everything else 0)


def _machine() -> dict[str, object]:
    return {"system": platform.platform(), "cores": os.cpu_count(), "processor": _processor()}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def _case(
    plan: Plan, case: Case, bare: _Bare, progress: Progress, parts_of: PartsOf | None
) -> CaseFigures:
    plain, sampled = [], []
    # Alternate the variants, so that a slow minute of the machine affects both.
    for _ in range(plan.rounds):
        progress.step(f"case {case.name}")
        plain.append(run_worker(plan, case))
        progress.step(f"case {case.name}, sampled")
        sampled.append(run_worker(plan, case.changed(SAMPLED)))
    ratios = [bare.take(one) for one in plain]
    figures: CaseFigures = {
        "pps": median(one["pps"] for one in plain),
        "ratio": median(ratios),
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "sampled_pps": median(one["pps"] for one in sampled),
        "sampled_ratio": median(bare.take(one) for one in sampled),
        "peak_memory_bytes": max(one["peak_memory_bytes"] for one in plain),
        "delivered_packets": plain[0]["delivered_packets"],
        "dropped_packets": plain[0]["dropped_packets"],
    }
    if parts_of is not None:
        progress.step(f"case {case.name}, its parts")
        figures["parts_ns"] = parts_of(case, 1e9 / figures["sampled_pps"])
    return figures


def _scaling(plan: Plan, flows: int, bare: _Bare, progress: Progress) -> Scaling:
    rate, case = plan.scaling(flows)
    rounds = []
    for _ in range(plan.scaling_rounds(flows)):
        progress.step("1 flow" if flows == 1 else f"{flows:,} flows")
        rounds.append(run_worker(plan, case))
    each_ns = [1e9 / one["pps"] for one in rounds]
    return {
        "flows": flows,
        "rate": rate,
        "rounds": len(rounds),
        "ns_per_packet": median(each_ns),
        "ns_per_packet_low": min(each_ns),
        "ns_per_packet_high": max(each_ns),
        "ratio": median(bare.take(one) for one in rounds),
        "setup_cpu_s": median(one["setup_cpu_s"] for one in rounds),
        "peak_memory_bytes": max(one["peak_memory_bytes"] for one in rounds),
        "delivered_packets": rounds[0]["delivered_packets"],
        "dropped_packets": rounds[0]["dropped_packets"],
    }


def _memory(plan: Plan, progress: Progress) -> Memory:
    progress.step(plan.in_flight.name)
    figures = run_worker(plan, plan.in_flight, count_in_flight=True)
    in_flight = figures["in_flight_packets"] or 0
    return {
        "peak_memory_bytes": figures["peak_memory_bytes"],
        "in_flight_packets": in_flight,
        "bytes_per_packet": figures["peak_memory_bytes"] / in_flight,
    }


def split_by_component(plan: Plan) -> PartsOf:
    """Build the function that splits a case's time per packet by component, recording included.

    A metered run publishes its active component, and another thread samples it. The resulting
    shares are applied to the time per packet of runs without metering.
    """

    def parts_of(case: Case, whole: float) -> Parts:
        return by_share(
            whole, run_worker(plan, case.changed(SAMPLED), samples=plan.samples)["samples"]
        )

    return parts_of


def by_share(whole: float, samples: dict[str, int]) -> Parts:
    """Split the time of a packet in proportion to the samples of each component."""
    each = {part: whole * count / sum(samples.values()) for part, count in samples.items()}
    return {
        "queue": each["queue"],
        "transport": each["transport"],
        "controller": each["controller"],
        "engine": each["engine"],
        "recording": each["recording"],
    }
