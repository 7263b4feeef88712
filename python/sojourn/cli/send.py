"""`sojourn send`."""

import argparse
import sys
from pathlib import Path

from rich import box
from rich.table import Table

from sojourn import _core, output
from sojourn.cli.console import console, name
from sojourn.cli.options import add_departures, add_flow_options, whole
from sojourn.extras import require_live
from sojourn.live import transfers
from sojourn.live.real_time import Departures
from sojourn.live.transfers import Host, Settings
from sojourn.record.formatting import MISSING, counted, ms_text, rate_text, size_text
from sojourn.record.record_types import RunSummary
from sojourn.record.summary import Summary
from sojourn.run import results
from sojourn.run.progress import Bar

_LOOK_S = 0.1


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn send`."""
    parser.description = (
        "Send data over UDP to a machine that runs `sojourn serve`, with any of Sojourn's "
        "controllers except `ideal` and those of media, and show what the path did to it."
    )
    add = parser.add_argument
    add(
        "host",
        metavar="HOST[:PORT]",
        type=_host,
        help=f"name or address of the other machine (port: {transfers.PORT})",
    )
    add_flow_options(parser, "host.mss=1200B")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--bytes", metavar="SIZE", help="send this much, such as 100MB")
    amount.add_argument("--duration", metavar="DURATION", help="send for this long (default: 10s)")
    add("--seed", metavar="N", type=whole, help="seed of the controller's random draws")
    add(
        "--timeout",
        metavar="DURATION",
        default="10s",
        help="give up if the server is silent for this long (default: 10s)",
    )
    add_departures(parser)
    add("--out", metavar="DIR", help="write a run directory without report to this folder")
    add("--json", action="store_true", help="print summary.json (`sojourn columns summary`)")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Carry out the transfer, write the files on request, and show the figures."""
    require_live("`sojourn send`")
    target = None if args.out is None else output.require_free(args.out)
    core = transfers.scenario(
        Settings(args.control, args.bytes, args.duration, args.seed, args.set)
    )
    summary, series = _sent(core, args.host, args.timeout, args.departures)
    if target is not None:
        output.write_folder(target, lambda place: _write(place, summary, series))
    if args.json:
        sys.stdout.write(results.summary_text(summary))
    else:
        _show(summary["runs"][0], args.host, target)
    return 0


def _sent(
    core: _core.Scenario, host: Host, patience: str, departures: Departures
) -> tuple[Summary, bytes]:
    with Bar() as bar:
        transfer = transfers.start(core, host, patience, departures)
        size, duration_s = transfer.size_bytes, core.duration_s()
        has_ended = False
        while not has_ended:
            if size is None:
                bar.sending(transfer.elapsed_s, duration_s)
            else:
                bar.sending(transfer.delivered_bytes, size)
            has_ended = transfer.wait(_LOOK_S)
        return transfers.record(core, host, transfer)


def _write(place: Path, summary: Summary, series: bytes) -> None:
    output.write_file(place / "summary.json", results.summary_text(summary))
    output.write_file(place / "flows.parquet", series)


_ECN = {
    "carried": "carried by the path",
    "partly erased": "erased by the path from some packets",
    "erased": "erased by the path",
    "unused": "not used by this controller",
    "unknown": "unknown: the server's receipt did not arrive",
}


def _show(run: RunSummary, host: Host, target: Path | None) -> None:
    flow, transfer = run["flows"][0], run["transfer"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    late = (transfer["lateness_p50_s"], transfer["lateness_p99_s"], transfer["lateness_max_s"])
    sent, length = flow["sent_packets"], f"{run['duration_s']:.4g} s"
    rows = {
        "delivered": f"{size_text(transfer['delivered_bytes'])} in {length}",
        "goodput": rate_text(flow["goodput_bps"]),
        "RTT min, median, p99": _times(flow["rtt_min_s"], flow["rtt_p50_s"], flow["rtt_p99_s"]),
        "lost": f"{flow['dropped_packets']:,} of {counted(sent, 'packet')}",
        "marked CE": counted(flow["marked_packets"], "packet"),
        "ECN": _ECN[transfer["ecn"]],
        "lateness median, p99, max": "no packet waited for its time"
        if late[0] is None
        else _times(*late),
    }
    for head, text in rows.items():
        table.add_row(head, text)
    out = console()
    out.print(name(f"{flow['control']} to {host} ({transfer['peer']})", "bold"))
    out.print(table)
    for note in transfer["notes"]:
        out.print(name(note))
    if target is not None:
        out.print(name(output.announced("Run directory", target)), soft_wrap=True)


def _times(*times: float | None) -> str:
    return ", ".join(MISSING if time is None else ms_text(time) for time in times)


def _host(text: str) -> Host:
    try:
        return transfers.parse_host(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
