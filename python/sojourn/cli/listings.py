"""`sojourn controllers`, `sojourn queues` and `sojourn columns`."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.cli import catalogue_reference
from sojourn.cli.console import console, name
from sojourn.cli.options import add_controller_option
from sojourn.cli.scenarios import load_controllers
from sojourn.errors import require_known
from sojourn.record import columns
from sojourn.run import api

Entry = Mapping[str, Any]
"""A controller, a queue or a parameter, as the catalogue describes it."""


def declare_controllers(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn controllers`."""
    declare(parser)
    add_controller_option(parser)
    parser.set_defaults(execute=controllers)


def declare_queues(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn queues`."""
    declare(parser)
    parser.set_defaults(execute=queues)


def declare_columns(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn columns`."""
    declare(parser, "show this file (`flows`), or this column or key (`spike_s`) of every file")
    parser.set_defaults(execute=list_columns)


def declare(parser: argparse.ArgumentParser, doc: str = "show this one in full") -> None:
    """Add the options of a listing."""
    parser.add_argument("name", metavar="NAME", nargs="?", help=doc)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--markdown", action="store_true", help="print everything as Markdown")


def controllers(args: argparse.Namespace) -> int:
    """List the congestion controllers, or show one."""
    return _list(
        args, json.loads(load_controllers(args.controller).catalogue.controllers()), "controller"
    )


def queues(args: argparse.Namespace) -> int:
    """List the queue disciplines, or show one."""
    return _list(args, api.queues(), "queue")


def list_columns(args: argparse.Namespace) -> int:
    """List the files of a run directory with their columns and keys, or show one."""
    found = columns.tables() if args.name is None else columns.named(args.name)
    if not found:
        require_known("file, column or key", args.name, columns.names())
    if args.json:
        print(json.dumps([table.to_json() for table in found], indent=1))
    elif args.markdown:
        sys.stdout.write(columns.markdown(found))
    elif args.name is None:
        _show_files(found)
    elif columns.is_key(args.name):
        _show_key(found)
    else:
        for one in found:
            _show_file(one)
    return 0


def _show_files(found: Sequence[columns.Table]) -> None:
    table = Table("file", "what it has", "columns or keys", box=box.SIMPLE_HEAD, pad_edge=False)
    for one in found:
        table.add_row(name(one.place), name(one.about.partition(". ")[0]), str(len(one.keys)))
    console().print(table)
    console().print("In full: sojourn columns NAME", style="dim")


def _show_file(one: columns.Table) -> None:
    console().print(Text.assemble(name(one.place, "bold"), ": ", name(one.about)))
    table = Table("name", "kind", "unit", "meaning", box=box.SIMPLE_HEAD, pad_edge=False)
    for key in one.keys:
        table.add_row(*map(name, (key.name, key.kind, key.unit, key.meaning)))
    console().print(table)


def _show_key(found: Sequence[columns.Table]) -> None:
    table = Table("file", "kind", "unit", "meaning", box=box.SIMPLE_HEAD, pad_edge=False)
    for one in found:
        for key in one.keys:
            table.add_row(*map(name, (one.place, key.kind, key.unit, key.meaning)))
    console().print(table)


def _list(args: argparse.Namespace, entries: Sequence[Entry], kind: str) -> int:
    if args.name is not None:
        entries = [find(args.name, entries, kind)]
    if args.json:
        print(json.dumps(entries, indent=1))
    elif args.markdown:
        sys.stdout.write(catalogue_reference.markdown(entries, kind))
    elif args.name is not None:
        _show_one(entries[0])
    else:
        _show_all(entries, kind)
    return 0


def find(name: str, entries: Sequence[Entry], kind: str) -> Entry:
    """Return the entry of this name or alias; raise an error that names the nearest one."""
    named = {one: entry for entry in entries for one in (entry["name"], *entry.get("aliases", ()))}
    require_known(kind, name, list(named))
    return named[name]


def _show_all(entries: Sequence[Entry], kind: str) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in (kind, "what it is", "parameters", "source"):
        table.add_column(head, overflow="fold", no_wrap=head == kind)
    for entry in entries:
        params = ", ".join(one["name"] for one in (*entry["params"], *entry.get("inner", ())))
        table.add_row(*map(name, (entry["name"], entry["title"], params, entry["source"])))
    console().print(table)
    console().print(f"In full: sojourn {kind}s NAME", style="dim")


def _show_one(entry: Entry) -> None:
    out = console()
    out.print(Text.assemble(name(entry["name"], "bold"), ": ", name(entry["title"])))
    out.print(name(f"Source: {entry['source']}"))
    if aliases := ", ".join(entry.get("aliases", ())):
        out.print(name(f"Aliases: {aliases}"))
    if needs := _needs(entry.get("needs", {})):
        out.print(name(f"Needs: {', '.join(needs)}"))
    for inner in entry.get("inner", ()):
        out.print(name(f"Holds `{inner['name']}`: {inner['doc']}; default {inner['default']}"))
    if "default_packets" in entry:
        packets = entry["default_packets"]
        held = f"{packets} packets" if packets else "the sum of its inner queues"
        out.print(f"Buffer of a link without one: {held}")
    if not entry["params"]:
        out.print("It has no parameters.")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("parameter", "default", "range", "what it does", "source"):
        table.add_column(head, overflow="fold", no_wrap=head in ("parameter", "default"))
    for param in entry["params"]:
        table.add_row(*(name(str(param[key])) for key in ("name", "default")), *_rest(param))
    out.print(table)


def _rest(param: Entry) -> list[Text]:
    unit = f" ({param['unit']})" if param["unit"] else ""
    return [name(text) for text in (param["range"] + unit, param["doc"], param["source"])]


_NEEDS = {
    "prr": "proportional rate reduction (prr)",
    "signal": "signals of the bottleneck (signal)",
    "media": "a source of media (media)",
    "every_packet": "a call for every packet sent (every_packet)",
}


def _needs(needs: Entry) -> list[str]:
    """Describe the features that a controller needs from the transport."""
    asked = {key: value for key, value in needs.items() if value not in (False, "none")}
    return [
        _NEEDS.get(key, key.replace("_", " ")) if value is True else f"{key} ({value})"
        for key, value in asked.items()
    ]
