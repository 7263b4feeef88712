"""Options that several commands share, and the types of their values."""

import argparse
from collections.abc import Sequence

from sojourn.errors import UsageError
from sojourn.picture import require_pictures
from sojourn.picture.pictures import PAGE, PICTURES, Pictures, ReportMissing
from sojourn.record.parts import Chosen

_RUN_JSON = (
    'print {"format", "scenario", "version", "runs": [{"control", "seed", "flows", "links", '
    '"spikes"}]}, with --runs "medians" (one entry a controller), "verdicts" on the changes of '
    'capacity, their "picture" and "unavoidable" delays of traces, and nothing else on standard '
    "output; write a run directory only if --out names one"
)


def name_list(text: str) -> list[str]:
    """Parse names that commas separate: `cubic,bbr`."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names such as cubic,bbr")
    return names


def settings_of(text: str) -> dict[str, str]:
    """Parse names and values: `headroom=0.2,ramp=80ms`."""
    pairs = [pair.partition("=") for pair in name_list(text)]
    if not all(equals for _, equals, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of settings such as ramp=80ms")
    return {name.strip(): value.strip() for name, _, value in pairs}


def file_name(text: str) -> str:
    """Return the name of a file or a folder; refuse an empty one."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def whole(text: str) -> int:
    """Parse a whole number of 0 or more."""
    return _integer(text, least=0)


def positive(text: str) -> int:
    """Parse a whole number of 1 or more."""
    return _integer(text, least=1)


