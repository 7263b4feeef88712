"""The modules beside a user's Python file that it imports, found without running it."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from sojourn import inputs


def beside(folder: Path, text: str, is_own: Callable[[str], bool]) -> dict[str, str]:
    """Return the files of a folder that a module in it imports, and those that they import.

    `is_own` says whether `import NAME` finds its module in the folder. The result maps relative
    paths to texts. A package counts with all its modules. Names that the code computes, as for
    `importlib.import_module`, stay unknown.
    """
    found: dict[str, str] = {}
    waiting = [(folder, text)]
    while waiting:
        place, code = waiting.pop()
        for level, name in _imports(code):
            if level == 0 and not is_own(name):
                continue
            root = folder if level == 0 else _parent(place, level - 1)
            for file in _files(root, name):
                key = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else ""
                if key and key not in found:
                    found[key] = inputs.text(file)
                    waiting.append((file.parent, found[key]))
    return dict(sorted(found.items()))


def _imports(code: str) -> Iterator[tuple[int, str]]:
    """Yield the level and the first name of each import statement."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        # Only a module that is never imported: the file itself has run.
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            named = [node.module] if node.module else [alias.name for alias in node.names]
            yield from ((node.level, name.partition(".")[0]) for name in named)


def _parent(place: Path, levels: int) -> Path:
    return place if levels == 0 else place.parents[levels - 1]


def _files(root: Path, name: str) -> list[Path]:
    module = root / f"{name}.py"
    return [*([module] if module.is_file() else []), *sorted((root / name).rglob("*.py"))]
