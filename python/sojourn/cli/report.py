"""`sojourn report`."""

import argparse
from pathlib import Path

from sojourn import results
from sojourn.cli.figures import Figures
from sojourn.cli.options import file_name


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn report`."""
    parser.add_argument(
        "directory", metavar="DIR", type=file_name, help="the run directory; its data do not change"
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Redraw the report of a run directory."""
    figures = Figures()
    results.draw(Path(args.directory), figures.report_missing)
    status = figures.status()
    if status == 0:
        print(f"Report: {Path(args.directory) / 'report.html'}")
    return status
