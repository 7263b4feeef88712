"""The modules beside a user's Python file.

The folder of such a file is at the end of `sys.path`: `import helper` finds the module beside the
file, and a `numpy.py` there does not replace the library that polars imports.
"""

import ast
import importlib
import sys
import zlib
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from sojourn import inputs
from sojourn.errors import UsageError

_PREFIX = "sojourn_own_"
# Folders of users' files, that of the last one first.
_folders: list[str] = []


def put_on_path(folder: Path) -> None:
    """Let imports find the modules of a folder, and load them anew.

    A running process may load a controller again after an edit, as a notebook does. Another folder
    may have modules of the same names.
    """
    prefix, folders = f"{package(folder)}.", [folder, *map(Path, _folders)]
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/").absolute()
        if any(file in _places(name.removeprefix(prefix), one) for one in folders):
            del sys.modules[name]
    kept = [one for one in sys.path if one not in _folders]
    _folders[:] = [str(folder), *(one for one in _folders if one != str(folder))]
    sys.path[:] = [*kept, *_folders]
    importlib.invalidate_caches()


def package(folder: Path) -> str:
    """Return the name of a package of the files of a folder, for relative imports."""
    name = f"{_PREFIX}{zlib.crc32(bytes(folder)):08x}"
    sys.modules.setdefault(name, ModuleType(name)).__path__ = [str(folder)]
    return name


def finds(name: str, folder: Path) -> bool:
    """Return whether `import NAME` finds a module of the folder."""
    if name in sys.stdlib_module_names:
        return False
    found = PathFinder.find_spec(name)
    if found is None:
        return False
    # A folder without `__init__.py` is a namespace package (PEP 420).
    places = [found.origin] if found.origin else found.submodule_search_locations or ()
    return any(Path(one).resolve() in _places(name, folder) for one in places)


def _places(name: str, folder: Path) -> tuple[Path, Path, Path]:
    """Return the places of a module in a folder: its file, or its package."""
    place = folder.joinpath(*name.split("."))
    return place.with_name(f"{place.name}.py"), place / "__init__.py", place


def beside(folder: Path, text: str) -> dict[str, str]:
    """Return the files of a folder that a module in it imports, and those that they import.

    The folder is on the path. The result maps relative paths to texts, and needs no run of the
    module. A package counts with all its modules. Names that the code computes, as for
    `importlib.import_module`, stay unknown.
    """
    found: dict[str, str] = {}
    waiting = [(folder, text)]
    while waiting:
        place, code = waiting.pop()
        for level, name in _imports(code):
            if level == 0 and not _is_own(name, folder):
                continue
            root = folder if level == 0 else _parent(place, level - 1)
            for file in _files(root, name):
                key = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else ""
                if key and key not in found:
                    found[key] = inputs.text(file)
                    waiting.append((file.parent, found[key]))
    return dict(sorted(found.items()))


def _is_own(name: str, folder: Path) -> bool:
    """Return what `finds` returns; refuse a file of the folder that a library of its name hides."""
    is_own = finds(name, folder)
    file = folder / f"{name}.py"
    if not is_own and file.is_file() and name not in sys.stdlib_module_names:
        raise UsageError(f"{file}: `import {name}` finds a library of this name; rename the file")
    return is_own


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
