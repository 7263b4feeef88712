"""The modules beside a user's Python file, whose folder is on Python's path as that of a script.

It is the last place of the path, and `import pandas` in a file beside a `pandas.py` is refused if
there is a library of this name: the libraries of Sojourn would import the file in its place.
"""

import ast
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from sojourn import inputs
from sojourn.errors import UsageError

_on_path: list[str] = []


def beside(folder: Path, text: str) -> dict[str, str]:
    """Put a folder on the path; return its files that a module in it imports, and those they do.

    The result maps relative paths to texts, and needs no run of the module. A package counts with
    all its modules. Raise `UsageError` for a file that has the name of a library, or of a module in
    another user's folder.
    """
    found: dict[str, str] = {}
    waiting = [(folder, text)]
    while waiting:
        place, code = waiting.pop()
        for level, name in _imports(code):
            if level == 0 and not _owns(folder, name):
                continue
            root = [place, *place.parents][level - 1] if level else folder
            for file in _files(root, name):
                key = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else ""
                if key and key not in found:
                    found[key] = inputs.text(file)
                    waiting.append((file.parent, found[key]))
    if str(folder) not in _on_path:
        _on_path.append(str(folder))
        sys.path.append(_on_path[-1])
    return dict(sorted(found.items()))


def forget() -> None:
    """Take the folders off the path, so that their modules are read anew."""
    # An equal entry may be the user's own.
    own = set(map(id, _on_path))
    sys.path[:] = [one for one in sys.path if id(one) not in own]
    for folder in _on_path:
        for name in [one for one in sys.modules if _is_in(folder, one)]:
            del sys.modules[name]
    _on_path.clear()
    # Python keeps the names of a folder's files.
    invalidate_caches()


def _is_in(folder: str, name: str) -> bool:
    """Return whether a module, or the package that contains it, is one of the folder."""
    top = sys.modules.get(name.partition(".")[0])
    places = list(getattr(top, "__path__", ())) or [getattr(top, "__file__", None) or ""]
    return any(str(Path(one).parent) == folder for one in places)


def _owns(folder: Path, name: str) -> bool:
    """Return whether `import NAME` means a module of the folder.

    Python's own modules are never meant, nor is a folder without `__init__.py` (PEP 420) if a
    library has its name.
    """
    own = PathFinder.find_spec(name, [str(folder)])
    if own is None or name in sys.stdlib_module_names:
        return False
    other = PathFinder.find_spec(name, [*installed_paths(), *_on_path])
    is_taken = other is not None and not _places(other) <= _places(own)
    if is_taken and own.origin:
        what = "folder" if own.submodule_search_locations else "file"
        raise UsageError(
            f"{own.origin}: `import {name}` finds another module of this name; rename the {what}"
        )
    return not is_taken


def _places(spec: ModuleSpec) -> set[Path]:
    """Return the file of a module, or the folders of a namespace package."""
    found = [spec.origin] if spec.origin else spec.submodule_search_locations or ()
    return {Path(one).resolve() for one in found}


def installed_paths() -> list[str]:
    """Return `sys.path` without the current folder and that of the user's script.

    Sojourn's own processes do not import from the user's folders.
    """
    refused = {Path.cwd().resolve(), *map(Path, _on_path)}
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    # A module (`python -m`) may lie among the libraries, and puts no folder of its own first.
    if script and getattr(main, "__spec__", None) is None:
        refused.add(Path(script).resolve().parent)
    found = [Path(place).absolute() for place in sys.path if place]
    kept = [str(place) for place in found if place.resolve() not in refused]
    own = str(Path(__file__).resolve().parents[2])
    return kept if own in kept else [*kept, own]


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


def _files(root: Path, name: str) -> list[Path]:
    module = root / f"{name}.py"
    return [*([module] if module.is_file() else []), *sorted((root / name).rglob("*.py"))]
