"""`sojourn hosts`."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.cli import listings
from sojourn.cli.console import console, name
from sojourn.run import api

_HEADS = ("setting", "value", "end", "source")
# The hosts of each protocol's standards, from which the others differ.
_STANDARDS = {"tcp": "rfc", "quic": "quic"}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn hosts`."""
    listings.declare(parser, "show the values of this one, with their sources")
    parser.set_defaults(execute=hosts)


def hosts(args: argparse.Namespace) -> int:
    """List the hosts, or show one."""
    entries: list[listings.Entry] = list(api.hosts())
    if args.name is not None:
        entries = [listings.find(args.name, entries, "host")]
    if args.json:
        print(json.dumps(entries, indent=1))
    elif args.markdown:
        sys.stdout.write(_markdown(entries))
    elif args.name is not None:
        _show_one(entries[0])
    else:
        _show_all(entries)
    return 0


def _show_all(entries: list[listings.Entry]) -> None:
    table = Table("host", "what it is", box=box.SIMPLE_HEAD, pad_edge=False)
    for entry in entries:
        table.add_row(name(entry["name"]), name(entry["title"]))
    console().print(table)
    console().print("In full: sojourn hosts NAME", style="dim")


def _show_one(entry: listings.Entry) -> None:
    out = console()
    out.print(Text.assemble(name(entry["name"], "bold"), ": ", name(entry["title"])))
    found, others = _shown(entry)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in _HEADS:
        table.add_column(head, overflow="fold", no_wrap=head in ("setting", "value"))
    for one in found:
        table.add_row(*map(name, (one.name, one.value, one.end, one.source)))
    out.print(table)
    if others:
        out.print(name(others.replace("`", "")))


@dataclass(frozen=True)
class _Value:
    """A value of a host, with the end of a connection that it concerns."""

    name: str
    value: str
    end: str
    source: str
    is_own: bool
    """Whether it differs from that of the standards."""


def _values(host: listings.Entry) -> list[_Value]:
    """Return the values of a host: its settings, its noise, its parameters of controllers."""
    found = [
        _Value(one["name"], one["value"] or "–", one["end"], one["source"], one["differs"])
        for one in host["settings"]
    ]
    noise = host["noise"]
    found.append(_Value("noise", noise["value"], "both", noise["source"], True))
    found += [
        _Value(f"{one['controller']}.{one['name']}", one["value"], "sender", one["source"], True)
        for one in host["parameters"]
    ]
    return found


def _shown(host: listings.Entry) -> tuple[list[_Value], str]:
    """Return the values that describe a host, and a sentence about the others."""
    found, standard = _values(host), _STANDARDS[host["protocol"]]
    if host["name"] == standard:
        return found, ""
    return [one for one in found if one.is_own], f"All other values are those of `{standard}`."


def _markdown(hosts: Sequence[listings.Entry]) -> str:
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


def _linked(host: listings.Entry) -> str:
    return f"[{host['name']}](#{host['name'].replace('.', '')})"


def _section(host: listings.Entry) -> str:
    found, others = _shown(host)
    rows = [(f"`{one.name}`", f"`{one.value}`", one.end, one.source) for one in found]
    title = f"{host['title'][0].upper()}{host['title'][1:]}."
    return "\n\n".join([f"## {host['name']}", f"{title} {others}".strip(), _table(_HEADS, rows)])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])
