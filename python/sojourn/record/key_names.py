"""The nearest right key for a wrong one in a change of a scenario (`--set`, `--vary`)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sojourn import _core
from sojourn.errors import nearest

# Least similarity of a misspelled word, as difflib computes it, and of one without its table.
_NEAR, _NEARER = 0.6, 0.8
_PART = re.compile(r"\"[^\"]*\"|'[^']*'|[^.]+")
_KINDS = ("link", "flow")


@dataclass(frozen=True)
class Unknown:
    """A name in a key that the scenario does not have."""

    part: str
    message: str
    help: str


def unknown(document: Mapping[str, Any], key: str) -> Unknown | None:
    """Find the wrong name of a key, such as that of a link, and a better one, if any.

    `document` is the scenario before the change, as `to_json` gives it.
    """
    parts = [part.strip("\"' ") for part in _PART.findall(key)]
    if not parts:
        return None
    if parts[0] in _KINDS:
        return _unknown_item(document, parts)
    known = _top()
    if parts[0] in known or nearest(parts[0], known, _NEARER):
        return None
    full = _completed(document, parts)
    message = f"the scenario has no key `{parts[0]}`"
    return Unknown(parts[0], message, f"did you mean `{full}`?") if full else None


def is_whole(key: str) -> bool:
    """Whether a key takes whole numbers and no others, such as `flow.upload.count`."""
    types = {one.get("type") for node in _nodes(key) for one in _forms(node)}
    return "integer" in types and "number" not in types


def default_of(key: str) -> Any | None:
    """Return the default of a key, such as `link.bottleneck.queue`; None if it has none.

    A key of a table with several forms, such as a rate with steps or a trace, has none.
    """
    tables = [form for node in _nodes(key.rpartition(".")[0]) for form in _forms(node)]
    defaults = [node.get("default") for node in _nodes(key)]
    is_one = sum("properties" in form for form in tables) == 1
    return defaults[0] if is_one and len(defaults) == 1 else None


def _nodes(key: str) -> list[Mapping[str, Any]]:
    """Return the parts of the schema that describe a key."""
    found: list[Mapping[str, Any]] = [_schema()]
    for part in _PART.findall(key):
        found = [one for node in found for one in _children(node, part.strip("\"' "))]
    return found


def _children(node: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    for form in _forms(node):
        known = form.get("properties", {})
        others = form.get("additionalProperties")
        if name in known:
            yield known[name]
        elif isinstance(others, dict):
            yield others


def _forms(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the alternatives of a schema, with references followed."""
    if "$ref" in node:
        yield from _forms(_schema()["$defs"][node["$ref"].rpartition("/")[2]])
    elif "anyOf" in node:
        for one in node["anyOf"]:
            yield from _forms(one)
    else:
        yield node


def explain(document: Mapping[str, Any], assignments: Iterable[str]) -> None:
    """Raise a `ScenarioError` for the first assignment whose key has a wrong name.

    Call it after an error: a key with a new name is right if it adds a link or a flow.
    """
    for text in assignments:
        found = unknown(document, text.partition("=")[0].strip())
        if found is not None:
            start = len(text[: text.find(found.part)].encode())
            place = (start, start + len(found.part.encode()))
            _core.text_fault("--set", text, *place, found.message, found.help)


def _unknown_item(document: Mapping[str, Any], parts: Sequence[str]) -> Unknown | None:
    kind, *rest = parts
    names = list(document.get(kind, {}))
    if not rest or rest[0] in names:
        return None
    message = f"there is no {kind} `{rest[0]}`"
    if near := nearest(rest[0], names, _NEAR):
        full = ".".join([kind, near, *rest[1:]])
        return Unknown(rest[0], message, f"did you mean `{full}`?")
    # A flow of another name may be a new one, which lacks its path.
    return Unknown(rest[0], message, f"there are: {', '.join(names)}") if kind == "link" else None


def _completed(document: Mapping[str, Any], parts: Sequence[str]) -> str | None:
    """Return the key with the table that it lacks: `bottleneck.rate`, or `rate`."""
    keys = _keys(document)
    for taken in (2, 1):
        tails = {".".join(one[-taken:]): ".".join(one) for one in reversed(keys)}
        near = nearest(".".join(parts[:taken]), tails, _NEARER) if len(parts) >= taken else None
        if near:
            return ".".join([tails[near], *parts[taken:]])
    return None


def _keys(document: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the keys of every link and flow, those that the scenario sets first."""
    schema = _top()
    every = [
        (key not in own, (kind, name, key))
        for kind in _KINDS
        for name, own in document.get(kind, {}).items()
        for key in schema[kind]["additionalProperties"]["properties"]
    ]
    return [key for _, key in sorted(every, key=lambda one: one[0])]


def _top() -> dict[str, Any]:
    """Return the schema of each key at the top of a scenario."""
    properties: dict[str, Any] = _schema()["properties"]
    return properties


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_core.schema())
    return schema
