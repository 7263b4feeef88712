"""The modules beside a user's Python file.

The folder of such a file is a package under a name of its own. `import helper` in its files finds
the module in that folder; all other code never looks there, so a `pandas.py` does not become the
library that polars imports. A module runs the text that is recorded, and never cached bytecode.
"""

import ast
import builtins
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from sojourn import inputs
from sojourn.errors import UsageError

_PREFIX = "sojourn_own_"
_numbers = itertools.count(1)


class Home:
    """The folder of a user's files, with the texts of its modules when they were first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts: dict[Path, str] = {}
        self.package = f"{_PREFIX}{next(_numbers)}"
        self._owned: dict[str, bool] = {}
        module = ModuleType(self.package)
        module.__path__ = [str(folder)]
        sys.modules[self.package] = module
        _homes[self.package] = self
        if not any(isinstance(one, _Finder) for one in sys.meta_path):
            sys.meta_path.insert(0, _Finder())

    def beside(self, text: str) -> dict[str, str]:
        """Return the files of the folder that a module in it imports, and those that they import.

        The result maps relative paths to the texts that an import runs, and needs no run of the
        module. A package counts with all its modules. Raise `UsageError` for a file that has the
        name of a library.
        """
        found: dict[str, str] = {}
        waiting = [(self.folder, text)]
        while waiting:
            place, code = waiting.pop()
            for level, name in _imports(code):
                if level == 0 and not self.owns(name):
                    continue
                root = self.folder if level == 0 else _parent(place, level - 1)
                for file in _files(root, name):
                    is_below = file.is_relative_to(self.folder)
                    key = file.relative_to(self.folder).as_posix() if is_below else ""
                    if key and key not in found:
                        found[key] = self._text(file)
                        waiting.append((file.parent, found[key]))
        return dict(sorted(found.items()))

    def owns(self, name: str) -> bool:
        """Return whether `import NAME` means a module of the folder.

        Raise `UsageError` for one that has the name of a library. Python's own modules are never
        meant, nor is a folder without `__init__.py` (PEP 420) if a library has its name.
        """
        if name not in self._owned:
            self._owned[name] = self._finds(name)
        return self._owned[name]

    def _finds(self, name: str) -> bool:
        if name in sys.stdlib_module_names:
            return False
        own = PathFinder.find_spec(f"{self.package}.{name}", [str(self.folder)])
        if own is None:
            return False
        other = PathFinder.find_spec(name, installed_paths())
        is_taken = other is not None and not _places(other) <= _places(own)
        if is_taken and own.origin:
            what = "folder" if own.submodule_search_locations else "file"
            raise UsageError(
                f"{own.origin}: `import {name}` finds a library of this name; rename the {what}"
            )
        return not is_taken

    def _text(self, file: Path) -> str:
        if file not in self.texts:
            self.texts[file] = inputs.text(file)
        return self.texts[file]

    def give_imports(self, module: ModuleType) -> None:
        """Let a module import modules of the folder by their plain names."""

        def imported(
            name: str,
            globals: Mapping[str, object] | None = None,
            locals: Mapping[str, object] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            top = name.partition(".")[0]
            if level or not self.owns(top):
                return builtins.__import__(name, globals, locals, fromlist or (), level)
            own = f"{self.package}.{name}"
            found = builtins.__import__(own, globals, locals, fromlist or (), 0)
            # `import a.b` binds `a`.
            return found if fromlist else sys.modules[f"{self.package}.{top}"]

        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": imported}


_homes: dict[str, Home] = {}


class _Finder(MetaPathFinder):
    """Finds modules of users' folders as Python does, and gives them the same imports."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        home = _homes.get(fullname.partition(".")[0])
        if home is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path, home)
        return spec


class _Loader(SourceFileLoader):
    """Compiles the recorded text of a module."""

    def __init__(self, fullname: str, path: str, home: Home) -> None:
        super().__init__(fullname, path)
        self._home = home

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text: cached bytecode of the same second and size may be of another one."""
        text = self._home.texts.get(Path(self.path))
        if text is None:
            raise UsageError(
                f"{self.path}: it is imported by a name that the code computes, so its text is "
                "not recorded; write an import statement"
            )
        return self.source_to_code(text, self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with the imports of its folder."""
        self._home.give_imports(module)
        super().exec_module(module)


def _places(spec: ModuleSpec) -> set[Path]:
    """Return the file of a module, or the folders of a namespace package."""
    found = [spec.origin] if spec.origin else spec.submodule_search_locations or ()
    return {Path(one).resolve() for one in found}


def installed_paths() -> list[str]:
    """Return `sys.path` without the current folder and that of the user's script.

    Sojourn's own processes do not import from the user's folders.
    """
    refused = {Path.cwd().resolve()}
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


def _parent(place: Path, levels: int) -> Path:
    return place if levels == 0 else place.parents[levels - 1]


def _files(root: Path, name: str) -> list[Path]:
    module = root / f"{name}.py"
    return [*([module] if module.is_file() else []), *sorted((root / name).rglob("*.py"))]
