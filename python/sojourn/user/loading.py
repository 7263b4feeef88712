"""A user's Python files: their loading, and reports of their faults."""

import inspect
import itertools
import linecache
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from sojourn import inputs
from sojourn.errors import UsageError, UserCodeError
from sojourn.user import modules

_numbers = itertools.count(1)
_ENDING = (signal.SIGINT, signal.SIGTERM)


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
    """Load each Python file once, so that all classes of a file belong to one module.

    Another loader runs the files and the modules beside them anew, as they are then.
    """

    def __init__(self) -> None:
        self._loaded: dict[Path, tuple[ModuleType, str, Mapping[str, str]]] = {}
        modules.forget()

    def load(self, file: str, name: str, text: str | None = None) -> tuple[Any, Source]:
        """Run a file unless it has run; return its `name`, with the source text that ran.

        `text` takes the place of the file's content.
        """
        place = Path(file).resolve()
        if place not in self._loaded and text is None:
            text = inputs.text(file)
        with running(f"{file} cannot be loaded; no simulation ran"):
            if place not in self._loaded:
                assert text is not None
                self._loaded[place] = _run(file, place.parent, text)
            module, text, beside = self._loaded[place]
            found = getattr(module, name, None)
        if found is None:
            raise UsageError(f"{file}: it has no `{name}`; it has: {', '.join(_offers(module))}")
        # The name of a pipe, such as /dev/fd/63, is invalid afterwards.
        named = Path(file).name if place.is_file() else None
        return found, Source(name, named, text, file, beside)


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


def _run(file: str, folder: Path, text: str) -> tuple[ModuleType, str, Mapping[str, str]]:
    beside = modules.beside(folder, text)
    # The folder is a package of its own for relative imports, as papers have.
    package = ModuleType(f"sojourn_own_{next(_numbers)}")
    package.__path__ = [str(folder)]
    module = ModuleType(f"{package.__name__}.{Path(file).stem}")
    module.__file__ = file
    module.__package__ = package.__name__
    # Dataclasses and annotations look up their module here.
    sys.modules |= {package.__name__: package, module.__name__: module}
    # A module beside the file imports it by its plain name.
    if f"{Path(file).stem}.py" in beside:
        sys.modules[Path(file).stem] = module
    # Tracebacks must show the text that ran; the file may be a pipe and cannot be read again.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except BaseException:
        # The files are read anew, and none imports the part that ran.
        modules.forget()
        raise
    finally:
        sys.dont_write_bytecode = before
    return module, text, beside


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
