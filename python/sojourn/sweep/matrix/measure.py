"""Simulation of every combination of the matrix, and its JSON: `matrix --json`.

Changes may add keys but never rename one.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, cast

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.record import stats
from sojourn.record.record_types import RunSummary
from sojourn.run import api, experiment
from sojourn.run.experiment import Progress
from sojourn.sweep import jobs
from sojourn.sweep.cells import Cells, Place
from sojourn.sweep.matrix import plan
from sojourn.sweep.matrix.plan import Axes


class Cell(TypedDict):
    """One simulation: one or two flows over a queue.

    `carrier` is a QUIC stack or `quic`, Sojourn's model of QUIC, in the rows that compare these,
    and null in all others. `rtt` is the requested value; `base_rtt_s` also includes the
    transmission of a packet and of its acknowledgement. `goodput_bps` has each flow's goodput over
    its lifetime, in the order of `controls`. The round-trip times that each flow measured are in
    the same order (null without a sample). The second flow starts a second later. `jain` is Jain's
    fairness index of the goodputs, and null for a single flow. Counts and percentiles are of the
    bottleneck's queue and of the whole run.

    `closed` has the reasons for which QUIC stacks have ended connections, each once.

    With several `runs`, `distinct` counts those that differ in a goodput. Every figure is then the
    mean. `intervals` has the ends of its 95 % confidence interval under the same name (Student;
    None if some run has no value), and `each` has the figures of each run. Both are empty for one
    run.
    """

    queue: str
    rtt: str
    base_rtt_s: float
    controls: list[str]
    carrier: str | None
    goodput_bps: list[float]
    jain: float | None
    utilisation: float
    queue_delay_p50_s: float
    queue_delay_p99_s: float
    marked_packets: float
    dropped_packets: float
    delivered_packets: float
    rtt_p50_s: list[float | None]
    rtt_p99_s: list[float | None]
    runs: int
    distinct: int
    closed: list[str]
    intervals: dict[str, Any]
    each: list[dict[str, Any]]


class Refusal(TypedDict):
    """An impossible combination and the reason."""

    queue: str
    controls: list[str]
    carrier: str | None
    reason: str


class MatrixSummary(TypedDict):
    """Every controller over every queue: the parameters and the results.

    `stack` is the QUIC stack that carries the flows, and null for Sojourn's own transport. `quic`
    are the stacks that carry each controller once more, beside Sojourn's model of QUIC.
    """

    version: str
    controls: list[str]
    queues: list[str]
    rtts: list[str]
    rate: str
    buffer: str
    duration: str
    seed: int
    runs: int
    stack: str | None
    quic: list[str]
    cells: list[Cell]
    refused: list[Refusal]


def measure(axes: Axes, place: Place, progress: Progress | None = None) -> MatrixSummary:
    """Simulate every possible combination, in the order of queues, controllers and RTTs."""
    places, scenarios, refused = _possible(axes)
    if place.dataset is None:
        threads = api.threads_of(place.jobs)
        experiment.require_room(scenarios, axes.runs, threads, series=False)
    each = [experiment.jobs_of(core, axes.runs) for core in scenarios]
    values = [one.values for one in places for _ in range(axes.runs)]
    cells = Cells([job for own in each for job in own], plan.Place.COLUMNS, values, plan.TITLE)
    runs = jobs.simulate(
        cells, place, lambda one: one.summary, progress, controllers=axes.user_controllers
    )
    return {
        "version": _core.__version__,
        "controls": list(axes.controls),
        "queues": list(axes.queues),
        "rtts": list(axes.rtts),
        "rate": axes.rate,
        "buffer": axes.buffer,
        "duration": axes.duration,
        "seed": axes.seed,
        "runs": axes.runs,
        "stack": axes.stack,
        "quic": list(axes.quic),
        "cells": [
            _cell(one, runs[at * axes.runs : (at + 1) * axes.runs]) for at, one in enumerate(places)
        ],
        "refused": refused,
    }


def jain(goodputs: Sequence[float]) -> float:
    """Compute Jain's fairness index: 1 if all goodputs are equal, 1/n if one flow has everything.

    Jain, Chiu and Hawe, "A Quantitative Measure of Fairness" (DEC-TR-301, 1984).
    """
    squares = sum(one * one for one in goodputs)
    return sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else 1.0


def _possible(axes: Axes) -> tuple[list[plan.Place], list[_core.Scenario], list[Refusal]]:
    """Separate possible combinations, with their scenarios, from refused ones.

    A refusal covers all RTTs.
    """
    places, scenarios, refused = [], [], []
    for place in plan.places(axes):
        core = plan.scenario(axes, place).compile()
        core.use_controllers(axes.user_controllers.catalogue)
        try:
            core.check()
        except _core.ScenarioError as error:
            _require_own_fault(error)
            refused.append((place, error.items[0]["message"]))
            continue
        places.append(place)
        scenarios.append(core)
    return places, scenarios, _once(refused)


def _require_own_fault(error: _core.ScenarioError) -> None:
    """Re-raise errors of an axis; only errors of a single combination are refusals."""
    for item in error.items:
        axis = plan.AXES.get(item["path"])
        if axis is not None or not item["path"].startswith("flow."):
            if axis is None:
                raise error
            hint = f"; {item['help']}" if item.get("help") else ""
            raise UsageError(f"{axis}: {item['message']}{hint}") from error


def _once(refused: Sequence[tuple[plan.Place, str]]) -> list[Refusal]:
    reasons = {(place.queue, place.controls, place.carrier): reason for place, reason in refused}
    return [
        {"queue": queue, "controls": list(controls), "carrier": carrier, "reason": reason}
        for (queue, controls, carrier), reason in reasons.items()
    ]


def _cell(place: plan.Place, runs: Sequence[RunSummary]) -> Cell:
    each = [_figures(run) for run in runs]
    several = len(each) > 1
    found: Any = {
        "queue": place.queue,
        "rtt": place.rtt,
        "controls": list(place.controls),
        "carrier": place.carrier,
        **(_over(each, stats.mean) if several else each[0]),
        "runs": len(each),
        "distinct": len({tuple(one["goodput_bps"]) for one in each}),
        "closed": list(dict.fromkeys(reason for run in runs for reason in _closed(run))),
        "intervals": _over(each, stats.mean_interval) if several else {},
        "each": each if several else [],
    }
    # Restore the key order of the contract.
    return cast(Cell, {key: found[key] for key in Cell.__annotations__})


def _closed(run: RunSummary) -> list[str]:
    """Return the reasons for which stacks have ended connections."""
    return [flow["closed"] for flow in run["flows"] if "closed" in flow]


def _figures(run: RunSummary) -> dict[str, Any]:
    """Return the figures of a cell for one run."""
    link: Any = next(link for link in run["links"] if link["name"] == plan.BOTTLENECK)
    goodputs = [flow["goodput_bps"] for flow in run["flows"]]
    return {
        "base_rtt_s": run["flows"][0]["base_rtt_s"],
        "goodput_bps": goodputs,
        "jain": jain(goodputs) if len(goodputs) > 1 else None,
        "utilisation": link["utilisation"],
        "queue_delay_p50_s": link["queue_delay_p50_s"] or 0.0,
        "queue_delay_p99_s": link["queue_delay_p99_s"] or 0.0,
        "marked_packets": link["marked_packets"],
        "dropped_packets": link["dropped_packets"],
        "delivered_packets": link["delivered_packets"],
        "rtt_p50_s": [flow["rtt_p50_s"] for flow in run["flows"]],
        "rtt_p99_s": [flow["rtt_p99_s"] for flow in run["flows"]],
    }


def _over(
    each: Sequence[dict[str, Any]], combine: Callable[[Sequence[float]], Any]
) -> dict[str, Any]:
    """Apply `combine` to each figure over all runs; None if a run has no value."""

    def combined(values: Sequence[Any]) -> Any:
        if isinstance(values[0], list):
            return [combined(flow) for flow in zip(*values, strict=True)]
        return None if None in values else combine(values)

    return {key: combined([figures[key] for figures in each]) for key in each[0]}
