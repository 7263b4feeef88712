"""The speed-up of two threads: wall-clock time of the same simulations."""

import time
from statistics import median

from sojourn import api
from sojourn.bench import worker
from sojourn.bench.contract import Jobs
from sojourn.bench.plan import Plan

# An even number, so that two threads share the runs equally, with several runs each.
_RUNS = 8


def measure(plan: Plan) -> Jobs:
    """Return the medians over the rounds, which alternate between one thread and two."""
    pairs = [(_wall(plan, 1), _wall(plan, 2)) for _ in range(plan.job_rounds)]
    one, two = (median(times) for times in zip(*pairs, strict=True))
    return {"1": one, "2": two, "speedup": median(first / second for first, second in pairs)}


def _wall(plan: Plan, threads: int) -> float:
    core = worker.scenario(plan.job)
    began = time.perf_counter()
    api.summarise(core, plan.job.name, _RUNS, threads)
    return time.perf_counter() - began
