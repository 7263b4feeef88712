"""`sojourn serve`."""

import argparse
import ipaddress
import json
import sys
from typing import cast

from sojourn import _core, terminal, transfers
from sojourn.cli.interrupts import Request
from sojourn.cli.options import port, positive
from sojourn.formatting import MISSING, rate_text, size_text
from sojourn.transfers import Peer, Strays

# Time between checks whether to end.
_LOOK_S = 0.1


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn serve`."""
    parser.description = (
        "Receive the data of `sojourn send`, from several machines at a time, and print a line for "
        "each transfer that has ended (docs/live.md). Ctrl-C or SIGTERM ends the server."
    )
    add = parser.add_argument
    add(
        "--bind",
        metavar="ADDRESS",
        type=_address,
        help="receive at this address of the machine alone (default: at all, IPv4 and IPv6)",
    )
    add(
        "--port",
        metavar="N",
        type=port,
        default=transfers.PORT,
        help=f"UDP port; 0 selects a free one (default: {transfers.PORT})",
    )
    add(
        "--peers", metavar="N", type=positive, default=64, help="most peers at a time (default: 64)"
    )
    add(
        "--json",
        action="store_true",
        help='print a JSON object a line: {"listening"}, one for each transfer, then {"strays"}',
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Serve until a signal asks for the end."""
    transfers.require_linux("serve")
    with Request() as request:
        serving = _core.Serving(args.bind, args.port, args.peers)
        _print(
            {"listening": serving.address} if args.json else f"Listening on UDP {serving.address}"
        )
        empty = 0
        while not request.is_made:
            empty += sum(not _show(peer, args.json) for peer in transfers.ended(serving, _LOOK_S))
        counts = json.loads(serving.stop())
        empty += sum(not _show(peer, args.json) for peer in transfers.ended(serving, 0))
        strays = cast(Strays, {**counts, "empty": empty})
        _print({"strays": strays} if args.json else _strays_text(strays))
    return 0


def _show(peer: Peer, as_json: bool) -> bool:
    """Print the line of a transfer; return whether it was one.

    Anyone can open connections without data, from spoofed addresses too, and they must not fill the
    terminal.
    """
    is_transfer = peer["packets"] > 0
    if is_transfer:
        _print(peer if as_json else _peer_text(peer))
    return is_transfer


def _print(line: object) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    sys.stdout.write(terminal.one_line(text) + "\n")
    # The reader of a pipe waits for the line.
    sys.stdout.flush()


_ENDINGS = {
    "closed": "closed by the peer",
    "vanished": "the peer vanished",
    "interrupted": "ended by this server",
}


def _peer_text(peer: Peer) -> str:
    goodput, lost = peer["goodput_bps"], peer["lost_packets"]
    parts = (
        f"{size_text(peer['bytes'])} in {peer['duration_s']:.4g} s",
        MISSING if goodput is None else rate_text(goodput),
        f"{peer['marked_packets']:,} marked CE",
        "loss unknown" if lost is None else f"{lost:,} lost",
        _ENDINGS[peer["ending"]],
    )
    return f"{peer['peer']}: {', '.join(parts)}"


def _strays_text(strays: Strays) -> str:
    return (
        f"Stray datagrams: {strays['malformed']:,} malformed, {strays['unknown']:,} of unknown "
        f"connections, {strays['overflowed']:,} overflowed the receive buffer; "
        f"connections: {strays['empty']:,} without data, {strays['refused']:,} refused, "
        f"{strays['retries']:,} asked to prove their address"
    )


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an IP address; write one of this machine, or 0.0.0.0 for all of IPv4"
        ) from None
