"""`sojourn check`, `sojourn schema`, and the reading of scenarios for all commands."""

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from pathlib import Path
from typing import Any

from sojourn import _core, inputs, terminal
from sojourn.cli import schema_reference
from sojourn.cli.options import add_control_option, add_controller_option, file_name
from sojourn.errors import UsageError
from sojourn.run import api, experiment, shipped
from sojourn.user.controllers import Factory, UserControllers
from sojourn.user.loading import Loader, Source


def load_controllers(arguments: Sequence[str]) -> UserControllers:
    """Load the controllers of `--controller`."""
    found: dict[str, tuple[Factory, Source]] = {}
    loader = Loader()
    with prints_aside():
        for argument in arguments:
            name, file, thing = _parts(argument)
            if name in found:
                raise UsageError(f"--controller names {name!r} twice; write NAME=FILE.py:CLASS")
            found[name] = loader.load(file, thing)
        factories = {name: one[0] for name, one in found.items()}
        controllers = UserControllers(factories, [one[1] for one in found.values()])
    for sentence in controllers.misspelled:
        terminal.say(f"note: {sentence}")
    return controllers


def require_named(control: Sequence[str] | None, controllers: UserControllers) -> None:
    """Refuse an unknown controller in `--control` beside `--controller`, which names its own."""
    known = [one["name"] for one in json.loads(_core.controllers())]
    for name in control or ():
        if controllers and name not in known and name not in controllers.names:
            own = ", ".join(f"`{one}`" for one in controllers.names)
            raise UsageError(
                f"there is no controller `{name}`; --controller adds {own}: give --control that "
                f"name, or write --controller {name}=FILE.py:CLASS; Sojourn has {', '.join(known)}"
            )


def prints_aside() -> AbstractContextManager[object]:
    """Send a controller's prints to standard error, since standard output is for data."""
    return redirect_stdout(sys.stderr)


def _parts(argument: str) -> tuple[str, str, str]:
    """Split `[NAME=]FILE.py:CLASS` into name, file and class."""
    name, equals, rest = argument.rpartition("=")
    file, colon, thing = rest.rpartition(":")
    if not colon or not file or not thing.isidentifier() or (equals and not name):
        raise UsageError(
            f"--controller {argument}: write FILE.py:CLASS or NAME=FILE.py:CLASS, such as "
            "mine=mine.py:Mine"
        )
    return name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", thing).lower(), file, thing


def read(file: str) -> _core.Scenario:
    """Read a scenario file without checking it; errors name the file as the user typed it.

    A scenario of the package may be named instead (`sojourn scenarios`). Traces of a scenario from
    standard input are relative to the current folder.
    """
    text = inputs.text(inputs.opened_as(file) if file == "-" else shipped.located(file))
    return _core.Scenario.from_toml(file, text, folder_of(file))


def prepared(
    args: argparse.Namespace,
    user_controllers: UserControllers | None = None,
    host: Mapping[str, str] | None = None,
) -> _core.Scenario:
    """Read the scenario of a command, and apply the changes that its options ask for."""
    with prints_aside():
        scenario = read(args.file)
        note_replaced(scenario, args.control)
        return experiment.prepare(
            scenario,
            assignments=args.set,
            control=args.control,
            seed=args.seed,
            spread=args.spread,
            user_controllers=user_controllers,
            host=host,
        )


def folder_of(file: str) -> str:
    """Return the folder at which the relative paths of a scenario file start."""
    return str(Path(file if file == "-" else shipped.located(file)).parent)


def note_replaced(scenario: _core.Scenario, control: Sequence[str] | None) -> None:
    """Report the controllers with parameters that `--control` replaces.

    It replaces the controllers of the flows if each flow names one.
    """
    if control is None:
        return
    flows = json.loads(scenario.to_json()).get("flow", {})
    own: dict[str, Any] = {
        name: flow.get("control") for name, flow in flows.items() if isinstance(flow, dict)
    }
    if None in own.values():
        return
    for name, table in own.items():
        params = [key for key in table if key != "kind"] if isinstance(table, dict) else []
        if params and table.get("kind") != "none":
            terminal.say(
                f"note: --control replaces the controller {table.get('kind')} of flow {name} with "
                f"its {', '.join(params)}; --set flow.{name}.control.kind=NAME keeps them"
            )


def declare_check(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn check`."""
    parser.add_argument(
        "files", metavar="FILE", type=file_name, nargs="+", help="scenarios; - for standard input"
    )
    add_control_option(parser)
    add_controller_option(parser)
    parser.set_defaults(execute=check)


def check(args: argparse.Namespace) -> int:
    """Validate every file and report whether it is correct."""
    controllers = load_controllers(args.controller)
    require_named(args.control, controllers)
    return max(_check_one(file, args.control, controllers) for file in args.files)


def declare_schema(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn schema`."""
    parser.add_argument(
        "--markdown", action="store_true", help="print a Markdown reference of all keys instead"
    )
    add_controller_option(parser)
    parser.set_defaults(execute=schema)


def schema(args: argparse.Namespace) -> int:
    """Print the JSON Schema, or its content as a document."""
    if args.markdown:
        sys.stdout.write(_reference(args))
    else:
        print(json.dumps(_schema(args), indent=2))
    return 0


def _schema(args: argparse.Namespace) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(load_controllers(args.controller).catalogue.schema())
    return schema


def _reference(args: argparse.Namespace) -> str:
    listed = [
        schema_reference.Listed({one["name"] for one in entries}, command)
        for entries, command in (
            (
                json.loads(load_controllers(args.controller).catalogue.controllers()),
                "sojourn controllers",
            ),
            (api.queues(), "sojourn queues"),
        )
    ]
    return schema_reference.markdown(_schema(args), listed)


def _check_one(file: str, control: Sequence[str] | None, controllers: UserControllers) -> int:
    try:
        scenario = read(file)
        note_replaced(scenario, control)
        with prints_aside():
            experiment.prepare(scenario, control=control, user_controllers=controllers)
    except _core.ScenarioError as error:
        terminal.say_scenario_error(error)
        return terminal.BAD_INPUT
    except UsageError as error:
        terminal.say(f"sojourn: {error}")
        return terminal.BAD_INPUT
    except OSError as error:
        terminal.say(f"sojourn: {file}: {error.strerror}")
        return terminal.BAD_INPUT
    print(terminal.one_line(f"{file}: ok ({_describe(scenario)})"))
    return 0


def _describe(scenario: _core.Scenario) -> str:
    controls = [name for name in scenario.controls() if name is not None]
    runs = f", for each of {', '.join(controls)}" if controls else ""
    title = f"{scenario.title()}, " if scenario.title() else ""
    return f"{title}{scenario.duration_s():g} s{runs}"
