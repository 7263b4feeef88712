"""`sojourn paper`."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from sojourn import output
from sojourn.cli.console import console, name
from sojourn.cli.figures import Figures
from sojourn.cli.options import positive
from sojourn.errors import UsageError
from sojourn.pictures import Pictures
from sojourn.progress import Bar

from sojourn_papers import page, runner
from sojourn_papers.lab import Lab
from sojourn_papers.paper import Paper, PaperSummary

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
    add("--out", metavar="DIR", help="folder to write to (default: runs/paper-NAME, -2, -3, ...)")
    add("--jobs", metavar="N", type=positive, help="number of threads (default: one a core)")
    add(
        "--data",
        metavar="PATH",
        help="file or folder with the authors' measurements, which are not included; with "
        "latency-spike-testbed.csv, latency-spike checks more claims",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print every figure as JSON")
    form.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    _add_folder(parser)
    parser.set_defaults(execute=run)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--papers", metavar="DIR", default="papers", help="folder of papers (default: papers)"
    )


def show_list(args: argparse.Namespace) -> int:
    """List every paper with its figures."""
    papers = {name: runner.load(one) for name, one in runner.find(Path(args.papers)).items()}
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
    return 0


def _listed(name: str, paper: Paper) -> dict[str, object]:
    figures = [{"figure": figure, "title": one.title} for figure, one in paper.figures.items()]
    return {"paper": name, "title": paper.title, "source": paper.source, "figures": figures}


@dataclass(frozen=True)
class _Wanted:
    name: str
    folder: Path
    paper: Paper
    figures: list[str]


def run(args: argparse.Namespace) -> int:
    """Run figures of papers, show the tables, and write pictures and tables."""
    out = output.choose(args.out, Path("runs") / f"paper-{args.name}")
    wanted = _wanted(args)
    data = _data(args.data, Path(args.papers))
    done: list[PaperSummary] = []
    figures = Figures()
    with Bar() as bar, out.opened() as opened:
        for one in wanted:
            own = opened.place if len(wanted) == 1 else opened.place / one.name
            done.append(_run(one, args, data, own, bar, figures))
    if args.json:
        print(json.dumps(done if args.name == _ALL else done[0], indent=1))
    elif args.markdown:
        sys.stdout.write(page.document(done))
    else:
        _show(done, opened.target, console())
    return figures.status()


def _wanted(args: argparse.Namespace) -> list[_Wanted]:
    place = Path(args.papers)
    if args.name == _ALL and args.figure:
        raise UsageError("--figure is for one paper: name it instead of `all`")
    if args.name == _ALL:
        folders = runner.find(place)
    else:
        folders = {args.name: runner.find_one(place, args.name)}
    papers = [(name, folder, runner.load(folder)) for name, folder in folders.items()]
    return [
        _Wanted(name, folder, paper, runner.choose_figures(paper, name, args.figure))
        for name, folder, paper in papers
    ]


def _run(
    one: _Wanted,
    args: argparse.Namespace,
    data: Path | None,
    place: Path,
    bar: Bar,
    figures: Figures,
) -> PaperSummary:
    place.mkdir(exist_ok=True)
    lab = Lab(
        folder=one.folder,
        out=place,
        quick=args.quick,
        data=data,
        jobs=args.jobs,
        progress=bar.simulating,
        drawn=Pictures(figures.report_missing),
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
            for note in figure["notes"]:
                out.print(name(note, "dim"))
        out.print(f"{held} of {total} claims hold", highlight=False)
    out.print(name(f"Figures and tables: {target}"), soft_wrap=True)