def port(text: str) -> int:
    """Parse the number of a port; 0 selects a free one."""
    from sojourn.live import transfers

    try:
        return transfers.parse_port(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _integer(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return number


def add_controller_option(parser: argparse.ArgumentParser) -> None:
    """Add `--controller`."""
    parser.add_argument(
        "--controller",
        metavar="[NAME=]FILE.py:CLASS",
        action="append",
        default=[],
        help="add your own controller, for use by name (python -m pydoc sojourn.Controller); NAME "
        "is by default the class's name in snake case; may be repeated",
    )


def add_control_option(parser: argparse.ArgumentParser) -> None:
    """Add `--control`."""
    parser.add_argument(
        "--control",
        metavar="A,B",
        type=name_list,
        help="run these controllers instead of the scenario's; if every flow names its own, they "
        "replace those",
    )


def add_flow_options(parser: argparse.ArgumentParser, example: str) -> None:
    """Add `--control` and `--set` of a command with one flow; `example` is one of its settings."""
    add = parser.add_argument
    add("--control", metavar="NAME", default="cubic", help="the controller (default: cubic)")
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change a value of the flow as in a scenario (`sojourn schema --markdown`): a "
        "parameter of the controller such as control.beta=0.5, or a setting such as "
        f"{example}; may be repeated",
    )


def add_picture_options(parser: argparse.ArgumentParser) -> None:
    """Add `--svg`, `--png`, `--pdf` and `--dark`."""
    for name in PICTURES:
        parser.add_argument(
            f"--{name}",
            action="store_true",
            help=f"draw the report as report.{name} as well (sojourn[pictures])",
        )
    parser.add_argument(
        "--dark",
        action="store_true",
        help="draw pictures on a dark ground; a page follows its reader's settings",
    )


def add_departures(parser: argparse.ArgumentParser, when: str = "") -> None:
    """Add `--departures`; `when` says with which other option it has an effect."""
    parser.add_argument(
        "--departures",
        choices=("timer", "kernel"),
        default="timer",
        help=f"{when}who holds a paced packet until its time: Sojourn's thread, or the kernel "
        "(SO_TXTIME), whose interface must have the queue discipline fq (default: timer)",
    )


def add_live_option(parser: argparse.ArgumentParser) -> None:
    """Add `--live` and `--no-live`."""
    parser.add_argument(
        "--live",
        action=argparse.BooleanOptionalAction,
        help="put the simulator into report.html, so that its reader can change a value of the "
        "scenario, and see the changed run beside the recorded one (default: if this package "
        "was built with the page)",
    )


def add_captures(parser: argparse.ArgumentParser, packets: str, events: str) -> None:
    """Add `--pcapng` and `--qlog`, with the command's words about their files."""
    parser.add_argument("--pcapng", metavar="DIR", help=packets)
    parser.add_argument("--qlog", metavar="DIR", help=events)


def add_selection_options(parser: argparse.ArgumentParser, verb: str = "show") -> None:
    """Add `--flow` and `--link`; `verb` says what the command does with them."""
    more = "" if verb == "compare" else "; the data have all"
    for kind in ("flow", "link"):
        first = "; the figure draws the queue of the first" if kind == "link" else ""
        parser.add_argument(
            f"--{kind}",
            metavar="X,Y",
            type=name_list,
            help=f"{verb} only these {kind}s{first}{more}",
        )


def chosen_of(args: argparse.Namespace, control: Sequence[str] | None = None) -> Chosen:
    """Return the selection that `add_selection_options` asks for."""
    return Chosen(args.flow, args.link, control)


def picture_formats(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the formats that `add_picture_options` asks for."""
    formats = tuple(name for name in PICTURES if getattr(args, name))
    if formats:
        require_pictures()
    return formats


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add `--explain`."""
    parser.add_argument(
        "--explain", action="store_true", help="say below the table what its columns are"
    )


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Add `--no-report`, and the options of `add_picture_options`."""
    parser.add_argument("--no-report", action="store_true", help="do not draw report.html")
    add_picture_options(parser)


def pictures_of(args: argparse.Namespace, report_missing: ReportMissing) -> Pictures:
    """Return the pictures that `add_report_options` and `add_live_option` ask for."""
    live = getattr(args, "live", False)
    return Pictures(report_missing, report_formats(args), is_dark(args), live)


def report_formats(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the formats that `add_report_options` asks for."""
    return (*(() if args.no_report else PAGE), *picture_formats(args))


def is_dark(args: argparse.Namespace) -> bool:
    """Whether pictures have a dark ground; refuse the option without a picture."""
    plotted = str(getattr(args, "plot", None) or "").endswith(PICTURES)
    if args.dark and not plotted and not picture_formats(args):
        raise UsageError("--dark is for saved pictures; add --png, --svg or --pdf")
    return bool(args.dark)


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add the scenario file, and `--set`."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=file_name,
        help="the scenario: a TOML file, or a name of `sojourn scenarios`; - for standard input",
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change a value, such as link.bottleneck.rate.steps.0.rate=10Mbit; may be repeated",
    )


def add_scenario_options(parser: argparse.ArgumentParser) -> None:
    """Add the scenario file, the changes to it, and the options of the output."""
    add_scenario(parser)
    add_control_option(parser)
    add = parser.add_argument
    add("--seed", metavar="N", type=whole, help="seed of all random draws")
    add(
        "--runs",
        metavar="N",
        type=positive,
        default=1,
        help="repeat with N consecutive seeds; the table then shows medians with their 95 %% "
        "confidence intervals (from 6 runs on)",
    )
    add(
        "--spread",
        metavar="DURATION",
        help="delay every change of a link by one random time up to this (--set spread=DURATION)",
    )
    add("--out", metavar="DIR", help="run directory (default: runs/NAME, -2, -3, ... if taken)")
    add_explain(parser)
    add_report_options(parser)
    add_live_option(parser)
    add("--csv", action="store_true", help="write the data as CSV as well")
    add("--json", action="store_true", help=_RUN_JSON)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options of the engine and of the dataset of a command with many runs."""
    add = parser.add_argument
    add(
        "--jobs",
        metavar="N",
        type=positive,
        help="number of threads, or of processes with --dataset (default: one a core)",
    )
    add(
        "--dataset",
        metavar="DIR",
        help="keep the runs in this folder or URL, and repeat none that it holds",
    )
    add(
        "--cluster",
        metavar="ADDRESS",
        help="with --dataset: a Dask scheduler, slurm, pbs or kubernetes, as for sweep",
    )
