"""The parts that the servers of `sojourn serve` and `sojourn quic serve` share."""

import argparse
import ipaddress
import json
import sys
from collections.abc import Callable
from typing import Protocol

from sojourn import terminal
from sojourn.cli.interrupts import Request
from sojourn.cli.options import port

LOOK_S = 0.1
"""Time between checks whether to end."""


class Server(Protocol):
    """A server in a thread of its own."""

    @property
    def address(self) -> str:
        """Its address and port."""

    def stop(self) -> str:
        """End it; return the counts of stray datagrams as JSON."""


def add_address(parser: argparse.ArgumentParser, verb: str, default_port: int) -> None:
    """Add the options of the server's address; `verb` is its work."""
    parser.add_argument(
        "--bind",
        metavar="ADDRESS",
        type=_address,
        help=f"{verb} at this address of the machine alone (default: at all, IPv4 and IPv6)",
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=port,
        default=default_port,
        help=f"UDP port; 0 selects a free one (default: {default_port})",
    )


def serve(
    server: Server,
    request: Request,
    show: Callable[[float], None],
    as_json: bool,
    note: tuple[dict[str, str], str] = ({}, ""),
) -> dict[str, int | None]:
    """Print the address and each ended connection until a signal; return the counts of strays.

    `show` prints the connections that have ended, after a wait of at most its seconds. `note` adds
    keys to the first object, or words to the first line.
    """
    keys, words = note
    address = server.address
    print_line({"listening": address, **keys} if as_json else f"Listening on UDP {address}{words}")
    while not request.is_made:
        show(LOOK_S)
    counts: dict[str, int | None] = json.loads(server.stop())
    show(0)
    return counts


def print_line(line: object) -> None:
    """Print a text, or an object as JSON, in one line."""
    text = line if isinstance(line, str) else json.dumps(line)
    sys.stdout.write(terminal.one_line(text) + "\n")
    # The reader of a pipe waits for the line.
    sys.stdout.flush()


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an IP address; write one of this machine, or 0.0.0.0 for all of IPv4"
        ) from None
