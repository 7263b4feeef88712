"""`sojourn scenarios`."""

import argparse
import json
import sys
from pathlib import Path

from rich import box
from rich.table import Table

from sojourn import output
from sojourn.cli.console import console, name
from sojourn.cli.options import file_name
from sojourn.errors import UsageError
from sojourn.run import shipped


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn scenarios`."""
    parser.description = (
        "List the scenarios inside this package, print one, or copy them to a folder. Every "
        "command that takes a scenario file takes their names too: sojourn run capacity-drop."
    )
    add = parser.add_argument
    add("names", metavar="NAME", nargs="*", help="print this scenario, or copy these")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--copy",
        metavar="DIR",
        type=file_name,
        help="write the scenarios and the files that they name to this folder (default: all "
        "scenarios)",
    )
    form.add_argument("--json", action="store_true", help='print [{"name", "title"}]')
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """List, print or copy the shipped scenarios."""
    if args.copy is not None:
        for file in shipped.copy(args.names, Path(args.copy)):
            console().print(name(output.announced("Scenario", file)), soft_wrap=True)
        return 0
    if len(args.names) > 1:
        raise UsageError("only one scenario is printed at a time; --copy DIR writes several")
    if args.names and not args.json:
        sys.stdout.write(shipped.text(args.names[0]))
        return 0
    listed = [{"name": one, "title": shipped.title(one)} for one in args.names or shipped.names()]
    if args.json:
        print(json.dumps(listed, indent=1))
        return 0
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("scenario", "title"):
        table.add_column(head, overflow="fold", no_wrap=head == "scenario")
    for one in listed:
        table.add_row(name(one["name"]), name(one["title"]))
    console().print(table)
    console().print("Run one: sojourn run NAME. Change one: --copy DIR", style="dim")
    return 0
