"""The values of hosts, as tables and as a Markdown document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]
"""A host, as the catalogue describes it."""

HEADS = ("setting", "value", "end", "source")
# The hosts of each protocol's standards, from which the others differ.
_STANDARDS = {"tcp": "rfc", "quic": "quic"}


@dataclass(frozen=True)
class Value:
    """A value of a host, with the end of a connection that it concerns."""

    name: str
    value: str
    end: str
    source: str
    is_own: bool
    """Whether it differs from that of the standards."""


def values(host: Entry) -> list[Value]:
    """Return the values of a host: its settings, its noise, its parameters of controllers."""
    found = [
        Value(one["name"], one["value"] or "–", one["end"], one["source"], one["differs"])
        for one in host["settings"]
    ]
    noise = host["noise"]
    found.append(Value("noise", noise["value"], "both", noise["source"], True))
    found += [
        Value(f"{one['controller']}.{one['name']}", one["value"], "sender", one["source"], True)
        for one in host["parameters"]
    ]
    return found


def shown(host: Entry) -> tuple[list[Value], str]:
    """Return the values that describe a host, and a sentence about the others."""
    found, standard = values(host), _STANDARDS[host["protocol"]]
    if host["name"] == standard:
        return found, ""
    return [one for one in found if one.is_own], f"All other values are those of `{standard}`."


def markdown(hosts: Sequence[Entry]) -> str:
    """Format the document of all hosts."""
    keys = [one["name"] for one in hosts[0]["settings"] if one["is_key"]]
    keys += [
        one["name"]
        for host in hosts
        for one in host["settings"]
        if one["is_key"] and one["name"] not in keys
    ]
    names = ", ".join(f"`{key}`" for key in dict.fromkeys(keys))
    parts = [
        "# Hosts",
        "The hosts of flows with their values, written by `sojourn hosts --markdown`. A scenario "
        'or a flow names one, `host = "linux-6.18"`, or lists its exceptions, '
        '`host = { like = "linux-6.18", ack_every = 1 }`. Exceptions are possible for the '
        f"[keys](scenario.md#host) {names}.",
        _table(("host", "what it is"), [(_linked(one), one["title"]) for one in hosts]),
        *map(_section, hosts),
    ]
    return "\n\n".join(parts) + "\n"


def _linked(host: Entry) -> str:
    return f"[{host['name']}](#{host['name'].replace('.', '')})"


def _section(host: Entry) -> str:
    found, others = shown(host)
    rows = [(f"`{one.name}`", f"`{one.value}`", one.end, one.source) for one in found]
    title = f"{host['title'][0].upper()}{host['title'][1:]}."
    return "\n\n".join([f"## {host['name']}", f"{title} {others}".strip(), _table(HEADS, rows)])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])
