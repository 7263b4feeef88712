"""The catalogue of controllers or queues as a Markdown document."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]

_HEADS = ("parameter", "default", "range", "meaning", "source")
# Names that are the anchor of their own heading, on code hosts and in the site.
_ANCHOR = re.compile(r"[a-z0-9_]+")


def markdown(entries: Sequence[Entry], kind: str) -> str:
    """Format the document; `kind` is `controller` or `queue`."""
    rows = [(_linked(one["name"]), one["title"], one["source"]) for one in entries]
    parts = [
        f"# {kind.capitalize()}s",
        f"Every {kind} with its parameters, written by `sojourn {kind}s --markdown`. "
        "Ranges include both ends.",
        _table((kind, "description", "source"), rows),
        *(_section(one) for one in entries),
    ]
    return "\n\n".join(parts) + "\n"


def _linked(name: str) -> str:
    return f"[{name}](#{name})" if _ANCHOR.fullmatch(name) else name


def _section(entry: Entry) -> str:
    parts = [f"## {entry['name']}", f"{entry['title']}. Source: {entry['source']}."]
    if aliases := ", ".join(f"`{one}`" for one in entry.get("aliases", ())):
        parts.append(f"Aliases: {aliases}.")
    if packets := entry.get("default_packets"):
        parts.append(f"Buffer of a link without `buffer`: {packets:,} packets.")
    elif packets is not None:
        parts.append("Buffer of a link without `buffer`: the sum of its inner queues.")
    rows = [_parameter(one) for one in (*entry["params"], *entry.get("inner", ()))]
    parts.append(_table(_HEADS, rows) if rows else "It has no parameters.")
    return "\n\n".join(parts)


def _parameter(param: Entry) -> tuple[str, ...]:
    """Return the row of a parameter, or of an inner queue, which has no range and no source."""
    default = param["default"]
    return (
        f"`{param['name']}`",
        default if default == "required" else f"`{default}`",
        param.get("range", "a queue"),
        param["doc"],
        param.get("source", "–"),
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_cell, line))} |" for line in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
