"""`sojourn serve`."""

import argparse
from typing import cast

from sojourn import _core
from sojourn.cli import serving
from sojourn.cli.interrupts import Request
from sojourn.cli.options import positive
from sojourn.extras import require_live
from sojourn.live import transfers
from sojourn.live.transfers import Peer, Strays
from sojourn.record.formatting import MISSING, rate_text, size_text


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn serve`."""
    parser.description = (
        "Receive the data of `sojourn send`, from several machines at a time, and print a line for "
        "each transfer that has ended. Ctrl-C or SIGTERM ends the server."
    )
    add = parser.add_argument
    serving.add_address(parser, "receive", transfers.PORT)
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
    require_live("`sojourn serve`")
    with Request() as request:
        server = _core.Serving(args.bind, args.port, args.peers)
        empty = 0

        def show(within_s: float) -> None:
            nonlocal empty
            empty += sum(not _show(peer, args.json) for peer in transfers.ended(server, within_s))

        counts = serving.serve(server, request, show, args.json)
        strays = cast(Strays, {**counts, "empty": empty})
        serving.print_line({"strays": strays} if args.json else _strays_text(strays))
    return 0


def _show(peer: Peer, as_json: bool) -> bool:
    """Print the line of a transfer; return whether it was one.

    Anyone can open connections without data, from spoofed addresses too, and they must not fill the
    terminal.
    """
    is_transfer = peer["packets"] > 0
    if is_transfer:
        serving.print_line(peer if as_json else _peer_text(peer))
    return is_transfer


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
