"""Imports between the modules of the package run one way."""

import ast
from collections.abc import Iterator, Mapping, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from sojourn.cli.commands import COMMANDS
from support import ROOT

PYTHON = ROOT / "python"


def modules(root: Path) -> dict[str, Path]:
    """Return every module below a folder by its dotted name, without the copies of papers."""
    named = {
        file.relative_to(root).with_suffix(""): file
        for file in root.rglob("*.py*")
        if "shipped" not in file.relative_to(root).parts
    }
    return {
        ".".join(path.parts).removesuffix(".__init__"): file
        for path, file in named.items()
        if file.suffix in (".py", ".pyi")
    }


def imported(file: Path, known: Set[str]) -> Iterator[str]:
    """Yield the modules that a file imports, at any depth and for type checkers too."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            # The last part may name a function of the module.
            found = next((one for one in (name, name.rpartition(".")[0]) if one in known), None)
            if found is not None:
                yield found


def cycle(graph: Mapping[str, Set[str]]) -> list[str]:
    """Return one cycle of imports; an empty list without a cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def imports(root: Path) -> dict[str, set[str]]:
    """Return the modules that each module below a folder imports.

    A stub has no imports: it describes the compiled module, which is below all others.
    """
    known = modules(root)
    return {
        name: {one for one in imported(file, known.keys()) if one != name}
        if file.suffix == ".py"
        else set()
        for name, file in known.items()
    }


def test_imports_run_one_way() -> None:
    graph = imports(PYTHON)
    # The command line imports the modules of its commands by their names.
    declaring = {command.declare.partition(":")[0] for command in COMMANDS}
    assert declaring <= graph.keys()
    graph["sojourn.cli.commands"] |= declaring
    # The graph is of the whole package, and not empty.
    assert {"sojourn.results", "sojourn._core"} <= graph["sojourn"]
    assert cycle(graph) == []


@pytest.mark.parametrize(
    "line",
    [
        "from sojourn import upper",
        "import sojourn.upper",
        "def late():\n    from sojourn.upper import name",
        "if TYPE_CHECKING:\n    from sojourn.upper import name",
    ],
)
def test_an_import_back_up_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "sojourn").mkdir()
    (tmp_path / "sojourn" / "__init__.py").touch()
    (tmp_path / "sojourn" / "upper.py").write_text("from sojourn import lower\n")
    (tmp_path / "sojourn" / "lower.py").write_text(f"{line}\n")
    assert set(cycle(imports(tmp_path))) == {"sojourn.lower", "sojourn.upper"}
