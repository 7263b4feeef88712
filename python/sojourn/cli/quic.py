"""`sojourn quic serve` and `sojourn quic get`."""

import argparse
from pathlib import Path
from typing import cast

from rich import box
from rich.table import Table

from sojourn import _core, output
from sojourn._core import LiveError
from sojourn.cli import serving
from sojourn.cli.console import console, name
from sojourn.cli.interrupts import Request
from sojourn.cli.options import add_captures, add_flow_options, positive, whole
from sojourn.errors import DownloadError, UsageError
from sojourn.extras import require_live
from sojourn.live import downloads
from sojourn.live.downloads import Connection, Download, Served, Strays, Url
from sojourn.record.formatting import MISSING, counted, ms_text, rate_text, size_text
from sojourn.run.exports import Captures
from sojourn.run.progress import Bar


def declare_serve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn quic serve`."""
    parser.description = (
        "Serve files and generated bodies over HTTP/3, with any of Sojourn's controllers in the "
        "QUIC stack noq, and print a line for each connection that has ended. "
        "/bytes/1000000 or /bytes/1MB has this many bytes. Ctrl-C or SIGTERM ends the server."
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", nargs="?", type=Path, help="serve the files of this folder")
    serving.add_address(parser, "serve", downloads.PORT)
    _declare_controller(parser)
    add("--cert", metavar="FILE", type=Path, help="certificate in PEM (default: one made now)")
    add("--key", metavar="FILE", type=Path, help="private key of the certificate in PEM")
    add(
        "--save-cert",
        metavar="FILE",
        type=Path,
        help="write the certificate that was made to this file, for `sojourn quic get --ca`",
    )
    add(
        "--connections",
        metavar="N",
        type=positive,
        default=1000,
        help="most connections at a time (default: 1000)",
    )
    add(
        "--unproved",
        metavar="N",
        type=whole,
        default=100,
        help="most connections at a time whose clients have not proved their address; further "
        "ones are asked to do so first, by a Retry packet (default: 100)",
    )
    add(
        "--requests",
        metavar="N",
        type=positive,
        default=100,
        help="most requests of a client at a time (default: 100)",
    )
    add(
        "--files",
        metavar="N",
        type=positive,
        default=256,
        help="most files open at a time; requests for more get status 503 (default: 256)",
    )
    add(
        "--memory",
        metavar="SIZE",
        default="256MB",
        help="memory for data of files that clients have not acknowledged (default: 256MB)",
    )
    add(
        "--idle",
        metavar="DURATION",
        default="30s",
        help="end a connection whose client is silent for this long (default: 30s)",
    )
    add(
        "--priority",
        choices=("auto", "realtime", "normal"),
        default="auto",
        help="real-time priority keeps departures in time beside busy programs, for at most half "
        "of a processor; auto: if this machine permits it; realtime: refuse to start without it "
        "(default: auto)",
    )
    _declare_captures(parser, "each connection")
    add(
        "--json",
        action="store_true",
        help='print a JSON object a line: {"listening"}, one for each connection, then {"strays"}',
    )
    parser.set_defaults(execute=_serve)


def declare_get(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn quic get`."""
    parser.description = (
        "Download a URL over HTTP/3 and show the figures of the connection. The "
        "server's controller decides the download, the client's own only its requests."
    )
    add = parser.add_argument
    add("url", metavar="URL", type=_url, help="such as https://127.0.0.1:4433/bytes/1000000")
    _declare_controller(parser)
    add(
        "--repeat",
        metavar="N",
        type=positive,
        default=1,
        help="download it this many times, in sequence on one connection (default: 1)",
    )
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument(
        "--ca",
        metavar="FILE",
        type=Path,
        help="trust the certificates of this file, authorities' or the server's own "
        "(default: the system's authorities)",
    )
    trust.add_argument(
        "--insecure", action="store_true", help="trust any certificate, in a laboratory"
    )
    add(
        "--timeout",
        metavar="DURATION",
        default="10s",
        help="give up if the server does not answer for this long (default: 10s)",
    )
    add("--out", metavar="FILE", type=Path, help="write the bodies to this new file")
    _declare_captures(parser, "the connection")
    add("--json", action="store_true", help="print the figures as JSON")
    parser.set_defaults(execute=_get)


def _declare_controller(parser: argparse.ArgumentParser) -> None:
    add_flow_options(parser, "stack.mtu=1500B")
    parser.add_argument(
        "--seed", metavar="N", type=whole, help="seed of the controller's random draws"
    )


def _declare_captures(parser: argparse.ArgumentParser, connections: str) -> None:
    add_captures(
        parser,
        "write every packet at the socket to this folder, in a capture file with the TLS secrets "
        "that decrypt it; whoever reads the file reads the connections",
        f"write the events of {connections} to this folder, in a qlog file of this end",
    )


def _captures_of(args: argparse.Namespace) -> Captures:
    """Return the folders that `_declare_captures` asks for."""
    captures = Captures.to(args.pcapng, args.qlog, has_secrets=True)
    captures.require_free()
    return captures


def _serve(args: argparse.Namespace) -> int:
    """Serve until a signal asks for the end."""
    require_live("`sojourn quic`")
    captures = _captures_of(args)
    if (args.cert is None) != (args.key is None):
        raise UsageError("give both --cert FILE and --key FILE, or neither")
    if args.save_cert is not None and args.cert is not None:
        raise UsageError("--save-cert writes a certificate made now; leave --cert out")
    core = downloads.scenario(args.control, args.seed, args.set)
    with Request() as request, captures.opened() as files:
        try:
            server = core.quic_serve(args, files.prefixes(args.control, core.seed()))
        except (OverflowError, ValueError) as error:
            raise UsageError(str(error)) from error
        if args.priority == "realtime" and not server.is_realtime:
            raise LiveError(f"--priority realtime: this machine refuses it; {_REALTIME_REMEDY}")
        if args.save_cert is not None and server.certificate is not None:
            output.write_file(args.save_cert, server.certificate)

        def show(within_s: float) -> None:
            _show_all(server, within_s, args.json)

        note = _priority_note(server.is_realtime, args.priority)
        strays = cast(Strays, serving.serve(server, request, show, args.json, note))
        serving.print_line({"strays": strays} if args.json else _strays_text(strays))
    return 0


_REALTIME_REMEDY = "start it as root, with CAP_SYS_NICE, or with an RLIMIT_RTPRIO of 10 (ulimit -r)"


def _priority_note(is_realtime: bool, asked: str) -> tuple[dict[str, str], str]:
    """Return the keys and the words of the first line about the priority."""
    if is_realtime:
        return {"priority": "realtime"}, " with real-time priority"
    words = f" without real-time priority: busy programs may delay departures; {_REALTIME_REMEDY}"
    return {"priority": "normal"}, "" if asked == "normal" else words


def _show_all(server: "_core.QuicServing", within_s: float, as_json: bool) -> None:
    for one in downloads.ended(server, within_s):
        # Anyone can open connections without requests, and they must not fill the terminal.
        if one["requests"] > 0 or one["ending"] == "fault" or as_json:
            serving.print_line(one if as_json else _served_text(one))


_ENDINGS = {
    "closed": "closed",
    "vanished": "the client vanished",
    "interrupted": "ended by this server",
    "failed": "failed",
    "fault": "ended by a fault of the QUIC stack",
}


def _served_text(one: Served) -> str:
    goodput, late = one["goodput_bps"], one["lateness_p99_s"]
    ending = _ENDINGS[one["ending"]]
    parts = (
        counted(one["requests"], "request"),
        f"{size_text(one['body_bytes'])} in {one['duration_s']:.4g} s",
        MISSING if goodput is None else rate_text(goodput),
        f"{one['marked_packets']:,} marked CE",
        f"{one['lost_packets']:,} lost",
        f"departures late by {MISSING if late is None else ms_text(late)} (p99)",
        ending if one["reason"] is None else f"{ending}: {one['reason']}",
    )
    return f"{one['peer']}: {', '.join(parts)}"


def _strays_text(strays: Strays) -> str:
    return (
        f"Datagrams of no connection: {strays['ignored']:,} ignored, {strays['answered']:,} "
        f"answered; {strays['overflowed']:,} overflowed the receive buffer; connections: "
        f"{strays['refused']:,} refused, {strays['retries']:,} asked to prove their address, "
        f"{strays['faults']:,} ended by a fault of the QUIC stack"
        f"{_gap_text(strays['uncaptured'])}"
    )


def _gap_text(missed: int | None) -> str:
    """Return words about the packets that a capture lacks."""
    return f"; the capture lacks {counted(missed, 'packet')}: use a faster disk" if missed else ""


def _get(args: argparse.Namespace) -> int:
    """Download, and show the figures; fail if a response is not complete and successful."""
    require_live("`sojourn quic`")
    if args.out is None:
        _download(args, None)
    else:
        # A download that fails leaves no file.
        output.write_new_file(args.out, lambda part: _download(args, part), "--out")
    return 0


def _download(args: argparse.Namespace, out: Path | None) -> None:
    captures = _captures_of(args)
    core = downloads.scenario(args.control, args.seed, args.set)
    with Bar() as bar, captures.opened() as files:
        paths = files.prefixes(args.control, core.seed())
        fetch = downloads.start(core, args, out, paths)
        bar.downloading(str(args.url), *fetch.bytes())
        while not fetch.wait(serving.LOOK_S):
            bar.downloading(str(args.url), *fetch.bytes())
        done = downloads.finished(fetch)
        # The folders are then removed, so that the corrected command can name them again.
        if isinstance(done, DownloadError) and not downloads.is_connected(paths):
            raise done
    # The packets and events of a connection that failed later are kept.
    if isinstance(done, DownloadError):
        raise done
    if args.json:
        serving.print_line({"url": str(args.url), "control": args.control, **done})
    else:
        _show(args.url, done)
    _require_all(args.url, args.repeat, done)


def _require_all(url: Url, repeat: int, done: Download) -> None:
    """Refuse a download with a response that is not complete and successful."""
    for one in done["responses"]:
        if one["status"] != 200:
            raise DownloadError(f"{url}: status {one['status']}; check the path")
        if not one["complete"]:
            raise DownloadError(
                f"{url}: the server cut the response after {one['bytes']:,} bytes; start again"
            )
    if len(done["responses"]) < repeat:
        raise DownloadError(
            f"{url}: the connection ended after {len(done['responses'])} of {repeat} responses; "
            "check the server, and start again"
        )


def _show(url: Url, done: Download) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for head, text in _rows(done).items():
        table.add_row(head, text)
    out = console()
    out.print(name(f"{url} ({done['peer']})", "bold"))
    out.print(table)


def _rows(done: Download) -> dict[str, str]:
    received = done["received"]
    times = [f"{one['time_s']:.4g} s" for one in done["responses"]]
    goodput = done["goodput_bps"]
    return {
        "received": f"{size_text(done['body_bytes'])} in {done['total_s']:.4g} s, "
        f"handshake included ({ms_text(done['handshake_s'])})",
        "responses": ", ".join(times) or MISSING,
        "goodput": MISSING if goodput is None else rate_text(goodput),
        "RTT min, median, p99": _rtts(done),
        "packets received": f"{received['packets']:,}: {received['ect1']:,} ECT(1), "
        f"{received['ect0']:,} ECT(0), {received['ce']:,} CE, {received['not_ect']:,} without ECN"
        f"{_gap_text(done['uncaptured_packets'])}",
    }


def _rtts(done: Connection) -> str:
    times = (done["rtt_min_s"], done["rtt_p50_s"], done["rtt_p99_s"])
    return ", ".join(MISSING if time is None else ms_text(time) for time in times)


def _url(text: str) -> Url:
    try:
        return downloads.parse_url(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
