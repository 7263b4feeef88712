"""`sojourn qlog`."""

import argparse
import sys
from pathlib import Path

from sojourn import output, qlog, results, terminal
from sojourn.cli.figures import Figures
from sojourn.errors import UsageError
from sojourn.report import require_free_figure


def qlog_command(args: argparse.Namespace) -> int:
    """Read the files, write the requested output, show the table; report damaged files."""
    if args.out is not None:
        output.require_free(args.out)
    if args.plot is not None:
        require_free_figure(args.plot)
    if args.interval is not None and not args.interval > 0:
        raise UsageError(f"--interval is {args.interval:g}; it must be more than 0 seconds")
    run, damages = qlog.read(args.files, args.control, args.interval)
    written = None
    figures = Figures()
    if args.out is not None:
        target = results.write(run, Path(args.out), figures.tell)
        written = f"Run directory: {target} (open report.html)"
    elif args.plot is not None and figures.plot(run.plot(), args.plot):
        written = f"Figure: {args.plot}"
    if args.json:
        sys.stdout.write(results.summary_text(run.summary))
    else:
        from sojourn.cli import console

        console.show_figures(run, written)
    for damage in damages:
        terminal.say(f"sojourn: {damage}")
    return figures.status(1 if damages else 0)
