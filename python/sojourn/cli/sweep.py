"""`sojourn sweep`."""

import argparse
import sys
from pathlib import Path

from sojourn import _core, combined, experiment, output, results
from sojourn.cli.figures import Figures
from sojourn.cli.options import add_scenario_options, pictures_of, positive
from sojourn.cli.scenarios import read
from sojourn.errors import UsageError
from sojourn.pictures import Pictures
from sojourn.progress import Bar

_OPEN, _CLOSED = "{[", "}]"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn sweep`."""
    parser.description = (
        "Simulate a scenario once for each value of a key, and show all runs in one table and one "
        "report: `sojourn sweep home.toml link.down.queue=droptail,codel,fq_codel` shows which "
        "queue helps."
    )
    add_scenario_options(parser)
    parser.add_argument(
        "values",
        metavar="KEY=A,B,...",
        help="the key, and its values; commas inside brackets and quotes belong to a value",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=positive, help="number of threads (default: one a core)"
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Simulate each value, write one run directory, show one table."""
    key, values = _parts(args.values)
    summary_alone = args.json and args.out is None
    stem = "stdin" if args.file == "-" else Path(args.file).stem
    out = output.choose(args.out, Path("runs") / f"{stem}-{key.rpartition('.')[2]}")
    document = read(args.file)
    prepared: dict[str, _core.Scenario] = {}
    for value in values:
        # A copy for each value, because preparation changes a scenario.
        prepared[value] = experiment.prepare(
            _copy(document, args.file),
            assignments=[*args.set, f"{key}={value}"],
            control=args.control,
            seed=args.seed,
            spread=args.spread,
        )
    figures = Figures()
    with Bar() as bar:
        run = combined.sweep_prepared(
            prepared, key, args.file, args.runs, args.jobs, bar.simulating
        )
    if summary_alone:
        sys.stdout.write(results.summary_text(run.summary))
        return 0
    drawn = pictures_of(args, figures.report_missing)
    return write_and_show(run, out, drawn, figures, args.json, args.csv)


def _copy(document: _core.Scenario, file: str) -> _core.Scenario:
    """Copy a scenario, which standard input gives only once."""
    return _core.Scenario.from_toml(file, document.to_toml(), str(Path(file).parent))


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


def _parts(text: str) -> tuple[str, list[str]]:
    """Split `KEY=A,B` at the commas outside brackets and quotes."""
    key, equals, rest = text.partition("=")
    values, depth, quote = [""], 0, ""
    for sign in rest:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        depth += (sign in _OPEN) - (sign in _CLOSED) if not quote else 0
        if sign == "," and depth == 0 and not quote:
            values.append("")
        else:
            values[-1] += sign
    values = [value.strip() for value in values]
    if not key or not equals or not all(values) or len(set(values)) < max(2, len(values)):
        raise UsageError(
            f"{text}: write KEY=A,B with two or more different values, such as "
            "link.bottleneck.queue=droptail,codel"
        )
    return key, values
