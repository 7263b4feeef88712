"""A user's Python files: loading, imports, and reports of their faults.

The folder of such a file is a package under a name of its own. In its files, `import helper` looks
in the standard library and Sojourn first, then in the folder, then among the libraries. All other
code never looks in the folder, so a `numpy.py` there does not replace the one that polars imports.
"""

import builtins
import importlib.util
import inspect
import linecache
import signal
import sys
import threading
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from sojourn import inputs, user_modules
from sojourn.errors import UsageError, UserCodeError

_PREFIX = "sojourn_own_"
_NEVER = {"sojourn", *sys.stdlib_module_names}
_ENDING = (signal.SIGINT, signal.SIGTERM)
# The content of each imported module.
_read: dict[str, bytes] = {}


@dataclass(frozen=True)
class Source:
    """The source text of a class or a function, as far as it is known."""

    qualname: str
    file: str | None
    text: str | None
    path: str | None = None
    """The file as the user named it, if it was loaded by name."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """The texts of the modules in its folder that it imports, by their relative paths."""

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the UTF-8 text, as `sha256sum` prints it."""
        import hashlib

        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def identity(self) -> str:
        """A hash of the code with its modules. Unknown code never has the same one again."""
        import hashlib
        import json

        code = uuid.uuid4().hex if self.text is None else self.text
        known = json.dumps([self.qualname, code, dict(self.modules)])
        return hashlib.blake2b(known.encode(), digest_size=16).hexdigest()

    @classmethod
    def of(cls, thing: Callable[..., Any]) -> "Source":
        """Find the file of a class or function; in a notebook, its own lines."""
        qualname = getattr(thing, "__qualname__", repr(thing))
        try:
            file = inspect.getsourcefile(thing)
            if file is not None and Path(file).is_file():
                return cls(qualname, Path(file).name, inputs.text(file))
            return cls(qualname, None, inspect.getsource(thing))
        except (OSError, TypeError, UsageError):
            return cls(qualname, None, None)


class Loader:
    """Load each Python file once, so that all classes of a file belong to one module."""

    def __init__(self) -> None:
        self._loaded: dict[Path, tuple[ModuleType, str]] = {}

    def load(self, file: str, name: str, text: str | None = None) -> tuple[Any, Source]:
        """Run a file unless it has run; return its `name`, with the source text that ran.

        `text` takes the place of the file's content.
        """
        place = Path(file).resolve()
        if place in self._loaded:
            text = self._loaded[place][1]
        elif text is None:
            text = inputs.text(file)
        with running(f"{file} cannot be loaded; no simulation ran"):
            if place not in self._loaded:
                _forget_changed(_package(place.parent))
                self._loaded[place] = _executed(file, text), text
            module, _ = self._loaded[place]
            found = getattr(module, name, None)
        if found is None:
            raise UsageError(f"{file}: it has no `{name}`; it has: {', '.join(_offers(module))}")
        package = _package(place.parent)
        modules = user_modules.beside(place.parent, text, lambda top: _is_in_folder(package, top))
        # The name of a pipe, such as /dev/fd/63, is invalid afterwards.
        named = Path(file).name if place.is_file() else None
        return found, Source(name, named, text, file, modules)


@contextmanager
def running(fault: str) -> Iterator[None]:
    """Run the user's code: report any exception as its fault, including `sys.exit(0)`."""
    with _signals_noted() as arrived:
        try:
            yield
        except UsageError:
            raise
        except BaseException as error:
            # A signal also raises an exception; only that one is not the fault of the user's code.
            if arrived:
                raise
            raise UserCodeError(fault) from error


def _forget_changed(package: str) -> None:
    """Load the modules of a folder anew if one of them was edited after it had been imported.

    A running process may load a controller again, as a notebook does.
    """
    loaded = [name for name in _read if name.startswith(f"{package}.") and name in sys.modules]
    if any(_is_changed(sys.modules[name].__file__, _read[name]) for name in loaded):
        for name in loaded:
            del sys.modules[name]


def _is_changed(file: str | None, content: bytes) -> bool:
    try:
        return file is None or inputs.whole(file) != content
    except (OSError, UsageError):
        return True


def _executed(file: str, text: str) -> ModuleType:
    path = Path(file)
    package = _package(path.resolve().parent)
    module = ModuleType(f"{package}.{path.stem}")
    module.__file__ = file
    module.__package__ = package
    _give_imports(module)
    # Dataclasses and annotations look up their module here; modules beside the file import it.
    sys.modules[module.__name__] = module
    # Tracebacks must show the text that ran; the file may be a pipe and cannot be read again.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except BaseException:
        # A module beside the file must not import the part that ran.
        sys.modules.pop(module.__name__, None)
        raise
    return module


def _offers(module: ModuleType) -> list[str]:
    named = vars(module).items()
    own = [name for name, one in named if getattr(one, "__module__", None) == module.__name__]
    return own or ["nothing of its own"]


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Yield a list of the signals that arrive meanwhile; each is handled as it was before.

    The user's code may raise the same exceptions as the handlers.
    """
    arrived: list[int] = []
    # Python runs handlers only on its main thread.
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return
    before = {number: signal.getsignal(number) for number in _ENDING}

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    handled = [number for number, handler in before.items() if callable(handler)]
    for number in handled:
        signal.signal(number, note)
    try:
        yield arrived
    finally:
        for number in handled:
            # The user's code may have installed another handler.
            if signal.getsignal(number) is note:
                signal.signal(number, before[number])


def _package(folder: Path) -> str:
    """Make the files of a folder importable; return the name of their package."""
    name = f"{_PREFIX}{zlib.crc32(bytes(folder)):08x}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module
        if not any(isinstance(one, _Finder) for one in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
    return name


def _give_imports(module: ModuleType) -> None:
    """Let a module of such a package import modules of its folder by their plain names."""
    home = module.__name__.partition(".")[0]

    def imported(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        top = name.partition(".")[0]
        if level or not _is_in_folder(home, top):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        found = builtins.__import__(f"{home}.{name}", globals, locals, fromlist or (), 0)
        # `import a.b` binds `a`.
        return found if fromlist else sys.modules[f"{home}.{top}"]

    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": imported}


def _is_in_folder(home: str, top: str) -> bool:
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
    """Return whether the name can be imported other than from these folders."""
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return True
    if found is None or found.loader is not None:
        return found is not None
    own = {folder.resolve() for folder in folders}
    return any(Path(one).resolve() not in own for one in found.submodule_search_locations or ())


class _Finder(MetaPathFinder):
    """Find modules of users' folders as Python does, and give them the same imports."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _FolderLoader(spec.loader.name, spec.loader.path)
        return spec


class _FolderLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile the file: cached code of the same second and size may be of another text."""
        _read[fullname] = self.get_data(self.path)
        return self.source_to_code(_read[fullname], self.path)

    def exec_module(self, module: ModuleType) -> None:
        _give_imports(module)
        super().exec_module(module)


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
    own = str(Path(__file__).resolve().parents[1])
    return kept if own in kept else [*kept, own]
