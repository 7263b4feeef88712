"""`sojourn check`, `sojourn schema`, and how the command line reads a scenario."""

import argparse
import json
import sys
from pathlib import Path

from sojourn import _core, api, reference
from sojourn.cli import show_scenario_error
from sojourn.errors import UsageError


def read(file: str) -> _core.Scenario:
    """Reads a scenario file, not checked yet; errors name it as it was typed."""
    try:
        text = Path(file).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 text (byte {error.start})") from error
    return _core.Scenario.from_toml(file, text, str(Path(file).parent))


def check(args: argparse.Namespace) -> int:
    """Validates every file, and says of each whether it is right."""
    return max(_check_one(file) for file in args.files)


def schema(args: argparse.Namespace) -> int:
    """Prints the JSON Schema, or what it says as a document."""
    if args.markdown:
        sys.stdout.write(_reference())
    else:
        print(json.dumps(api.schema(), indent=2, ensure_ascii=False))
    return 0


def _reference() -> str:
    listed = [
        reference.Listed({one["name"] for one in entries}, command)
        for entries, command in (
            (api.controllers(), "sojourn controllers"),
            (api.queues(), "sojourn queues"),
        )
    ]
    return reference.markdown(api.schema(), listed)


def _check_one(file: str) -> int:
    try:
        scenario = read(file)
        scenario.check()
    except _core.ScenarioError as error:
        show_scenario_error(error)
        return 2
    except UsageError as error:
        print(f"sojourn: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"sojourn: {file}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{file}: ok ({_describe(scenario)})")
    return 0


def _describe(scenario: _core.Scenario) -> str:
    controls = [name for name in scenario.controls() if name is not None]
    runs = f", for each of {', '.join(controls)}" if controls else ""
    return f"{scenario.title()}, {scenario.duration_s():g} s{runs}"
