"""`sojourn report`."""

import argparse
from pathlib import Path

from sojourn import results
from sojourn.cli.figures import Figures


def report(args: argparse.Namespace) -> int:
    """Redraw the report of a run directory."""
    figures = Figures()
    results.draw(Path(args.directory), figures.tell)
    status = figures.status()
    if status == 0:
        print(f"Report: {Path(args.directory) / 'report.html'}")
    return status
