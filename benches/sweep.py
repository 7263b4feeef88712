"""The cost of `sojourn sweep` over a plain loop, and its scaling over workers.

`python benches/sweep.py overhead [RUNS]` compares the command with a loop of one process.
`python benches/sweep.py kills [RUNS]` kills a sweep three times and compares the continued dataset.
`python benches/sweep.py dask [RUNS]` compares one and two workers of a Dask scheduler on loopback,
in turns since the speed of a shared machine varies, and batches with one task a run.
"""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sojourn
from sojourn import _core
from sojourn.sweeps.dataset import size_bytes

ROOT = Path(__file__).parents[1]
# About 30, 8 and 1 ms a run.
CASES = {"minute": "60s", "quarter": "15s", "tiny": "2s"}
FILE = ROOT / "scenarios" / "capacity-drop.toml"
QUEUES = ("droptail", "codel")
TABLES = ("points", "runs", "flows", "links", "spikes")


def settings(duration: str) -> dict[str, str]:
    """Return the changes of the scenario; a drop after its end would be refused."""
    at = "30s" if duration == "60s" else "1s"
    step = f'{{ at = "{at}", rate = "20Mbit" }}'
    return {
        "duration": duration,
        "record.interval": "0s",
        "link.bottleneck.rate": f'{{ start = "60Mbit", steps = [{step}] }}',
    }


def scenario(duration: str, queue: str) -> _core.Scenario:
    """Return the scenario of a point."""
    core = sojourn.Scenario.load(FILE).compile()
    for key, value in settings(duration).items():
        core.set(f"{key}={value}")
    core.set(f"link.bottleneck.queue={queue}")
    core.set_controls(["cubic"])
    return core


