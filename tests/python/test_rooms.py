"""Imports between the modules and the packages of Sojourn run one way, as CONTRIBUTING shows."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence, Set
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
    assert {"sojourn.run.results", "sojourn._core"} <= graph["sojourn"]
    assert cycle(graph) == []


def sketch(document: str) -> list[set[str]]:
    """Return the floors of the sketch in a document, the lowest first."""
    found = re.search(r"```text\n(shared modules <- .*)\n```", document)
    assert found is not None
    return [{room.strip() for room in floor.split(",")} for floor in found[1].split("<-")]


def room(module: str) -> str | None:
    """Return the room of a module; the package's own two files only hand names on."""
    package, _, rest = module.partition(".")
    first = rest.partition(".")[0]
    if package != "sojourn" or first in ("", "__main__"):
        return None
    file = PYTHON / "sojourn" / first
    return first if file.is_dir() or first == "gym" else "shared modules"


def against(floors: Sequence[Set[str]], graph: Mapping[str, Set[str]]) -> list[str]:
    """Return the imports that do not lead to a lower floor."""
    floor = {room: number for number, rooms in enumerate(floors) for room in rooms}
    pairs = [(name, one) for name, used in graph.items() for one in sorted(used)]
    named = [(name, one, room(name), room(one)) for name, one in pairs]
    return [
        f"{name} imports {one}"
        for name, one, upper, lower in named
        if upper and lower and upper != lower and floor[upper] <= floor[lower]
    ]


def test_rooms_import_lower_rooms_alone() -> None:
    floors = sketch((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    graph = imports(PYTHON)
    rooms = {one for name in graph if (one := room(name)) is not None}
    assert rooms == set().union(*floors)
    assert against(floors, graph) == []


def test_an_import_against_the_sketch_is_found() -> None:
    floors = [{"shared modules"}, {"record"}, {"picture", "user"}]
    graph = {
        "sojourn.picture.page": {"sojourn.record.legend", "sojourn.user.learning"},
        "sojourn.record.legend": {"sojourn.picture.page", "sojourn._core"},
        "sojourn.errors": {"sojourn.record.legend"},
        "sojourn": {"sojourn.user.learning"},
    }
    assert against(floors, graph) == [
        "sojourn.picture.page imports sojourn.user.learning",
        "sojourn.record.legend imports sojourn.picture.page",
        "sojourn.errors imports sojourn.record.legend",
    ]


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
