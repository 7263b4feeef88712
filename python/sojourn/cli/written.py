"""The end of a command with one run directory: its files, and its table or its summary."""

import sys

from sojourn import output, results
from sojourn.cli.figures import Figures
from sojourn.pictures import Pictures


def write_and_show(
    run: results.Run,
    out: output.Choice,
    drawn: Pictures,
    figures: Figures,
    json: bool,
    csv: bool = False,
) -> int:
    """Write a run directory, and show the table or print the summary."""
    with out.opened() as opened:
        results.fill(run, opened.place, drawn, csv)
    drawn.finish(opened.target, results.REDRAW)
    if json:
        sys.stdout.write(results.summary_text(run.summary))
        return figures.status()
    from sojourn.cli import console

    console.show(run, output.announced("Run directory", opened.target, drawn.hint))
    return figures.status()
