"""Start-up time of the command: wall-clock time from the shell, including Python."""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from sojourn.bench import child, worker
from sojourn.bench.contract import Startup
from sojourn.bench.plan import STARTUP


def measure(times: int) -> Startup:
    """Time `--help`, and a one-second simulation with `--json`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "second.toml"
        file.write_text(worker.scenario(STARTUP).to_toml(), "utf-8")
        # Alternate both, so that a slow moment of the machine affects both.
        pairs = [(_wall(["--help"]), _wall(["run", str(file), "--json"])) for _ in range(times)]
    helps, runs = zip(*pairs, strict=True)
    return {
        "help_best_s": min(helps),
        "help_median_s": median(helps),
        "run_best_s": min(runs),
        "run_median_s": median(runs),
    }


def _wall(args: Sequence[str]) -> float:
    command = child.command("from sojourn.cli import main; sys.exit(main())", args)
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began
