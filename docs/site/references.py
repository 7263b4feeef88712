"""Writes the reference: docs/reference, and the page of Python, which the site has in full.

`python docs/site/references.py` writes the documents of docs/reference that the tests compare.
"""

import argparse
import ast
import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import sojourn
from sojourn import _core
from sojourn.cli.commands import COMMANDS, Command, parser_of

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
LISTINGS = ("controllers", "queues", "hosts", "columns")
_GROUPS = {
    "Runs": (
        "run",
        "live",
        "load",
        "compare",
        "combine",
        "Run",
        "Selection",
        "Comparison",
        "Figure",
    ),
    "Scenarios": ("Scenario", "schema", "controllers", "queues", "hosts"),
    "Studies": ("sweep", "Dataset", "worst", "Counterexample"),
    "Controllers of your own": ("Controller", "Param"),
}
_VALUES = ("Setup", "Feedback", "RateSample", "Received", "Sent", "Limits")
_MODULES = ("theory", "captures", "qlog", "gym")


def tracked() -> dict[str, str]:
    """Return the generated documents of docs/reference by their names without `.md`."""
    printed = {name: _printed(name, "--markdown") for name in LISTINGS}
    return {
        "scenario": _printed("schema", "--markdown"),
        "commands": _commands(),
        "python": _names(),
        **printed,
    }


def write(target: Path) -> None:
    """Write the page of Python with all docstrings, in place of the list, below a folder."""
    target.mkdir(parents=True, exist_ok=True)
    (target / "python.md").write_text(_python(), "utf-8")


def _printed(*command: str) -> str:
    line = [sys.executable, "-m", "sojourn", *command]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def _commands() -> str:
    """Describe all commands by their parsers."""
    rows = [(f"[{one.name}](#sojourn-{one.name.replace(' ', '-')})", one.help) for one in COMMANDS]
    intro = "Every command with its options, from the parsers behind `sojourn COMMAND --help`."
    parts = ["# Commands", intro, _table(("command", "what it does"), rows)]
    return "\n\n".join([*parts, *map(_command, COMMANDS)]) + "\n"


def _command(command: Command) -> str:
    parser = parser_of(command)
    listed = [one for one in parser._actions if one.dest != "help"]
    usage = (parser.usage or _usage(parser, listed)).strip()
    parts = [f"## `sojourn {command.name}`", parser.description or "", f"```text\n{usage}\n```"]
    if listed:
        rows = [(_argument(one), _meaning(parser, one)) for one in listed]
        parts.append(_table(("argument", "meaning"), rows))
    for group in parser._mutually_exclusive_groups:
        options = " and ".join(f"`{one.option_strings[-1]}`" for one in group._group_actions)
        parts.append(f"Only one of {options} may be given.")
    if parser.epilog:
        parts.append(f"```text\n{parser.epilog.strip()}\n```")
    return "\n\n".join(parts)


def _usage(parser: argparse.ArgumentParser, listed: Sequence[argparse.Action]) -> str:
    needed = [_written(one) for one in listed if one.required and one.option_strings]
    options = any(one.option_strings and not one.required for one in listed)
    places = [_place(one) for one in listed if not one.option_strings]
    return " ".join([parser.prog, *(["[options]"] if options else []), *needed, *places])


def _place(action: argparse.Action) -> str:
    """Return a positional argument in the form of argparse's usage."""
    name = _value(action)
    forms = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}
    return forms.get(str(action.nargs), name)


def _argument(action: argparse.Action) -> str:
    """Return the first cell of an argument's row: all its names, the last one with its value."""
    *others, _ = action.option_strings or [""]
    return ", ".join(f"`{name}`" for name in (*others, _written(action)))


def _written(action: argparse.Action) -> str:
    if not action.option_strings:
        return _value(action)
    value = "" if action.nargs == 0 else _value(action)
    return f"{action.option_strings[-1]} {f'[{value}]' if action.nargs == '?' else value}".strip()


def _value(action: argparse.Action) -> str:
    if action.metavar is None and action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return str(action.metavar or action.dest.upper())


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return " ".join(parser._get_formatter()._expand_help(action).split())


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_cell, line))} |" for line in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def _cell(text: str) -> str:
    return text.replace("|", "&#124;")


def _names() -> str:
    """List the names of the package, and the members of its classes."""
    intro = (
        "The names of the package `sojourn`, from their docstrings. `python -m pydoc sojourn.run` "
        "describes the arguments, as does [the site](../install.md#the-documents-as-a-site)."
    )
    groups: dict[str, Sequence[str]] = {**_GROUPS, "Values of a controller": _VALUES}
    listed = {*_MODULES, "__version__", *(name for names in groups.values() for name in names)}
    rest = [name for name in sojourn.__all__ if name not in listed]
    errors = [name for name in rest if _is_error(name)]
    groups |= {"Errors": errors, "More": [name for name in rest if name not in errors]}
    parts = ["# Python", intro]
    for group, names in groups.items():
        rows = [(f"`{_call(name)}`", _first(inspect.getdoc(_found(name)))) for name in names]
        parts += [f"## {group}", _table(("name", "meaning"), rows)] if rows else []
        for name in names:
            parts += _members(name) if isinstance(_found(name), type) else []
    return "\n\n".join([*parts, "## Modules", *map(_module, _MODULES)]) + "\n"


