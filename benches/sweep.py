"""The overhead of `sojourn sweep` over a plain loop: `python benches/sweep.py [RUNS]`."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sojourn
from sojourn import _core
from sojourn.sweeps.dataset import size_bytes

ROOT = Path(__file__).parents[1]
# About 30 ms and about 1 ms a run.
CASES = {"drop": "60s", "tiny": "2s"}
FILE = ROOT / "scenarios" / "capacity-drop.toml"
QUEUES = ("droptail", "codel")


def settings(duration: str) -> dict[str, str]:
    """Return the changes of the scenario; a drop after its end would be refused."""
    at = "30s" if duration == "60s" else "1s"
    step = f'{{ at = "{at}", rate = "20Mbit" }}'
    return {
        "duration": duration,
        "record.interval": "0s",
        "link.bottleneck.rate": f'{{ start = "60Mbit", steps = [{step}] }}',
    }


def plain_s(duration: str, runs: int) -> float:
    """Time of a loop over the same simulations in one process, which keeps each summary."""
    began = time.perf_counter()
    kept = []
    for queue in QUEUES:
        core = sojourn.Scenario.load(FILE).compile()
        for key, value in settings(duration).items():
            core.set(f"{key}={value}")
        core.set(f"link.bottleneck.queue={queue}")
        core.set_controls(["cubic"])
        for seed in range(1, runs // len(QUEUES) + 1):
            kept.append(json.loads(core.simulation(0, seed).finish().summary_json()))
    return time.perf_counter() - began


def sweep_s(duration: str, runs: int, jobs: int, out: Path) -> float:
    """Time of the command, from its start to its table."""
    line = [sys.executable, "-m", "sojourn", "sweep", str(FILE), "--control", "cubic"]
    line += ["--vary", f"link.bottleneck.queue={','.join(QUEUES)}", "--jobs", str(jobs)]
    line += ["--runs", str(runs // len(QUEUES)), "--out", str(out)]
    for key, value in settings(duration).items():
        line += ["--set", f"{key}={value}"]
    began = time.perf_counter()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def measure(name: str, runs: int) -> dict[str, object]:
    """Measure one case with one process and with two."""
    found: dict[str, object] = {"case": name, "runs": runs, "version": _core.__version__}
    found["plain_s"] = plain = plain_s(CASES[name], runs)
    for jobs in (1, 2):
        folder = Path(tempfile.mkdtemp())
        out = folder / "out"
        took_s = sweep_s(CASES[name], runs, jobs, out)
        found[f"sweep_{jobs}_s"] = took_s
        found[f"overhead_{jobs}_ms_a_run"] = 1e3 * (took_s * jobs - plain) / runs
        found["size_bytes"] = size_bytes(out)
        found["files"] = sum(file.is_file() for file in out.rglob("*"))
        shutil.rmtree(folder)
    return found


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for case in CASES:
        print(json.dumps(measure(case, count)), flush=True)
