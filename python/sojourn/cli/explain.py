"""`sojourn explain`."""

import argparse
import json
import sys
from pathlib import Path

from sojourn import inputs, output, terminal
from sojourn.capture import explanation
from sojourn.capture.explanation import Explanation
from sojourn.cli.console import console, name
from sojourn.cli.options import file_name
from sojourn.cli.plots import Plots
from sojourn.picture import require_free_picture


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn explain`."""
    add = parser.add_argument
    add(
        "file",
        metavar="FILE",
        type=file_name,
        help="a pcap or pcapng file, a qlog file, a Flent data file, JSON of iperf3, or a log of "
        "ss -ti, also of gzip or zstd; or a run directory; - for standard input",
    )
    add("--out", metavar="FILE", help="write the twin, a scenario, to this file")
    add(
        "--report",
        metavar="FILE",
        help="draw the observed series beside the twin's, as .html, .svg, .png or .pdf",
    )
    add("--no-cures", action="store_true", help="do not try other queues and controllers")
    add(
        "--json",
        action="store_true",
        help='print {"source", "path", "flows", "fit", "verdicts", "cures", "twin", "error"} as '
        "one JSON object; an unknown value is null",
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Explain a file, write its twin, and draw the report."""
    target = output.require_free_file(args.out, "--out") if args.out else None
    if args.report is not None:
        require_free_picture(args.report)
    twin = args.out or "twin.toml"
    writer = None if args.out else explanation.writer(args.file, twin)
    text = explanation.text(inputs.opened_as(args.file), twin, not args.no_cures, writer)
    found: Explanation = json.loads(text)
    if args.json:
        print(text)
    else:
        _show(found)
    if target is not None and found["twin"] is not None:
        output.write_file(target, found["twin"])
        terminal.say(output.announced("Twin", args.out))
    elif target is not None:
        terminal.say(f"{args.out} is not written: there is no twin, for the reasons in `unsure`")
    plots = Plots()
    if args.report is not None and found["flows"]:
        from sojourn.capture.explained import ExplanationFigure

        name = Path(args.file).name
        if plots.plot(ExplanationFigure(found, name), args.report):
            terminal.say(output.announced("Report", args.report))
    return plots.status(_ending(args.file, found))


def _show(found: Explanation) -> None:
    out = console()
    for place, line in enumerate(found["text"]):
        out.print(name(line, "bold" if place == 0 else ""), soft_wrap=True)


def _ending(file: str, found: Explanation) -> int:
    """Report errors of the file on standard error; return the exit status."""
    error = found["error"]
    if error is not None:
        sys.stdout.flush()
        terminal.say(f"sojourn: {file}: at byte {error['offset']:,}: {error['message']}")
        return 1 if found["packets"] else terminal.BAD_INPUT
    return 0 if found["flows"] else terminal.BAD_INPUT
