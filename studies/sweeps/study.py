"""What does a sweep cost beside a plain loop, does it survive kills, and does it scale?"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import sojourn

Row = dict[str, Any]

MINUTES = 15
# Without Dask, which is optional.
NULL_WHEN_SMALL = ("scheduler.task_ms", "workers.sweep_s")

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "capacity-drop.toml"
QUEUES = ("droptail", "codel")
TABLES = ("points", "runs", "flows", "links", "spikes")


def settings(seconds: int) -> dict[str, str]:
    """Return the changes of the scenario; a drop after its end would be refused."""
    at = "30s" if seconds == 60 else "1s"
    step = f'{{ at = "{at}", rate = "20Mbit" }}'
    return {
        "duration": f"{seconds}s",
        "record.interval": "0s",
        "link.bottleneck.rate": f'{{ start = "60Mbit", steps = [{step}] }}',
    }


def plain_s(seconds: int, runs: int) -> float:
    """Time of the same simulations in one thread, without a sweep."""
    began = time.perf_counter()
    for queue in QUEUES:
        changes = settings(seconds) | {"link.bottleneck.queue": queue}
        sojourn.run(SCENARIO, "cubic", set=changes, runs=runs // len(QUEUES), jobs=1)
    return time.perf_counter() - began


def command(seconds: int, runs: int, jobs: int, out: Path) -> list[str]:
    """Return the command line of the sweep."""
    line = [sys.executable, "-m", "sojourn", "sweep", str(SCENARIO), "--control", "cubic"]
    line += ["--vary", f"link.bottleneck.queue={','.join(QUEUES)}", "--jobs", str(jobs)]
    line += ["--runs", str(runs // len(QUEUES)), "--out", str(out)]
    for key, value in settings(seconds).items():
        line += ["--set", f"{key}={value}"]
    return line


def timed_s(line: Sequence[str]) -> float:
    """Time of a command, from its start to its table."""
    began = time.perf_counter()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def sizes(folder: Path) -> Row:
    """Return the size and the number of the files of a dataset."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    return {"size_mb": round(size / 1e6, 1), "files": len(files)}


def overhead(small: bool) -> list[Row]:
    """Compare the sweep, with one process, with a plain loop."""
    found = []
    runs = 20 if small else 2000
    for seconds in (2,) if small else (60, 15, 2):
        plain = plain_s(seconds, runs)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            sweep = timed_s(command(seconds, runs, 1, out))
            found.append(
                {
                    "simulated_s": seconds,
                    "runs": runs,
                    "run_ms": round(1e3 * plain / runs, 1),
                    "loop_s": round(plain, 1),
                    "sweep_s": round(sweep, 1),
                    "overhead_ms": round(1e3 * (sweep - plain) / runs, 1),
                    **sizes(out),
                }
            )
    return found


def kills(small: bool) -> list[Row]:
    """Kill a sweep at a quarter, a half and three quarters of its time, and continue it."""
    runs, seconds = (20, 2) if small else (10_000, 15)
    with tempfile.TemporaryDirectory() as folder:
        whole, out = Path(folder) / "whole", Path(folder) / "out"
        whole_s = timed_s(command(seconds, runs, 2, whole))
        line = command(seconds, runs, 2, out)
        killed_s = 0.0
        for _ in range(3):
            began = time.perf_counter()
            with subprocess.Popen(line, stdout=-3, stderr=-3) as process:
                time.sleep(whole_s / 4)
                process.send_signal(signal.SIGKILL)
            killed_s += time.perf_counter() - began
        continued_s = killed_s + timed_s(line)
        one, other = sojourn.Dataset(whole), sojourn.Dataset(out)
        unequal = [name for name in TABLES if not getattr(one, name).equals(getattr(other, name))]
        return [
            {
                "runs": runs,
                "undisturbed_s": round(whole_s, 1),
                "killed_and_continued_s": round(continued_s, 1),
                "unequal_tables": len(unequal),
                **sizes(out),
            }
        ]


def workers(small: bool) -> list[Row]:
    """Compare one and two workers of Dask, in turns; without Dask, only plain loops."""
    if not small:
        # The workers inherit it: the runs occupy the cores.
        os.environ["POLARS_MAX_THREADS"] = "1"
    runs, rounds = (20, 1) if small else (1000, 5)
    found = []
    for count in (1, 2):
        loops = [loops_s(count, runs, 2 if small else 60) for _ in range(rounds)]
        sweeps = [sweep_s(count, runs, 2 if small else 60) for _ in range(rounds)]
        known = [one for one in sweeps if one is not None]
        found.append(
            {
                "workers": count,
                "runs": runs,
                "loop_s": round(median(loops), 1),
                "sweep_s": round(median(known), 1) if known else None,
            }
        )
    return found


def loops_s(processes: int, runs: int, seconds: int) -> float:
    """Time of plain loops side by side, which shows how far the machine itself scales."""
    call = f"import study; study.plain_s({seconds}, {runs // processes})"
    line = [sys.executable, "-c", call]
    began = time.perf_counter()
    place = Path(__file__).resolve().parent
    started = [subprocess.Popen(line, cwd=place) for _ in range(processes)]
    statuses = [process.wait() for process in started]
    if any(statuses):
        raise SystemExit("a plain loop failed")
    return time.perf_counter() - began


def sweep_s(count: int, runs: int, seconds: int) -> float | None:
    """Time of a sweep on workers of a Dask scheduler; None without Dask."""
    if find_spec("distributed") is None:
        return None
    from distributed import LocalCluster

    asked = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**asked) as cluster, tempfile.TemporaryDirectory() as folder:
        with cluster.get_client() as client:
            client.run(sojourn.queues)  # imports the package at the workers
        began = time.perf_counter()
        sojourn.sweep(
            SCENARIO,
            {"link.bottleneck.queue": list(QUEUES)},
            Path(folder) / "out",
            control="cubic",
            set=settings(seconds),
            runs=runs // len(QUEUES),
            cluster=cluster.scheduler_address,
        )
        return time.perf_counter() - began


def scheduler(small: bool) -> list[Row]:
    """Measure the time of an empty task, which is that of Dask's scheduler; None without Dask."""
    tasks = 100 if small else 5_000
    if find_spec("distributed") is None:
        return [{"tasks": tasks, "task_ms": None}]
    from distributed import LocalCluster

    asked = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**asked) as cluster, cluster.get_client() as client:
        began = time.perf_counter()
        client.gather(client.map(int, range(tasks), pure=False))
        spent_ms = 1e3 * (time.perf_counter() - began)
    return [{"tasks": tasks, "task_ms": round(spent_ms / tasks, 1)}]


def measure(small: bool) -> dict[str, list[Row]]:
    """Measure overhead, kills, workers and the scheduler."""
    return {
        "overhead": overhead(small),
        "kills": kills(small),
        "workers": workers(small),
        "scheduler": scheduler(small),
    }


def answer(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return the overhead of a run."""
    lines = ["| a run | plain loop | sweep | overhead a run | on disk |", "|---|---|---|---|---|"]
    for row in tables["overhead"]:
        lines.append(
            f"| {row['simulated_s']} simulated s: {row['run_ms']} ms | {row['loop_s']} s "
            f"| {row['sweep_s']} s | {row['overhead_ms']} ms "
            f"| {row['size_mb']} MB, {row['files']} files |"
        )
    return "\n".join(lines)
