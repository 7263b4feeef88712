"""`sojourn rtt`."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn import inputs, terminal
from sojourn.capture import captures
from sojourn.capture.captures import CaptureRtt, Direction, Flow, Whole
from sojourn.capture.picture import RttFigure
from sojourn.cli.console import console, name
from sojourn.cli.options import file_name, positive
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.picture import require_free_picture
from sojourn.record.formatting import MISSING, counted

# Points per direction, for a figure that is 640 pixels wide.
_POINTS = 2_000
# Longer tables are not readable.
_MOST_FLOWS = 50


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn rtt`."""
    add = parser.add_argument
    add(
        "files",
        metavar="FILE",
        type=file_name,
        nargs="+",
        help="pcap or pcapng files, also of gzip or zstd; - for standard input",
    )
    add(
        "--method",
        choices=("auto", "timestamps", "acks", "sack"),
        default="auto",
        help="pair segments and answers by the timestamps option, or by sequence numbers and "
        "cumulative or selective acknowledgements (default: timestamps in directions that have "
        "them, acks elsewhere, and sack)",
    )
    add(
        "--max-flows",
        metavar="N",
        type=positive,
        default=1 << 18,
        help="greatest number of flows (default: 262144)",
    )
    add("--plot", metavar="FILE", help="draw RTTs over time, as .html, .svg, .png or .pdf")
    add(
        "--json",
        action="store_true",
        help='print {"format", "file", "packets", "flows", "skipped", "error"} as one JSON object, '
        "of several files as a list of them",
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Show the round-trip times of each capture's flows, up to its first malformed byte."""
    if args.plot is not None:
        if len(args.files) > 1:
            raise UsageError("--plot draws one capture; name one file")
        require_free_picture(args.plot)
    if args.json and len(args.files) > 1:
        return _list(args)
    return max(_execute_one(args, file) for file in args.files)


def _list(args: argparse.Namespace) -> int:
    """Print several captures as one JSON list, once all of them have been read."""
    found = [_read(args, file) for file in args.files]
    print(f"[{', '.join(_json(whole, flows) for whole, flows in found)}]")
    return max(_ending(whole) for whole, _ in found)


def _json(whole: Whole, flows: str) -> str:
    return f'{json.dumps(whole)[:-1]}, "flows": {flows}}}'


def _read(args: argparse.Namespace, file: str) -> tuple[Whole, str]:
    return captures.as_json(
        inputs.opened_as(file),
        args.method,
        args.max_flows,
        points=_POINTS if args.plot is not None else 0,
        drawn=captures.DRAWN,
        listed=None if args.json else _MOST_FLOWS,
    )


def _execute_one(args: argparse.Namespace, file: str) -> int:
    whole, flows = _read(args, file)
    if args.json and args.plot is None:
        print(_json(whole, flows))
        return _ending(whole)
    plots = Plots()
    _draw_or_show(args, captures.with_flows(whole, flows), plots)
    return plots.status(_ending(whole))


def _draw_or_show(args: argparse.Namespace, found: CaptureRtt, plots: Plots) -> None:
    if args.plot is not None:
        plots.plot(RttFigure(found), args.plot)
    for flow in found["flows"]:
        for direction in flow["directions"]:
            direction.pop("series", None)
    if args.json:
        print(json.dumps(found))
    else:
        _show(found)


def _ending(whole: Whole) -> int:
    """Report errors of the file on standard error; return the exit status."""
    error = whole["error"]
    if error is None:
        return 0
    sys.stdout.flush()
    content = " of its content" if whole["compression"] else ""
    place = f"{whole['file']}: at byte {error['offset']:,}{content}: {error['message']}"
    verb = "was" if whole["packets"] == 1 else "were"
    before = f"{counted(whole['packets'], 'packet')} before it {verb} read"
    terminal.say(f"sojourn: {place}; {before}")
    # BAD_INPUT means that the input gave no result; here it gave some.
    return 1 if whole["packets"] else terminal.BAD_INPUT


def _show(found: CaptureRtt) -> None:
    out = console()
    out.print(name(_summary(found), "bold"))
    directions = [way for flow in found["flows"] for way in flow["directions"]]
    if directions:
        heads = ("\nsamples", *(f"{x}\nms" for x in _FIGURES), "without\n%")
        out.print(_table("pairs", heads, map(_rtts, directions)))
        heads = ("\npackets", "\nre-sent", "payload\nbytes", "goodput\nMbit/s", "duration\ns")
        rows = (_traffic(way, flow) for flow in found["flows"] for way in flow["directions"])
        out.print(_table(None, heads, rows))
    for note in _notes(found):
        out.print(Text(note, style="dim"), soft_wrap=True)


def _table(pairs: str | None, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("from", "to", *([pairs] if pairs else [])):
        table.add_column(f"\n{head}", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


_FIGURES = ("min", "mean", "p50", "p95", "p99", "max")


def _rtts(direction: Direction) -> Iterator[str]:
    yield from (direction["from"], direction["to"], _pairs(direction))
    yield f"{direction['samples']:,}"
    for value in (
        direction["min_s"],
        direction["mean_s"],
        direction["p50_s"],
        direction["p95_s"],
        direction["p99_s"],
        direction["max_s"],
    ):
        yield MISSING if value is None else f"{1e3 * value:.3f}"
    share = direction["unsampled_share"]
    yield MISSING if share is None else f"{100 * share:.1f}"


def _pairs(direction: Direction) -> str:
    method = direction["method"] or MISSING
    return f"{method}, sack" if 0 < direction["sack_samples"] < direction["samples"] else method


def _traffic(direction: Direction, flow: Flow) -> Iterator[str]:
    goodput = direction["goodput_bps"]
    yield from (
        direction["from"],
        direction["to"],
        f"{direction['packets']:,}",
        f"{direction['resent_packets']:,}",
        f"{direction['payload_bytes']:,}",
        MISSING if goodput is None else f"{goodput / 1e6:.3f}",
        f"{flow['duration_s']:.3f}",
    )


def _summary(found: CaptureRtt) -> str:
    packets, flows = counted(found["packets"], "packet"), counted(found["flow_count"], "TCP flow")
    return f"{found['file']}: {packets} in {found['duration_s']:.3f} s, {flows}"


_REASONS = {
    "link_type": "of an unknown link type",
    "not_ip": "not IP",
    "not_tcp": "not TCP",
    "fragments": "IP fragments",
    "cut": "cut off within their headers",
    "malformed": "with contradictory headers",
    "without_time": "without a time",
    "beyond_max_flows": "of flows beyond --max-flows",
    "copies": "captured before, at another place",
}


def _notes(found: CaptureRtt) -> Iterator[str]:
    if found["flow_count"] > _MOST_FLOWS:
        most = f"the {_MOST_FLOWS} flows with most samples"
        yield f"{most} of {found['flow_count']:,}; --json has the others"
    skipped = {reason: found["skipped"][reason] for reason in _REASONS}  # type: ignore[literal-required]
    reasons = [f"{count:,} {_REASONS[reason]}" for reason, count in skipped.items() if count]
    if reasons:
        yield f"skipped: {', '.join(reasons)}"
    backward = sum(x["backward_pairs"] for flow in found["flows"] for x in flow["directions"])
    if backward:
        yield f"{backward:,} answers are earlier than their segments, and are left out"
    if found["flows"]:
        yield (
            "each row: time at the capture point from a segment of the first end to the answer "
            "of the second; both rows together are the whole round trip"
        )
        yield (
            "without: share of the time with unacknowledged data in which no timed segment was "
            "under way"
        )
