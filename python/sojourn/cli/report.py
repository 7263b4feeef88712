"""`sojourn report`."""

import argparse
from pathlib import Path

from sojourn import output, results
from sojourn.cli.figures import Figures
from sojourn.cli.options import (
    add_picture_options,
    add_selection_options,
    chosen_of,
    file_name,
    is_dark,
    name_list,
    picture_formats,
)
from sojourn.pictures import PAGE, Pictures


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn report`."""
    parser.add_argument(
        "directory", metavar="DIR", type=file_name, help="the run directory; its data do not change"
    )
    add_selection_options(parser)
    parser.add_argument(
        "--control",
        metavar="X,Y",
        type=name_list,
        help="show only the runs of these controllers; the data have all",
    )
    add_picture_options(parser)
    parser.add_argument(
        "--live",
        action="store_true",
        help="add the simulator to the report, so that its reader can change a value of the "
        "scenario, and see the changed run beside the recorded one (docs/page.md)",
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Draw the report of a run directory."""
    figures = Figures()
    directory = Path(args.directory)
    page = _page() if args.live else None
    formats = (*PAGE, *picture_formats(args))
    drawn = Pictures(figures.report_missing, formats, is_dark(args))
    results.draw(directory, drawn, chosen_of(args, args.control))
    status = figures.status()
    if status == 0 and page is not None:
        _enliven(directory, page)
    if status == 0:
        print(f"Report: {', '.join(str(directory / f'report.{one}') for one in formats)}")
    return status


def _page() -> Path:
    """Find the page before the report is drawn."""
    from sojourn import page_server

    return page_server.page_folder()


def _enliven(directory: Path, page: Path) -> None:
    """Add the page to the report."""
    from sojourn import page_server
    from sojourn.live_report import with_page

    report = directory / "report.html"
    live = page_server.live_page(page, results.read(directory))
    output.write_file(report, with_page(report.read_text("utf-8"), live))
