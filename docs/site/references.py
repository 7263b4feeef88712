"""Writes the pages of the reference that only the site has in full: commands and Python."""

import inspect
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import sojourn
from sojourn import _core
from sojourn.cli.commands import COMMANDS

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
    "Scenarios": ("Scenario", "schema", "controllers", "queues"),
    "Studies": ("sweep", "Dataset", "worst", "Counterexample"),
    "Controllers of your own": ("Controller", "Param"),
}
_MODULES = ("theory", "captures", "qlog", "gym")


def write(target: Path) -> None:
    """Write both pages below a folder."""
    target.mkdir(parents=True, exist_ok=True)
    pages = {
        "commands": _commands(),
        "python": _python(),
    }
    for name, text in pages.items():
        (target / f"{name}.md").write_text(text, "utf-8")


def _commands() -> str:
    parts = ["# Commands", "The help of each command. `sojourn COMMAND --help` prints it."]
    for command in COMMANDS:
        line = [sys.executable, "-m", "sojourn", *command.name.split(), "--help"]
        given = {**os.environ, "COLUMNS": "90"}
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=given)
        parts += [f"## `sojourn {command.name}`", f"```text\n{done.stdout.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines
    )


def _python() -> str:
    parts = ["# Python", "The names of the package `sojourn`. Each loads its module on first use."]
    listed = {name for names in _GROUPS.values() for name in names}
    core = [name for name in sojourn.__all__ if isinstance(getattr(_core, name, None), type)]
    errors = [name for name in sojourn.__all__ if _is_error(name)]
    for group, names in _GROUPS.items():
        parts.append(f"## {group}")
        parts += [_autodoc(f"sojourn.{name}") for name in names]
    parts += [
        "## Values of a controller",
        *(_class(getattr(_core, name)) for name in core if name not in errors),
    ]
    parts += ["## Errors", _table(("error", "meaning"), [_error(name) for name in errors])]
    rest = set(sojourn.__all__) - listed - set(core) - set(errors) - set(_MODULES) - {"__version__"}
    if rest:
        parts += ["## More", *(_autodoc(f"sojourn.{name}") for name in sorted(rest))]
    parts += ["## Modules", *(_autodoc(f"sojourn.{name}") for name in _MODULES)]
    return "\n\n".join(parts) + "\n"


def _is_error(name: str) -> bool:
    found = getattr(sojourn, name)
    return isinstance(found, type) and issubclass(found, BaseException)


def _error(name: str) -> tuple[str, str]:
    return f"`sojourn.{name}`", " ".join((inspect.getdoc(getattr(sojourn, name)) or "").split())


def _autodoc(name: str) -> str:
    return f"::: {name}"


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
