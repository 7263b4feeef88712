"""`sojourn report`."""

import argparse
from pathlib import Path

from sojourn import results
from sojourn.cli.figures import Figures
from sojourn.cli.options import add_picture_options, file_name, picture_formats
from sojourn.pictures import PAGE, Pictures


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn report`."""
    parser.add_argument(
        "directory", metavar="DIR", type=file_name, help="the run directory; its data do not change"
    )
    parser.add_argument(
        "--link",
        metavar="NAME",
        help="draw the queue of this link (default: the one whose capacity changes, or the first "
        "with a rate); the page lets its reader select any",
    )
    add_picture_options(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Draw the report of a run directory."""
    figures = Figures()
    directory = Path(args.directory)
    formats = (*PAGE, *picture_formats(args))
    results.draw(directory, Pictures(figures.report_missing, formats), args.link)
    status = figures.status()
    if status == 0:
        print(f"Report: {', '.join(str(directory / f'report.{one}') for one in formats)}")
    return status
