"""The command-line parser. Each subcommand names the function that runs it."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from sojourn.terminal import line

_CONTRACT = (
    'prints {"format", "scenario", "version", "runs": [{"control", "seed", "flows", "links", '
    '"spikes"}]} and, with --runs, "medians" (one entry a controller), and nothing else on '
    "standard output; writes a run directory only where --out names one"
)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; exit the program for invalid ones or for help."""
    parser = _parser()
    args = parser.parse_args(argv)
    if not hasattr(args, "command"):
        parser.print_help()
        parser.exit(2)
    return args


class _Version(argparse.Action):
    """Print the version; load the compiled module only for this option."""

    def __init__(self, **keys: Any) -> None:
        super().__init__(nargs=0, help="show the version and exit", **keys)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from sojourn._core import __version__

        print(f"sojourn {__version__}")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **keys: Any) -> None:
        super().__init__(*args, **keys)
        # From Python 3.14, argparse writes escape sequences, which the output streams escape.
        self.color = False

    def error(self, message: str) -> NoReturn:
        super().error(line(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sojourn",
        description="A laboratory for low-latency congestion control.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28),
        epilog="Start with: sojourn run scenarios/capacity-drop.toml",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_run(commands)
    _add_compare(commands)
    _add_matrix(commands)
    _add_theory(commands)
    _add_paper(commands)
    _add_rtt(commands)
    listed = _add_listing(
        commands, "controllers", "the congestion controllers and their parameters"
    )
    _add_controller(listed)
    _add_listing(commands, "queues", "the queue disciplines and their parameters")
    check = _add(commands, "check", "scenarios:check", "validate scenario files")
    check.add_argument(
        "files", metavar="FILE", type=_name, nargs="+", help="scenarios; - for standard input"
    )
    _add_controller(check)
    _add_qlog(commands)
    report = _add(commands, "report", "report:report", "draw the report of a run directory anew")
    report.add_argument(
        "directory", metavar="DIR", type=_name, help="the run directory; its data stay"
    )
    _add_bench(commands)
    schema = _add(commands, "schema", "scenarios:schema", "print the JSON Schema of scenario files")
    schema.add_argument(
        "--markdown", action="store_true", help="print it as a reference to read: every key"
    )
    _add_controller(schema)
    return parser


def _add(commands: Any, name: str, command: str, doc: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=doc, description=doc[0].upper() + doc[1:] + ".", allow_abbrev=False
    )
    parser.set_defaults(command=command)
    return parser


def _add_run(commands: Any) -> None:
    run = _add(commands, "run", "run:run", "simulate a scenario, once for each of its controllers")
    add = run.add_argument
    add("file", metavar="FILE", type=_name, help="the scenario, a TOML file; - for standard input")
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change a value, such as link.bottleneck.rate.steps.0.rate=10Mbit; may be repeated",
    )
    add(
        "--control",
        metavar="A,B",
        type=_names,
        help="run these controllers instead of the scenario's; where every flow names one of "
        "its own, they replace these",
    )
    _add_controller(run)
    add("--seed", metavar="N", type=_whole, help="seed of everything random")
    add(
        "--runs",
        metavar="N",
        type=_positive,
        default=1,
        help="repeat with N seeds in a row; the table then shows medians with their 95 %% "
        "confidence intervals (from 6 runs on)",
    )
    add(
        "--spread",
        metavar="DURATION",
        help="move every change of a link later by a random time up to this, the same for all "
        "changes (--set spread=DURATION)",
    )
    add("--jobs", metavar="N", type=_positive, help="threads (default: one a core)")
    add("--out", metavar="DIR", help="run directory (default: runs/NAME, -2, -3, ... if taken)")
    add(
        "--pcapng",
        metavar="DIR",
        help="write every packet to this folder, two capture files a run: as the senders see them, "
        "and as the receivers do (docs/exports.md)",
    )
    add(
        "--qlog",
        metavar="DIR",
        help="write what each transport does to this folder, two qlog files a connection "
        "(docs/exports.md)",
    )
    add("--json", action="store_true", help=_CONTRACT)


def _add_matrix(commands: Any) -> None:
    doc = "every controller over every queue, alone and two against each other"
    matrix = _add(commands, "matrix", "matrix:matrix", doc)
    add = matrix.add_argument
    add("--controls", metavar="A,B", type=_names, help="these controllers (default: all)")
    _add_controller(matrix)
    add("--queues", metavar="X,Y", type=_names, help="these queues (default: all)")
    add("--rtts", metavar="T,U", type=_names, help="base RTTs (default: 10ms,40ms,160ms)")
    add("--rate", metavar="RATE", help="of the bottleneck (default: 50Mbit)")
    add("--buffer", metavar="SIZE", help="in bytes, packets or time (default: 100ms)")
    add("--duration", metavar="DURATION", help="of each simulation (default: 30s)")
    add("--seed", metavar="N", type=_whole, help="seed of everything random (default: 1)")
    add(
        "--runs",
        metavar="N",
        type=_positive,
        help="repeat each combination with N seeds in a row; figures are then means with their "
        "95 %% confidence intervals (default: 1)",
    )
    add("--jobs", metavar="N", type=_positive, help="threads (default: one a core)")
    add("--out", metavar="DIR", help="write matrix.json, matrix.md and heat maps to this folder")
    form = matrix.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print every figure as one JSON object")
    form.add_argument("--markdown", action="store_true", help="print the whole table as Markdown")


def _add_compare(commands: Any) -> None:
    doc = "lay two run directories side by side, whoever wrote them (docs/run-directory.md)"
    compare = _add(commands, "compare", "compare:compare", doc)
    compare.description = (
        "Lay two run directories side by side, whoever wrote them (docs/run-directory.md). Both "
        "are compared in steps of the longer of their intervals. Percentiles of peaks (`_peak_` in "
        "--json) are over the greatest value in each step, since that is what a series has: they "
        "depend on the step, and as a rule lie above those over all packets, which are given "
        "beside them, for whole runs, where both summaries have them."
    )
    add = compare.add_argument
    add("a", metavar="A", type=_name, help="the run directory that differences are counted from")
    add("b", metavar="B", type=_name, help="the other one")
    for kind in ("flow", "link"):
        add(f"--{kind}", metavar="X,Y", type=_names, help=f"only these {kind}s")
    add("--control", metavar="X,Y", type=_names, help="only the runs of these controllers")
    add(
        "--shift-b",
        metavar="SECONDS",
        type=float,
        default=0.0,
        help="add this to the times of B, whose clock may have begun at another moment",
    )
    place = compare.add_mutually_exclusive_group()
    place.add_argument(
        "--out", metavar="DIR", help="where to write (default: runs/A-vs-B, -2, -3, ... if taken)"
    )
    place.add_argument(
        "--plot", metavar="FILE", help="write the figure alone, as .html, .svg or .png"
    )
    add(
        "--json",
        action="store_true",
        help='prints {"version", "a", "b", "shift_b_s", "only_in_a", "only_in_b", '
        '"not_compared", "flows", "links"} and nothing else on standard output; writes only what '
        "--out or --plot names",
    )


def _add_theory(commands: Any) -> None:
    theory = _add(
        commands, "theory", "theory_spike:spike", "bounds in closed form, without simulation"
    )
    kinds = theory.add_subparsers(title="what", metavar="WHAT", required=True)
    doc = "the least latency spike after a drop of capacity, or the loss instead of it"
    spike = _add(kinds, "spike", "theory_spike:spike", doc)
    add = spike.add_argument
    add("--from", dest="before", metavar="RATE", required=True, help="capacity before: 60Mbit")
    add("--to", dest="after", metavar="RATE", help="capacity after: 20Mbit")
    add(
        "--delay",
        metavar="DURATION[,DURATION]",
        type=_names,
        required=True,
        help="time until the sender knows, plus time in flight: 50ms; one for each flow where "
        "several share a FIFO",
    )
    add(
        "--share",
        metavar="S,S",
        type=_names,
        help="the flows' shares, or rates, before the drop: 3,1 (default: equal)",
    )
    add(
        "--users",
        metavar="N,N",
        type=_names,
        help="users of a fair queue before and after: 1,2; then --to may be left out",
    )
    add("--max-queue", metavar="DURATION", help="greatest delay that the queue allows: 20ms")
    add(
        "--mitigations",
        metavar="NAME=VALUE,...",
        type=settings_of,
        nargs="?",
        const={},
        help="show what each mitigation makes of it; with settings of your own, of headroom, "
        "ramp, warning, near, back_queue, standing, users and node (docs/theory/spike.md): "
        "headroom=0.2,ramp=80ms",
    )
    add("--plot", metavar="FILE", help="draw rates and queue, as .html, .svg or .png")
    add("--json", action="store_true", help="print the figures as one JSON object")
    _add_theory_trace(kinds)
    _add_theory_rapid(kinds)


def _add_theory_trace(kinds: Any) -> None:
    doc = "the unavoidable delay of any link: the least queueing delay under a capacity over time"
    trace = _add(kinds, "trace", "theory_trace:trace", doc)
    add = trace.add_argument
    add(
        "file",
        metavar="FILE",
        nargs="?",
        help="a mahimahi trace, or a table of times and rates: 0,60Mbit",
    )
    add(
        "--process",
        metavar="NAME[,PARAM=VALUE]",
        help="a link at random in place of a file: wifi or cellular, such as wifi,snr=15",
    )
    add(
        "--fit",
        action="store_true",
        help="fit a chain of rates to the file, and take what it makes",
    )
    add("--levels", metavar="N", type=_positive, help="greatest number of its rates (default: 8)")
    add("--seed", metavar="N", type=_whole, help="seed of what is made at random (default: 1)")
    add("--duration", metavar="DURATION", help="how much is made at random (default: 60s)")
    add(
        "--delay",
        metavar="DURATION",
        required=True,
        help="time until the sender knows, plus time in flight: 40ms",
    )
    add(
        "--stretch",
        metavar="DURATION",
        default="10ms",
        help="over which a mahimahi trace is averaged (default: 10ms)",
    )
    add("--plot", metavar="FILE", help="draw capacity and delays, as .html, .svg or .png")
    add("--json", action="store_true", help="print the figures as one JSON object")


def _add_theory_rapid(kinds: Any) -> None:
    doc = "what periodic bursts of cross traffic cost the packet-scale paradigm"
    rapid = _add(kinds, "rapid", "theory_rapid:rapid", doc)
    add = rapid.add_argument
    for name, metavar, what in (
        ("capacity", "RATE", "C, of the bottleneck: 1Gbit"),
        ("load", "RATE", "R_avg, mean rate of the cross traffic: 111Mbit"),
        ("on", "DURATION", "T_on, length of a burst: 100ms"),
        ("off", "DURATION", "T_off, pause between two: 350ms"),
        ("tau", "DURATION", "how long Rapid's rate takes to rise: 150ms"),
        ("eta", "DURATION", "how long it takes to fall: 75ms"),
    ):
        add(f"--{name}", metavar=metavar, required=True, help=what)
    add("--plot", metavar="FILE", help="draw rate and queue, as .html, .svg or .png")
    add("--json", action="store_true", help="print the figures as one JSON object")


def _add_paper(commands: Any) -> None:
    paper = _add(commands, "paper", "paper:show_list", "reproduce the papers behind all of this")
    kinds = paper.add_subparsers(title="what", metavar="WHAT", required=True)
    listed = _add(kinds, "list", "paper:show_list", "list the papers and their figures")
    doc = "run a paper's figures, and lay what was published beside what is found here"
    run = _add(kinds, "run", "paper:run", doc)
    run.add_argument("name", metavar="NAME", help="the paper (sojourn paper list), or `all`")
    add = run.add_argument
    add("--figure", metavar="F", action="append", default=[], help="only this; may be repeated")
    add("--quick", action="store_true", help="fewer points and shorter runs: minutes for all")
    add("--out", metavar="DIR", help="where to write (default: runs/paper-NAME, -2, -3, ...)")
    add("--jobs", metavar="N", type=_positive, help="threads (default: one a core)")
    add(
        "--data",
        metavar="PATH",
        help="the authors' measurements that do not ship, a file or a folder of them; "
        "latency-spike has more to say with latency-spike-testbed.csv",
    )
    form = run.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print every figure as JSON")
    form.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    for parser in (listed, run):
        parser.add_argument(
            "--papers", metavar="DIR", default="papers", help="folder of papers (default: papers)"
        )
    listed.add_argument("--json", action="store_true", help="print the list as JSON")


def _add_rtt(commands: Any) -> None:
    doc = "the round-trip times of every TCP flow in a capture, both directions"
    rtt = _add(commands, "rtt", "rtt:rtt", doc)
    add = rtt.add_argument
    add("file", metavar="FILE", type=_name, help="a pcap or pcapng file; - for standard input")
    add(
        "--method",
        choices=("auto", "timestamps", "acks"),
        default="auto",
        help="pair segments and answers by the timestamps option, or by sequence numbers and "
        "acknowledgements (default: timestamps in directions that have them, acks elsewhere)",
    )
    add(
        "--max-flows",
        metavar="N",
        type=_positive,
        default=1 << 18,
        help="flows that are held at most (default: 262144)",
    )
    add("--plot", metavar="FILE", help="draw RTTs over time, as .html, .svg or .png")
    add(
        "--json",
        action="store_true",
        help='print {"format", "file", "packets", "flows", "skipped", "error"} as one JSON object',
    )


def _add_controller(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--controller",
        metavar="[NAME=]FILE.py:CLASS",
        action="append",
        default=[],
        help="add a controller of your own to those that scenarios may name (CONTRIBUTING.md); "
        "NAME is the class's in snake case where it is left out; may be repeated",
    )


def _add_listing(commands: Any, name: str, doc: str) -> argparse.ArgumentParser:
    listing = _add(commands, name, f"listings:{name}", f"list {doc}")
    listing.add_argument("name", metavar="NAME", nargs="?", help="show this one in full")
    listing.add_argument("--json", action="store_true", help="print everything as JSON")
    return listing


def _add_qlog(commands: Any) -> None:
    doc = "read qlog, whoever wrote it, into the figures and plots of a run (docs/exports.md)"
    qlog = _add(commands, "qlog", "qlog:qlog_command", doc)
    add = qlog.add_argument
    add("files", metavar="FILE", type=_name, nargs="+", help="a .qlog or .sqlog file")
    add(
        "--interval",
        metavar="SECONDS",
        type=float,
        default=None,
        help="between two samples (default: a 500th of the time, 1 ms at least)",
    )
    add(
        "--control",
        metavar="NAME",
        default="qlog",
        help="what its controller is called, by which `sojourn compare` matches (default: qlog)",
    )
    place = qlog.add_mutually_exclusive_group()
    place.add_argument("--out", metavar="DIR", help="write a run directory, for `sojourn compare`")
    place.add_argument(
        "--plot", metavar="FILE", help="write the figure alone, as .html, .svg or .png"
    )
    add("--json", action="store_true", help="print what `sojourn run --json` does")


def _add_bench(commands: Any) -> None:
    bench = _add(commands, "bench", "bench:bench", "measure speed, memory and start-up")
    add = bench.add_argument
    add("--quick", action="store_true", help="only show that everything can be measured")
    add(
        "--case",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="measure these cases alone, and neither scaling nor memory, start-up and threads: "
        "A B B-lossless C C-codel",
    )
    add("--out", metavar="DIR", help="write bench.json and a figure to this folder as well")
    add(
        "--json",
        action="store_true",
        help='print {"version", "quick", "machine", "bare_loop_pps", "cases", "scaling", "memory", '
        '"startup", "jobs"} and nothing else on standard output',
    )


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names such as cubic,bbr")
    return names


def settings_of(text: str) -> dict[str, str]:
    """Parse names and values: `headroom=0.2,ramp=80ms`."""
    pairs = [pair.partition("=") for pair in _names(text)]
    if not all(equals for _, equals, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of settings such as ramp=80ms")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _name(text: str) -> str:
    """The name of a file or a folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def _whole(text: str) -> int:
    return _integer(text, least=0)


def _positive(text: str) -> int:
    return _integer(text, least=1)


def _integer(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return number
