"""`sojourn report`."""

import argparse
from pathlib import Path

from sojourn.cli.options import (
    add_live_option,
    add_picture_options,
    add_selection_options,
    chosen_of,
    file_name,
    is_dark,
    name_list,
    picture_formats,
)
from sojourn.cli.plots import Plots
from sojourn.picture.pictures import PAGE, Pictures
from sojourn.run import results


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
    add_live_option(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Draw the report of a run directory."""
    plots = Plots()
    directory = Path(args.directory)
    formats = (*PAGE, *picture_formats(args))
    drawn = Pictures(plots.report_missing, formats, is_dark(args), args.live)
    results.draw(directory, drawn, chosen_of(args, args.control))
    status = plots.status()
    if status == 0:
        print(f"Report: {', '.join(str(directory / f'report.{one}') for one in formats)}")
    return status
