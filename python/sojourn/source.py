"""Where a user's Python comes from: read, run, and remembered by its hash."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sojourn.errors import OwnCodeError, UsageError


@dataclass(frozen=True)
class Source:
    """The text that a class or a function was written in, as far as it is known."""

    qualname: str
    file: str | None
    text: str | None

    @property
    def sha256(self) -> str | None:
        """Of the text in UTF-8, as `sha256sum` prints it."""
        import hashlib

        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()

    @classmethod
    def of(cls, thing: Callable[..., Any]) -> "Source":
        """The file of a class or function; its own lines where there is none, in a notebook."""
        qualname = getattr(thing, "__qualname__", repr(thing))
        try:
            file = inspect.getsourcefile(thing)
            if file is not None and Path(file).is_file():
                return cls(qualname, Path(file).name, Path(file).read_text("utf-8"))
            return cls(qualname, None, inspect.getsource(thing))
        except (OSError, TypeError, UnicodeDecodeError):
            return cls(qualname, None, None)


def load(file: str, name: str) -> tuple[Any, Source]:
    """The class or function `name` of a Python file, and the very text that was run for it."""
    try:
        text = Path(file).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 text (byte {error.start})") from error
    module = _run(file, text)
    if not hasattr(module, name):
        raise UsageError(f"{file}: it has no `{name}`; it has: {', '.join(_offers(module))}")
    return getattr(module, name), Source(name, Path(file).name, text)


def _run(file: str, text: str) -> ModuleType:
    module = ModuleType(f"sojourn_own_{Path(file).stem}")
    module.__file__ = file
    # Dataclasses and annotations look their module up here.
    sys.modules[module.__name__] = module
    # What lies beside the file can be imported, as where it is run itself.
    beside = str(Path(file).resolve().parent)
    if beside not in sys.path:
        sys.path.insert(0, beside)
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except Exception as error:
        raise OwnCodeError(f"{file} cannot be loaded; no simulation ran") from error
    return module


def _offers(module: ModuleType) -> list[str]:
    named = vars(module).items()
    own = [name for name, one in named if getattr(one, "__module__", None) == module.__name__]
    return own or ["nothing of its own"]
