"""How much faster two threads are: wall time of the same simulations."""

import time
from statistics import median

from sojourn import api
from sojourn.bench import worker
from sojourn.bench.contract import Jobs
from sojourn.bench.plan import Plan

# As many as two threads can share evenly, and more than one each.
_RUNS = 8


def measure(plan: Plan) -> Jobs:
    """Medians over the rounds, one thread and two by turns."""
    pairs = [(_wall(plan, 1), _wall(plan, 2)) for _ in range(plan.job_rounds)]
    one, two = (median(times) for times in zip(*pairs, strict=True))
    return {"1": one, "2": two, "speedup": median(first / second for first, second in pairs)}


def _wall(plan: Plan, threads: int) -> float:
    core = worker.scenario(plan.job)
    began = time.perf_counter()
    api.summarise(core, plan.job.name, _RUNS, threads)
    return time.perf_counter() - began