def plain_s(duration: str, runs: int) -> float:
    """Time of a loop over the same simulations in one process, which keeps each summary."""
    began = time.perf_counter()
    kept = []
    for queue in QUEUES:
        core = scenario(duration, queue)
        for seed in range(1, runs // len(QUEUES) + 1):
            kept.append(json.loads(core.simulation(0, seed).finish().summary_json()))
    return time.perf_counter() - began


def command(duration: str, runs: int, jobs: int, out: Path) -> list[str]:
    """Return the command line of the sweep."""
    line = [sys.executable, "-m", "sojourn", "sweep", str(FILE), "--control", "cubic"]
    line += ["--vary", f"link.bottleneck.queue={','.join(QUEUES)}", "--jobs", str(jobs)]
    line += ["--runs", str(runs // len(QUEUES)), "--out", str(out)]
    for key, value in settings(duration).items():
        line += ["--set", f"{key}={value}"]
    return line


def timed_s(line: Sequence[str]) -> float:
    """Time of a command, from its start to its table."""
    began = time.perf_counter()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def _cpu_s(who: int) -> float:
    """Processor time, which other work of the machine hardly changes."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def overhead(runs: int) -> None:
    """Measure each case with one process and with two."""
    for name, duration in CASES.items():
        found: dict[str, Any] = {"case": name, "runs": runs, "version": _core.__version__}
        began_s = _cpu_s(resource.RUSAGE_SELF)
        found["plain_s"] = plain_s(duration, runs)
        found["plain_cpu_s"] = plain = _cpu_s(resource.RUSAGE_SELF) - began_s
        for jobs in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "out"
                began_s = _cpu_s(resource.RUSAGE_CHILDREN)
                found[f"sweep_{jobs}_s"] = timed_s(command(duration, runs, jobs, out))
                used_s = _cpu_s(resource.RUSAGE_CHILDREN) - began_s
                found[f"overhead_{jobs}_cpu_ms_a_run"] = 1e3 * (used_s - plain) / runs
                found["size_bytes"] = size_bytes(out)
                found["files"] = sum(file.is_file() for file in out.rglob("*"))
        print(json.dumps(found), flush=True)


def kills(runs: int) -> None:
    """Kill a sweep at a quarter, a half and three quarters of its time, and continue it."""
    with tempfile.TemporaryDirectory() as folder:
        whole, out = Path(folder) / "whole", Path(folder) / "out"
        whole_s = timed_s(command(CASES["quarter"], runs, 2, whole))
        found: dict[str, Any] = {"runs": runs, "undisturbed_s": whole_s, "held_runs": []}
        found["size_bytes"] = size_bytes(whole)
        found["files"] = sum(file.is_file() for file in whole.rglob("*"))
        line = command(CASES["quarter"], runs, 2, out)
        killed_s = 0.0
        for _ in range(3):
            began = time.perf_counter()
            with subprocess.Popen(line, stdout=-3, stderr=-3) as process:
                time.sleep(whole_s / 4)
                process.send_signal(signal.SIGKILL)
            killed_s += time.perf_counter() - began
            found["held_runs"].append(sojourn.Dataset(out).runs.height)
        found["disturbed_s"] = killed_s + timed_s(line)
        one, other = sojourn.Dataset(whole), sojourn.Dataset(out)
        found["rows"] = {name: getattr(one, name).height for name in TABLES}
        found["equal"] = {name: getattr(one, name).equals(getattr(other, name)) for name in TABLES}
    print(json.dumps(found), flush=True)


ROUNDS = 5


def dask(runs: int) -> None:
    """Measure a sweep on one and on two workers in turns, and one task a run on two."""
    # The workers inherit it: the runs occupy the cores.
    os.environ["POLARS_MAX_THREADS"] = "1"
    found = [_on_workers(workers, runs, place) for place in range(ROUNDS) for workers in (1, 2)]
    summary: dict[str, float] = {"runs": runs}
    for key in ("sweep_s", "plain_s"):
        one, two = (statistics.median(row[key] for row in found[start::2]) for start in range(2))
        summary |= {f"{key}_1": one, f"{key}_2": two, f"{key}_ratio": one / two}
    print(json.dumps(summary), flush=True)


def _on_workers(workers: int, runs: int, place: int) -> dict[str, Any]:
    from distributed import LocalCluster

    asked = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**asked) as cluster, tempfile.TemporaryDirectory() as folder:
        _warm(cluster)
        given: dict[str, Any] = {"control": "cubic", "set": settings(CASES["minute"])}
        queues = {"link.bottleneck.queue": list(QUEUES)}
        began = time.perf_counter()
        sojourn.sweep(
            FILE,
            queues,
            Path(folder) / "out",
            runs=runs // len(QUEUES),
            cluster=cluster.scheduler_address,
            **given,
        )
        found = {"workers": workers, "runs": runs, "sweep_s": time.perf_counter() - began}
        found["plain_s"] = _loops_s(workers, runs)
        if workers == 2 and place == 0:
            found["task_a_run_s"] = _task_a_run_s(cluster, runs)
            found["empty_task_ms"] = _empty_task_ms(cluster)
    print(json.dumps(found), flush=True)
    return found


def _loops_s(processes: int, runs: int) -> float:
    """Time of plain loops side by side, which shows how far the machine itself scales."""
    share = runs // processes
    line = [sys.executable, "-c", f"import sweep; sweep.plain_s('60s', {share})"]
    began = time.perf_counter()
    started = [subprocess.Popen(line, cwd=Path(__file__).parent) for _ in range(processes)]
    for process in started:
        process.wait()
    return time.perf_counter() - began


def _warm(cluster: Any) -> None:
    """Import the modules at the workers."""
    with cluster.get_client() as client:
        client.run(_core_version)


def _core_version() -> str:
    import polars

    return f"{_core.__version__} {polars.__version__}"


def _task_a_run_s(cluster: Any, runs: int) -> float:
    """Time of a task for each run, which parses the scenario and returns the summary."""
    began = time.perf_counter()
    with cluster.get_client() as client:
        given = [(queue, seed) for queue in QUEUES for seed in range(1, runs // len(QUEUES) + 1)]
        client.gather(client.map(_summary, *zip(*given, strict=True)))
    return time.perf_counter() - began


def _summary(queue: str, seed: int) -> Any:
    core = scenario(CASES["minute"], queue)
    return json.loads(core.simulation(0, seed).finish().summary_json())


def _empty_task_ms(cluster: Any, count: int = 5000) -> float:
    with cluster.get_client() as client:
        began = time.perf_counter()
        client.gather(client.map(_nothing, range(count)))
        return 1e3 * (time.perf_counter() - began) / count


def _nothing(value: int) -> int:
    return value


if __name__ == "__main__":
    chosen = {"overhead": overhead, "kills": kills, "dask": dask}[sys.argv[1]]
    chosen(int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
