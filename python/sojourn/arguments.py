"""Checks of arguments in Python: their types, and the values of scenarios that are dicts."""

import inspect
import math
import reprlib
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from sojourn import _core
from sojourn.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")

_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    type(None): "None",
    Mapping: "a dict with text as keys",
}
# Deeper documents are no scenarios, and may contain themselves.
_DEEPEST = 100
_HALVES = ("\ud800", "\udfff")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a function of the package's users by its annotations.

    It raises `ArgumentError` for a wrong type, which would otherwise fail somewhere deeper.
    """
    signature = inspect.signature(function)
    hints = {
        name: one.annotation
        for name, one in signature.parameters.items()
        if one.annotation is not one.empty and one.kind is not one.VAR_KEYWORD
    }

    @wraps(function)
    def call(*args: P.args, **others: P.kwargs) -> R:
        for name, value in signature.bind(*args, **others).arguments.items():
            hint = hints.get(name, Any)
            if not _fits(value, hint):
                raise ArgumentError(f"{name} is {_shown(value)}; it must be {_named(hint)}")
        return function(*args, **others)

    return call


def _fits(value: object, hint: Any) -> bool:
    """Whether a value has a type; items of sequences and keys of dicts are checked too."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in parts)
    if hint in (None, type(None)):
        return value is None
    if hint is int:
        return hasattr(value, "__index__") and not isinstance(value, bool)
    if hint is float:
        return hasattr(value, "__float__") and not isinstance(value, (bool, str))
    if hint is str:
        return isinstance(value, str)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(key, parts[0]) for key in value)
    if isinstance(origin, type) and issubclass(origin, Iterable):
        # A text is a sequence of texts, and not meant as one.
        if not isinstance(value, origin) or isinstance(value, (str, bytes, Mapping)):
            return False
        return not isinstance(value, Collection) or all(_fits(item, parts[0]) for item in value)
    kind = origin or hint
    # Functions and names have checks of their own.
    if not isinstance(kind, type) or kind in (Any, bool, object, Callable):
        return True
    return isinstance(value, kind)


def _named(hint: Any) -> str:
    """Describe a type for people."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        words = list(dict.fromkeys(_named(one) for one in parts if one is not type(None)))
        return " or ".join(words)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _WORDS[Mapping]
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a list of {_WORDS.get(parts[0], 'values')}"
    kind = origin or hint
    if getattr(kind, "__name__", "") == "PathLike":
        return "a path"
    return _WORDS.get(kind) or f"a {getattr(kind, '__name__', kind)}"


def _shown(value: object) -> str:
    return f"{reprlib.repr(value)} of type {type(value).__name__}"


def require_text(text: str, what: str) -> str:
    """Refuse text with halves of surrogate pairs, which no file can have."""
    if half := next((sign for sign in text if _HALVES[0] <= sign <= _HALVES[1]), None):
        raise ArgumentError(
            f"{what} has the character {half!a}, the half of a surrogate pair; leave it out"
        )
    return text


def require_plain(document: Mapping[str, Any], origin: str) -> None:
    """Raise a `ScenarioError` for the first value of a document that a scenario cannot have."""
    _require_plain(document, (), origin)


def _require_plain(value: object, path: tuple[str, ...], origin: str) -> None:
    if len(path) > _DEEPEST:
        _refuse(path[:3], "...", origin, "it is nested too deeply, or contains itself")
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str) or _has_half(key):
                _refuse((*path, str(key)), "...", origin, f"the key {key!a} is no text")
            _require_plain(item, (*path, key), origin)
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            _require_plain(item, (*path, str(place)), origin)
    elif isinstance(value, str):
        if _has_half(value):
            _refuse(path, ascii(value), origin, "it has the half of a surrogate pair")
    elif isinstance(value, float):
        if not math.isfinite(value):
            _refuse(path, repr(value), origin, f"{value!r} is not a finite number")
    elif isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            _refuse(path, "...", origin, "the number is too large")
    elif value is not None:
        _refuse(path, reprlib.repr(value), origin, f"a scenario has no {type(value).__name__}")


def _has_half(text: str) -> bool:
    return any(_HALVES[0] <= sign <= _HALVES[1] for sign in text)


def _refuse(path: tuple[str, ...], shown: str, origin: str, message: str) -> NoReturn:
    key = ".".join(path).encode("utf-8", "backslashreplace").decode()
    shown = shown.encode("utf-8", "backslashreplace").decode()
    text = f"{key} = {shown}"
    place = (len(text.encode()) - len(shown.encode()), len(text.encode()))
    help = "write text, a number, true or false, or a list or dict of them"
    _core.text_fault(origin, text, *place, f"`{key}`: {message}", help)
