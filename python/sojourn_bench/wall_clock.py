"""Wall-clock times: start-up of the command, and the speed-up of two threads."""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from sojourn.run import api

from sojourn_bench import worker
from sojourn_bench.cases import STARTUP, Plan
from sojourn_bench.figures import Jobs, Startup

# An even number, so that two threads share the runs equally, with several runs each.
_RUNS = 8


def startup(times: int) -> Startup:
    """Time `--help` and a one-second simulation with `--json`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "second.toml"
        file.write_text(worker.scenario(STARTUP).to_toml(), "utf-8")
        # Alternate both, so that a slow moment of the machine affects both.
        pairs = [
            (_time_command(["--help"]), _time_command(["run", str(file), "--json"]))
            for _ in range(times)
        ]
    helps, runs = zip(*pairs, strict=True)
    return {
        "help_best_s": min(helps),
        "help_median_s": median(helps),
        "run_best_s": min(runs),
        "run_median_s": median(runs),
    }


def _time_command(args: Sequence[str]) -> float:
    command = worker.command("from sojourn.cli import main; sys.exit(main())", args)
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def threads(plan: Plan) -> Jobs:
    """Time the same simulations with one thread and with two.

    Return the medians over the rounds, which alternate between both.
    """
    pairs = [(_time_threads(plan, 1), _time_threads(plan, 2)) for _ in range(plan.job_rounds)]
    one, two = (median(times) for times in zip(*pairs, strict=True))
    return {"1": one, "2": two, "speedup": median(first / second for first, second in pairs)}


def _time_threads(plan: Plan, count: int) -> float:
    core = worker.scenario(plan.job)
    began = time.perf_counter()
    api.summarise(core, plan.job.name, _RUNS, count)
    return time.perf_counter() - began
