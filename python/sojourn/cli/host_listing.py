"""`sojourn hosts`."""

import argparse
import json
import sys

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.cli import host_values, listings
from sojourn.cli.console import console, name
from sojourn.run import api


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
        sys.stdout.write(host_values.markdown(entries))
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
    found, others = host_values.shown(entry)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in host_values.HEADS:
        table.add_column(head, overflow="fold", no_wrap=head in ("setting", "value"))
    for one in found:
        table.add_row(*map(name, (one.name, one.value, one.end, one.source)))
    out.print(table)
    if others:
        out.print(name(others.replace("`", "")))
