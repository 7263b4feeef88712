"""`sojourn paper`."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from sojourn import output
from sojourn.cli import interrupts
from sojourn.cli.console import console, name
from sojourn.cli.options import add_place, positive
from sojourn.cli.plots import Plots
from sojourn.errors import UsageError
from sojourn.live.real_time import gain_privilege
from sojourn.picture.pictures import Pictures
from sojourn.run import shipped
from sojourn.run.progress import Bar
from sojourn.sweep.cells import Place

from sojourn_papers import page, runner
from sojourn_papers.form import Form
from sojourn_papers.lab import Lab
from sojourn_papers.live_runs import LiveRuns
from sojourn_papers.measured import TableSummary
from sojourn_papers.paper import Figure, Paper, PaperSummary

_ALL = "all"
# Measurements that no paper includes, relative to the folder of papers.
_DATA = Path("../../shared/data")


def declare_list(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn paper list`."""
    _add_folder(parser)
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.set_defaults(execute=show_list)


def declare_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn paper run`."""
    parser.add_argument("name", metavar="NAME", help="the paper (sojourn paper list), or `all`")
    add = parser.add_argument
    add(
        "--figure",
        metavar="F",
        action="append",
        default=[],
        help="run only this figure; may be repeated",
    )
    add(
        "--quick",
        action="store_true",
        help="run fewer and shorter simulations: minutes for all papers",
    )
    _add_live(parser)
    add(
        "--out",
        metavar="DIR",
        help="folder to write to (default: runs/paper-NAME, runs/paper-NAME-live, "
        "runs/paper-NAME-STACK or runs/paper-NAME-STACK-live; -2, -3, ...)",
    )
    add_place(parser)
    add(
        "--data",
        metavar="PATH",
        help="file or folder with the authors' measurements, which are not included; with "
        "latency-spike-testbed.csv, latency-spike checks more claims",
    )
    add("--json", action="store_true", help="print every figure as JSON")
    _add_folder(parser)
    parser.set_defaults(execute=run, prepare=prepare)


def prepare(args: argparse.Namespace) -> None:
    """Gain the privilege for live runs."""
    _require_place(args)
    if args.live:
        gain_privilege()


def _add_live(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--live",
        action="store_true",
        help="run the paper's live figures: real hosts over real links, in real time, "
        "beside simulations of the same scenarios",
    )
    add(
        "--stack",
        metavar="NAME",
        help="run the paper's figures with a real QUIC stack in virtual time, such as `noq`, "
        "beside those with the model of QUIC; with --live, over UDP in real time",
    )
    add("--ipv6", action="store_true", help="with --live: use IPv6 instead of IPv4")
    add(
        "--runs",
        metavar="N",
        type=positive,
        help="with --live: number of live runs of each measurement (default: the paper's)",
    )


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--papers",
        metavar="DIR",
        help="folder of papers (default: papers, or those of the package)",
    )


def show_list(args: argparse.Namespace) -> int:
    """List every paper with its figures."""
    papers = {name: runner.load(one) for name, one in runner.find(_folder(args)).items()}
    if args.json:
        listed = [_listed(name, paper) for name, paper in papers.items()]
        print(json.dumps(listed, indent=1))
        return 0
    out = console()
    for called, paper in papers.items():
        out.print(name(called, "bold").append(name(f"  {paper.title}", "default")))
        out.print(name(f"  {paper.source}", "dim"))
        for figure, one in paper.figures.items():
            out.print(name(f"  {figure:12} {one.title}"))
        for figure, one in paper.live.items():
            out.print(name(f"  {figure:12} {one.title} (--live)"))
        for figure, one in paper.stacks.items():
            out.print(name(f"  {figure:12} {one.title} (--stack)"))
        for figure, one in paper.live_stacks.items():
            out.print(name(f"  {figure:12} {one.title} (--stack, --live)"))
    return 0


def _folder(args: argparse.Namespace) -> Path:
    """Return the folder of papers: the named one, `papers` here, or that of the package."""
    if args.papers is not None:
        return Path(args.papers)
    here = Path("papers")
    return here if here.is_dir() or not shipped.PAPERS.is_dir() else shipped.PAPERS


def _listed(name: str, paper: Paper) -> dict[str, object]:
    return {
        "paper": name,
        "title": paper.title,
        "source": paper.source,
        "figures": _titles(paper.figures),
        "live": _titles(paper.live),
        "stacks": _titles(paper.stacks),
        "live_stacks": _titles(paper.live_stacks),
    }


def _titles(figures: Mapping[str, Figure]) -> list[dict[str, str]]:
    return [{"figure": figure, "title": one.title} for figure, one in figures.items()]


@dataclass(frozen=True)
class _Wanted:
    name: str
    folder: Path
    paper: Paper
    figures: list[str]


def run(args: argparse.Namespace) -> int:
    """Run figures of papers, show the tables, and write pictures and tables."""
    kind = (f"-{args.stack}" if args.stack else "") + ("-live" if args.live else "")
    out = output.choose(args.out, Path("runs") / f"paper-{args.name}{kind}")
    wanted = _wanted(args)
    data = _data(args.data, _folder(args))
    done: list[PaperSummary] = []
    figures = Plots()
    with Bar() as bar, interrupts.keeping(args.dataset), out.opened() as opened:
        for one in wanted:
            own = opened.place if len(wanted) == 1 else opened.place / one.name
            done.append(_run(one, args, data, own, bar, figures))
    if args.json:
        print(json.dumps(done if args.name == _ALL else done[0], indent=1))
    else:
        _show(done, opened.target, console())
    return figures.status()


def _wanted(args: argparse.Namespace) -> list[_Wanted]:
    place = _folder(args)
    if args.name == _ALL and args.figure:
        raise UsageError("--figure is for one paper: name it instead of `all`")
    if not args.live and (args.ipv6 or args.runs is not None):
        option = "--ipv6" if args.ipv6 else "--runs"
        raise UsageError(f"{option} is for live runs: add --live")
    form = _form(args)
    _require_place(args)
    if args.name == _ALL:
        folders = runner.find(place)
    else:
        folders = {args.name: runner.find_one(place, args.name)}
    papers = {name: (folder, runner.load(folder)) for name, folder in folders.items()}
    if form != "figure":
        papers = {name: one for name, one in papers.items() if one[1].of(form)}
        _require_any(papers, args.name, place, form)
    return [
        _Wanted(name, folder, paper, runner.choose_figures(paper, name, args.figure, form))
        for name, (folder, paper) in papers.items()
    ]


def _require_place(args: argparse.Namespace) -> None:
    """Refuse a dataset of live runs, and a cluster without a dataset."""
    if args.live and (args.dataset is not None or args.cluster is not None):
        option = "--dataset" if args.dataset is not None else "--cluster"
        raise UsageError(f"--live and {option} exclude each other: remove one")
    Place(args.jobs, args.dataset, args.cluster)


def _form(args: argparse.Namespace) -> Form:
    """Return the form of the requested figures."""
    if args.live:
        return "live stack figure" if args.stack else "live figure"
    return "stack figure" if args.stack else "figure"


def _require_any(chosen: Mapping[str, object], asked: str, place: Path, form: Form) -> None:
    """Refuse a paper without figures of this form, and name those that have some."""
    if chosen:
        return
    every = {name: runner.load(folder) for name, folder in runner.find(place).items()}
    there = ", ".join(name for name, paper in every.items() if paper.of(form)) or "none"
    raise UsageError(f"{asked} has no {form}s; papers with {form}s: {there}")


def _run(
    one: _Wanted,
    args: argparse.Namespace,
    data: Path | None,
    place: Path,
    bar: Bar,
    figures: Plots,
) -> PaperSummary:
    place.mkdir(exist_ok=True)
    lab = Lab(
        folder=one.folder,
        out=place,
        quick=args.quick,
        data=data,
        jobs=args.jobs,
        dataset=args.dataset,
        cluster=args.cluster,
        progress=bar.simulating,
        drawn=Pictures(figures.report_missing),
        live_runs=LiveRuns(args.ipv6, args.runs) if args.live else None,
        stack=args.stack,
    )
    return runner.run(one.paper, lab, one.figures, bar.figure)


def _data(named: str | None, papers: Path) -> Path | None:
    """Return the user's measurements, or those beside the project if they exist."""
    if named is None:
        beside = papers / _DATA
        return beside if beside.is_dir() else None
    if not Path(named).exists():
        raise UsageError(f"--data {named}: there is no such file or folder")
    return Path(named)


def _show(done: Sequence[PaperSummary], target: Path, out: Console) -> None:
    for summary in done:
        held, total = page.counts(summary["figures"])
        out.print(name(summary["paper"], "bold").append(name(f"  {summary['title']}", "default")))
        for figure in summary["figures"]:
            shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
            shown.title = name(f"{figure['figure']}: {figure['title']}")
            for head in page.HEADS:
                shown.add_column(head)
            for claim in figure["claims"]:
                shown.add_row(*map(name, page.cells(claim)))
            out.print(shown)
            for table in figure["tables"]:
                out.print(_measured(table))
            for note in figure["notes"]:
                out.print(name(note, "dim"))
        out.print(f"{held} of {total} claims hold", highlight=False)
    out.print(name(output.announced("Figures and tables", target)), soft_wrap=True)


def _measured(table: TableSummary) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", padding=(0, 1, 0, 0))
    shown.title = name(table["title"])
    for head in table["columns"].values():
        shown.add_column(name(head))
    for row in page.table_rows(table):
        shown.add_row(*map(name, row))
    return shown
