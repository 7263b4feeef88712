"""Loading of a user's Python files, with the hash of their text."""

import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sojourn import beside, inputs, signals
from sojourn.errors import OwnCodeError, UsageError


@dataclass(frozen=True)
class Source:
    """The source text of a class or a function, as far as it is known."""

    qualname: str
    file: str | None
    text: str | None

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the UTF-8 text, as `sha256sum` prints it."""
        import hashlib

        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()

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
    """Loads each Python file once, so that all classes of a file belong to one module."""

    def __init__(self) -> None:
        self._loaded: dict[Path, tuple[ModuleType, str]] = {}

    def load(self, file: str, name: str) -> tuple[Any, Source]:
        """Load the class or function `name` from a file; also return the text that ran."""
        place = Path(file).resolve()
        text = self._loaded[place][1] if place in self._loaded else inputs.text(file)
        with running(f"{file} cannot be loaded; no simulation ran"):
            if place not in self._loaded:
                self._loaded[place] = _run(file, text), text
            module, _ = self._loaded[place]
            found = getattr(module, name, None)
        if found is None:
            raise UsageError(f"{file}: it has no `{name}`; it has: {', '.join(_offers(module))}")
        # The name of a pipe, such as /dev/fd/63, means nothing afterwards.
        return found, Source(name, Path(file).name if place.is_file() else None, text)


@contextmanager
def running(fault: str) -> Iterator[None]:
    """Run the user's code: report any exception as its fault, including `sys.exit(0)`."""
    with signals.noticed() as came:
        try:
            yield
        except UsageError:
            raise
        except BaseException as error:
            # A signal also raises an exception; only that one is not the fault of the user's code.
            if came:
                raise
            raise OwnCodeError(fault) from error


def _run(file: str, text: str) -> ModuleType:
    path = Path(file)
    package = beside.package(path.resolve().parent)
    module = ModuleType(f"{package}.{path.stem}")
    module.__file__ = file
    module.__package__ = package
    beside.give_imports(module)
    # Dataclasses and annotations look up their module here; modules beside the file import it.
    sys.modules[module.__name__] = module
    # Tracebacks must show the text that ran; the file may be a pipe and cannot be read again.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), module.__dict__)
    return module


def _offers(module: ModuleType) -> list[str]:
    named = vars(module).items()
    own = [name for name, one in named if getattr(one, "__module__", None) == module.__name__]
    return own or ["nothing of its own"]
