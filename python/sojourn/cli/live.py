"""`sojourn live`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import _core, output
from sojourn.cli.options import add_captures, add_departures, add_scenario_options, pictures_of
from sojourn.cli.plots import Plots
from sojourn.cli.scenarios import prepared
from sojourn.errors import UsageError
from sojourn.extras import require_live
from sojourn.live.api import record_live
from sojourn.live.real_time import Live, gain_privilege, host, link_commands
from sojourn.run import results
from sojourn.run.exports import Captures, Files
from sojourn.run.progress import Bar
from sojourn.run.results import Run

if TYPE_CHECKING:
    from sojourn.cli.page.live import PageView
    from sojourn.live.view import View


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn live`."""
    parser.description = (
        "Run a scenario in real time: real network stacks in network namespaces of this process, "
        "over the scenario's links. The record is that of `sojourn run`, so "
        "`sojourn compare` takes both."
    )
    add_scenario_options(parser)
    parser.add_argument(
        "--stack",
        choices=("kernel", "udp"),
        default="kernel",
        help="hosts of the flows: the kernel's TCP with its controllers, or Sojourn's transport "
        "over UDP with all of Sojourn's (default: kernel)",
    )
    parser.add_argument("--ipv6", action="store_true", help="use IPv6 instead of IPv4")
    parser.add_argument(
        "--bottleneck",
        choices=("sojourn", "tc"),
        default="sojourn",
        help="the links: Sojourn's own, as in simulations, or the kernel's queues (HTB, "
        "netem and its AQMs), made with `tc` (default: sojourn)",
    )
    add_departures(parser, "with --stack udp: ")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="with --bottleneck tc: print the commands that make the links, and run nothing",
    )
    add_captures(
        parser,
        "write the packets to this folder, in two capture files a run: at the senders, and at the "
        "receivers",
        "write the events of each transport to this folder, in a qlog file for each sender; of a "
        "QUIC stack for both ends; of the kernel's TCP only its states",
    )
    parser.add_argument(
        "--tcp-probe",
        metavar="DIR",
        help="write a row for each acknowledgement that arrives at a sender of the kernel's TCP to "
        "this folder, in a Parquet file a run (`sojourn columns acks`); needs root",
    )
    parser.add_argument(
        "--view",
        action="store_true",
        help="show moving charts of the bottleneck link on the terminal while the runs go on",
    )
    parser.add_argument(
        "--page",
        action="store_true",
        help="serve these charts as a page on loopback while the runs go on",
    )
    parser.set_defaults(execute=execute, prepare=prepare)


def prepare(args: argparse.Namespace) -> None:
    """Gain the privilege for the run."""
    if not args.dry_run:
        gain_privilege()


def execute(args: argparse.Namespace) -> int:
    """Run a scenario live, write the run directory, and show the table."""
    if args.dry_run:
        return _show_commands(args)
    name = "stdin" if args.file == "-" else Path(args.file).stem
    out = output.choose(args.out, Path("runs") / f"{name}-live")
    captures = Captures.to(args.pcapng, args.qlog, args.tcp_probe)
    captures.require_free()
    captures.require_apart_from(out.path)
    core, live = _prepared(args)
    captures.require_possible(core)
    view = _view(args, core) if args.view or args.page else None
    plots = Plots()
    if args.json and args.out is None:
        with captures.opened() as files:
            run = _recorded(args, core, live, files, view)
        return _shown(args, plots, run)
    drawn = pictures_of(args, plots.report_missing)
    with captures.opened() as files, out.opened() as opened:
        run = _recorded(args, core, live, files, view)
        with Bar() as bar:
            bar.writing(drawn.what)
            results.fill(run, opened.place, drawn, args.csv)
    drawn.finish(opened.target, results.REDRAW)
    last = None if args.json else output.announced("Run directory", opened.target, drawn.hint)
    return _shown(args, plots, run, last)


def _prepared(args: argparse.Namespace) -> tuple[_core.Scenario, Live]:
    core = prepared(args, host=host(args.stack))
    return core, Live(args.stack, args.ipv6, args.bottleneck, args.departures)


def _view(args: argparse.Namespace, core: _core.Scenario) -> "View | PageView":
    if args.view and args.page:
        raise UsageError("--view and --page show the same charts; leave out one of them")
    title, link = Path(args.file).name, core.bottleneck()
    runs = len(core.controls()) * args.runs
    if args.page:
        from sojourn.cli.page.live import PageView
        from sojourn.picture.simulator_page import page_folder

        require_live("live runs")
        return PageView(page_folder(), title, link, runs)
    from sojourn.live.view import View, require_terminal

    require_terminal()
    require_live("live runs")
    return View(title, link, runs)


def _recorded(
    args: argparse.Namespace,
    core: _core.Scenario,
    live: Live,
    files: Files,
    view: "View | PageView | None",
) -> Run:
    """Run with charts, or else with a progress bar."""
    if view is not None:
        with view:
            return record_live(core, args.file, args.runs, live, view.show, files, view)
    with Bar() as bar:
        shown = _SetUp(bar)
        return record_live(core, args.file, args.runs, live, shown.show, files, shown)


class _SetUp:
    """Shows the flows of a run that are set up, then its time."""

    reads = False

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._run: _core.LiveRun | None = None

    def begin(self, run: "_core.LiveRun", control: str | None, seed: int) -> None:
        """Follow this run from now on."""
        self._run = run

    def show(self, done_s: float, total_s: float) -> None:
        """Show the present state, as a callback for progress."""
        counts = self._run.setting_up if self._run is not None else None
        if counts is not None:
            self._bar.setting_up(*counts)
        else:
            self._bar.simulating(done_s, total_s)


def _show_commands(args: argparse.Namespace) -> int:
    """Print the commands of the first run."""
    if args.bottleneck != "tc":
        raise UsageError("--dry-run prints commands of `tc`; add --bottleneck tc")
    if args.view or args.page:
        option = "--view" if args.view else "--page"
        raise UsageError(f"--dry-run runs nothing that {option} could show; leave out one of them")
    core, live = _prepared(args)
    sys.stdout.write(link_commands(core, live))
    return 0


def _shown(args: argparse.Namespace, plots: Plots, run: Run, last: str | None = None) -> int:
    if args.json:
        sys.stdout.write(results.summary_text(run.summary))
        return plots.status()
    from sojourn.cli import console

    console.show(run, last, args.explain)
    return plots.status()
