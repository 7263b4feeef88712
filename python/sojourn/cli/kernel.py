"""`sojourn kernel load`, `list`, `status` and `unload`."""

import argparse
import json
import socket
import sys
import time

from rich import box
from rich.table import Table

from sojourn import terminal
from sojourn.cli.console import console, name
from sojourn.cli.interrupts import Request
from sojourn.errors import UsageError
from sojourn.live import kernel
from sojourn.run import api

# Controllers of L4S.
_L4S = ("prague",)
# Time between checks whether to end.
_LOOK_S = 0.2


def declare_load(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn kernel load`."""
    parser.description = (
        "Register a controller in the kernel, for every program of this machine. "
        "It stays until Ctrl-C, SIGTERM, `sojourn kernel unload`, or the end of this process in "
        "any way. The machine's default controller does not change."
    )
    add = parser.add_argument
    add("name", metavar="NAME", help="the controller (sojourn kernel list)")
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set a parameter, such as q_target=2ms (sojourn controllers NAME); may be repeated",
    )
    add(
        "--pin",
        action="store_true",
        help="return, and keep the controller registered until `sojourn kernel unload` or a reboot",
    )
    add(
        "--device",
        metavar="DEVICE",
        action="append",
        default=[],
        help="for prague: send its packets through this device as ECT(1), the identifier of L4S, "
        "since the kernel sends ECT(0); may be repeated",
    )
    parser.set_defaults(execute=_load)


def declare_list(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn kernel list`."""
    parser.add_argument(
        "--json", action="store_true", help='print [{"name", "title", "kernel_name"}]'
    )
    parser.set_defaults(execute=_list)


def declare_status(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn kernel status`."""
    parser.add_argument(
        "--json",
        action="store_true",
        help='print [{"name", "kernel_name", "sockets", "pinned", "params"}]',
    )
    parser.set_defaults(execute=_status)


def declare_unload(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn kernel unload`."""
    parser.add_argument("name", metavar="NAME", help="the controller (sojourn kernel status)")
    parser.add_argument(
        "--force",
        action="store_true",
        help="unload it although sockets use it; they keep it until they close",
    )
    parser.set_defaults(execute=_unload)


def _load(args: argparse.Namespace) -> int:
    _check_devices(args)
    with Request() as request:
        controller = kernel.load(args.name, args.set)
        for device in args.device:
            controller.set_ect1(device)
        if args.pin:
            kernel.pin(controller, args.name)
        _print(f"Loaded {args.name}; its name in the kernel is sojourn_{args.name}")
        while not (args.pin or request.is_made) and controller.is_registered():
            time.sleep(_LOOK_S)
    return 0


def _check_devices(args: argparse.Namespace) -> None:
    if args.device and args.name not in _L4S:
        raise UsageError(f"{args.name} does not use L4S, which --device is for; leave it out")
    if args.device and args.pin:
        raise UsageError("--device ends with this process; leave out --pin, or --device")
    for device in args.device:
        if device not in (name for _, name in socket.if_nameindex()):
            raise UsageError(f"there is no device `{device}`; `ip link` lists the devices")
    if args.name in _L4S and not args.device:
        terminal.say(
            "note: the kernel sends ECT(0), which queues for L4S do not mark; name the device of "
            "the packets (--device) to send ECT(1)"
        )


def _list(args: argparse.Namespace) -> int:
    titles = {one["name"]: str(one["title"]) for one in api.controllers()}
    found = [
        {"name": one, "title": titles[one], "kernel_name": f"sojourn_{one}"}
        for one in kernel.names()
    ]
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    table = Table(
        "controller", "what it is", "name when loaded", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for one in found:
        table.add_row(*map(name, one.values()))
    console().print(table)
    console().print("Load one: sojourn kernel load NAME", style="dim")
    return 0


def _status(args: argparse.Namespace) -> int:
    found = kernel.registered()
    if args.json:
        _print(json.dumps(found))
        return 0
    for one in found:
        params = ", ".join(f"{name} {value}" for name, value in one["params"].items())
        pinned = "pinned" if one["pinned"] else "until its loader ends"
        _print(f"{one['kernel_name']}: {one['sockets']:,} sockets, {pinned}; {params}")
    if not found:
        terminal.say("no controller of Sojourn is loaded")
    return 0


def _unload(args: argparse.Namespace) -> int:
    kernel.unload(args.name, args.force)
    return 0


def _print(line: str) -> None:
    sys.stdout.write(terminal.one_line(line) + "\n")
    # The reader of a pipe waits for the line.
    sys.stdout.flush()
