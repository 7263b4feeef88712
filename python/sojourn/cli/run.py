"""`sojourn run`."""

import argparse
import sys
import time
from pathlib import Path

from sojourn import _core, output, terminal
from sojourn.cli.options import (
    add_captures,
    add_controller_option,
    add_scenario_options,
    add_selection_options,
    chosen_of,
    pictures_of,
    positive,
)
from sojourn.cli.plots import Plots
from sojourn.cli.scenarios import (
    load_controllers,
    prepared,
    prints_aside,
    require_named,
)
from sojourn.record import parts
from sojourn.record.parts import Chosen
from sojourn.record.summary import Summary
from sojourn.run import api, results
from sojourn.run.exports import Captures
from sojourn.run.progress import Bar
from sojourn.user.controllers import UserControllers


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn run`."""
    add_scenario_options(parser)
    add_controller_option(parser)
    add_selection_options(parser)
    add = parser.add_argument
    add("--jobs", metavar="N", type=positive, help="number of threads (default: one a core)")
    add_captures(
        parser,
        "write every packet to this folder, in two capture files a run: at the senders, and at the "
        "receivers",
        "write the events of each transport to this folder, in two qlog files a connection",
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Simulate a scenario, write the run directory, show the table."""
    summary_alone = args.json and args.out is None
    out = output.choose(
        args.out, Path("runs") / ("stdin" if args.file == "-" else Path(args.file).stem)
    )
    captures = Captures.to(args.pcapng, args.qlog)
    captures.require_free()
    captures.require_apart_from(out.path)
    controllers = load_controllers(args.controller)
    require_named(args.control, controllers)
    core = prepared(args, controllers)
    captures.require_possible(core)
    chosen = chosen_of(args)
    chosen.check(dict(zip(("flow", "link"), core.names(), strict=True)), args.file)
    _note(core, args)
    if summary_alone:
        return _summarise(args, core, controllers, captures, chosen)
    began = time.perf_counter()
    plots = Plots()
    drawn = pictures_of(args, plots.report_missing)
    drawn.load_ahead()
    # The folders are created now, to detect errors early, and filled at the end.
    with Bar() as bar, prints_aside(), captures.opened() as files, out.opened() as opened:
        record = api.record(
            core, args.file, args.runs, args.jobs, bar.simulating, controllers, files
        )
        took_s = time.perf_counter() - began
        bar.writing(drawn.what)
        shown = parts.select(record, chosen, args.file)
        results.fill(record, opened.place, drawn, args.csv, shown.plot(chosen.first_link))
    drawn.finish(opened.target, results.REDRAW)
    _note_user_controllers(controllers, record.summary, args, took_s)
    if args.json:
        sys.stdout.write(results.summary_text(shown.summary))
        return plots.status()
    from sojourn.cli import console

    last = output.announced("Run directory", opened.target, drawn.hint)
    console.show(shown, last, args.explain)
    return plots.status()


def _summarise(
    args: argparse.Namespace,
    core: _core.Scenario,
    controllers: UserControllers,
    captures: Captures,
    chosen: Chosen,
) -> int:
    """Run without a run directory."""
    began = time.perf_counter()
    with Bar() as bar, prints_aside(), captures.opened() as files:
        summary = api.summarise(
            core, args.file, args.runs, args.jobs, bar.simulating, controllers, files
        )
    _note_user_controllers(controllers, summary, args, time.perf_counter() - began)
    sys.stdout.write(results.summary_text(parts.of_summary(summary, chosen)))
    return 0


def _note(core: _core.Scenario, args: argparse.Namespace) -> None:
    if args.runs > 1 and not core.is_random():
        terminal.say(
            f"note: nothing in {args.file} is random, so all {args.runs} runs of a controller are "
            "the same; start_jitter above 0s, or noise other than none, changes that, and "
            "--spread 5s moves the changes of its links"
        )
    elif 1 < args.runs < 6:
        terminal.say("note: a 95 % confidence interval of a median needs 6 runs")


def _note_user_controllers(
    controllers: UserControllers, summary: Summary, args: argparse.Namespace, took_s: float
) -> None:
    """Report the speed of Python controllers, and the user's controllers without a flow."""
    if slowness := controllers.slowness(summary, took_s):
        terminal.say(slowness)
    used = controllers.used(summary["runs"])
    for name in (name for name in controllers.names if name not in used):
        terminal.say(
            f"note: no flow of {args.file} uses controller {name!r}; --control {name} does"
        )