def _found(name: str) -> object:
    return getattr(sojourn, name)


def _call(name: str) -> str:
    """Return the name; that of a function with its arguments, of a dataclass with its fields."""
    found = _found(name)
    has_arguments = inspect.isfunction(found) or dataclasses.is_dataclass(found)
    if not (has_arguments and callable(found)):
        return name
    return f"{name}({', '.join(inspect.signature(found).parameters)})"


def _first(doc: str | None) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((doc or "").partition("\n\n")[0].split())


def _documented(found: object) -> list[tuple[str, str]]:
    """Return the methods and properties of a class, those of its bases in the package included."""
    members: dict[str, object] = {}
    for base in reversed(found.__mro__) if isinstance(found, type) else ():
        if base.__module__.startswith("sojourn"):
            members |= vars(base)
    plain = (str, tuple, type(None))
    return [
        (f"`{name}`", _first(inspect.getdoc(member)))
        for name, member in sorted(members.items())
        if not name.startswith("_") and not isinstance(member, plain)
    ]


def _members(name: str) -> list[str]:
    """Describe a class that has members, or more to say than its line."""
    found = _found(name)
    doc, rows = inspect.getdoc(found) or "", _documented(found)
    if not rows and "\n\n" not in doc:
        return []
    return [f"### {name}", doc, *([_table(("member", "meaning"), rows)] if rows else [])]


def _module(name: str) -> str:
    """Describe a module by its source: the import may need an optional part."""
    spec = find_spec(sojourn._MODULES.get(name, f"sojourn.{name}"))
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    rows = [
        (f"`{one.name}({', '.join(_arguments(one.args))})`", _first(ast.get_docstring(one)))
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
    ]
    head = f"### `sojourn.{name}`\n\n{_first(ast.get_docstring(tree))}"
    return f"{head}\n\n{_table(('function', 'meaning'), rows)}"


def _arguments(of: ast.arguments) -> list[str]:
    return [one.arg for one in (*of.posonlyargs, *of.args, *of.kwonlyargs)]


def _python() -> str:
    parts = ["# Python", "The names of the package `sojourn`. Each loads its module on first use."]
    listed = {name for names in _GROUPS.values() for name in names}
    core = [name for name in sojourn.__all__ if isinstance(getattr(_core, name, None), type)]
    errors = [name for name in sojourn.__all__ if _is_error(name)]
    for group, names in _GROUPS.items():
        parts.append(f"## {group}")
        parts += [_autodoc(name) for name in names]
    parts += [
        "## Values of a controller",
        *(_class(getattr(_core, name)) for name in core if name not in errors),
    ]
    parts += ["## Errors", _table(("error", "meaning"), [_error(name) for name in errors])]
    rest = set(sojourn.__all__) - listed - set(core) - set(errors) - set(_MODULES) - {"__version__"}
    if rest:
        parts += ["## More", *(_autodoc(name) for name in sorted(rest))]
    parts += ["## Modules", *(_autodoc(name) for name in _MODULES)]
    return "\n\n".join(parts) + "\n"


def _is_error(name: str) -> bool:
    found = getattr(sojourn, name)
    return isinstance(found, type) and issubclass(found, BaseException)


def _error(name: str) -> tuple[str, str]:
    return f"`sojourn.{name}`", " ".join((inspect.getdoc(getattr(sojourn, name)) or "").split())


def _autodoc(name: str) -> str:
    found = getattr(sojourn, name, None)
    if not inspect.isfunction(found):
        return f"::: sojourn.{name}"
    # A package may have the function's name, and hides it from a reader of the source.
    return f"::: {found.__module__}.{name}\n    options:\n      heading: sojourn.{name}"


def _class(one: type) -> str:
    """Describe a class of the compiled module, whose source no tool for Python reads."""
    members = [
        (f"`{name}`", " ".join((inspect.getdoc(member) or "").split()))
        for name, member in vars(one).items()
        if not name.startswith("_") and inspect.getdoc(member)
    ]
    return "\n\n".join(
        [
            f"### {one.__name__}",
            " ".join((inspect.getdoc(one) or "").split()),
            _table(("field", "meaning"), members) if members else "",
        ]
    )


if __name__ == "__main__":
    for name, text in tracked().items():
        (REFERENCE / f"{name}.md").write_text(text, "utf-8")
