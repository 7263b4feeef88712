"""Tries the compiled module of an installed wheel: it simulates every shipped scenario.

    python release/try_module.py

For Windows, which the command line does not support. Prints one line for each scenario; exits with
1 if a run has no result.
"""

import json
import sys
from pathlib import Path

import sojourn
from sojourn import _core


def main() -> int:
    """Simulate the first run of each scenario."""
    folder = Path(sojourn.__file__).parent / "shipped" / "scenarios"
    files = sorted(folder.glob("*.toml"))
    for file in files:
        scenario = _core.Scenario.from_toml(file.name, file.read_text("utf-8"), str(folder))
        outcome = scenario.simulation(0, scenario.seed()).finish()
        flows = json.loads(outcome.summary_json())["flows"]
        print(f"{file.stem}: {len(flows)} flows", flush=True)
        if not flows:
            return 1
    return 0 if files else 1


if __name__ == "__main__":
    sys.exit(main())
