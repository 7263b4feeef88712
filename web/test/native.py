"""Prints the summaries and the verdict of a scenario, as the native simulator makes them."""

import json
import sys
from pathlib import Path

from sojourn import _core
from sojourn.record import verdicts
from sojourn.record.summary import Summary


def main(path: Path) -> None:
    """Print one JSON object: each run's summary as its exact text, and their meaning."""
    scenario = _core.Scenario.from_toml(str(path), path.read_text(), str(path.parent))
    texts = [
        scenario.simulation(control, scenario.seed()).finish().summary_json()
        for control in range(len(scenario.controls()))
    ]
    runs = [json.loads(text) for text in texts]
    summary: Summary = {"format": 2, "scenario": "", "version": "", "runs": runs}
    summary["unavoidable"] = json.loads(scenario.unavoidable(json.dumps(summary)))
    print(json.dumps({"summaries": texts, **verdicts.of(summary)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
