"""Let a user's Python files import the files beside them, and keep those from other importers.

The folder is a package under a private name. In its files, `import helper` searches the folder
first. Sojourn and the libraries never search it, so a file with the name `html.py` or `numpy.py`
shadows no other module. The standard library and Sojourn itself cannot be replaced.
"""

import builtins
import importlib.util
import sys
import zlib
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_PREFIX = "sojourn_own_"
_NEVER = {"sojourn", *sys.stdlib_module_names}


def package(folder: Path) -> str:
    """Return the package name under which the files of a folder can be imported."""
    name = f"{_PREFIX}{zlib.crc32(bytes(folder)):08x}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module
        if not any(isinstance(one, _Finder) for one in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
    return name


def give_imports(module: ModuleType) -> None:
    """Let a module of such a package import the modules beside it by their plain names."""
    home = module.__name__.partition(".")[0]

    def imported(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        top = name.partition(".")[0]
        if level or not _is_there(home, top):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        found = builtins.__import__(f"{home}.{name}", globals, locals, fromlist or (), 0)
        # `import a.b` binds `a`.
        return found if fromlist else sys.modules[f"{home}.{top}"]

    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": imported}


def _is_there(home: str, top: str) -> bool:
    if top in _NEVER:
        return False
    name = f"{home}.{top}"
    if name in sys.modules:
        return True
    found = PathFinder.find_spec(name, sys.modules[home].__path__)
    if found is None or found.loader is not None:
        return found is not None
    # A folder without `__init__.py` is a namespace package (PEP 420), or holds only data.
    folders = [Path(one) for one in found.submodule_search_locations or ()]
    return any(map(_holds_python, folders)) and not _is_installed(top, folders)


def _holds_python(folder: Path) -> bool:
    return any(any(folder.glob(files)) for files in ("*.py", "*/__init__.py"))


def _is_installed(top: str, folders: Sequence[Path]) -> bool:
    """Return whether the name has a module outside of these folders."""
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return True
    if found is None or found.loader is not None:
        return found is not None
    own = {folder.resolve() for folder in folders}
    return any(Path(one).resolve() not in own for one in found.submodule_search_locations or ())


class _Finder(MetaPathFinder):
    """Find modules of those packages as Python does, and give them the same imports."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _loader(spec.loader)
        return spec


def _loader(plain: SourceFileLoader) -> Loader:
    return _Loader(plain.name, plain.path)


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        give_imports(module)
        super().exec_module(module)
