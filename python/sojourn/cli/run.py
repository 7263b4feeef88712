"""`sojourn run`."""

import argparse
import sys
from pathlib import Path

from sojourn import _core, api, experiment, folder, rundir
from sojourn.cli.progress import Bar
from sojourn.cli.scenarios import read


def run(args: argparse.Namespace) -> int:
    """Simulates, writes the run directory, shows the table."""
    if args.out is not None:
        folder.require_free(Path(args.out))
    core = _prepared(args)
    _note(core, args)
    if args.json and args.out is None:
        with Bar() as bar:
            summary = api.summarise(core, args.file, args.runs, args.jobs, bar.simulating)
        sys.stdout.write(rundir.summary_text(summary))
        return 0
    with Bar() as bar:
        record = api.record(core, args.file, args.runs, args.jobs, bar.simulating)
        bar.writing()
        if args.out is not None:
            target = rundir.write(record, Path(args.out))
        else:
            target = rundir.write_numbered(record, Path("runs") / Path(args.file).stem)
    if args.json:
        sys.stdout.write(rundir.summary_text(record.summary))
        return 0
    from sojourn.cli import tables

    tables.show(record, target)
    return 0


def _prepared(args: argparse.Namespace) -> _core.Scenario:
    return experiment.prepare(
        read(args.file),
        assignments=args.set,
        control=args.control,
        seed=args.seed,
        spread=args.spread,
    )


def _note(core: _core.Scenario, args: argparse.Namespace) -> None:
    if args.runs > 1 and not core.is_random():
        print(
            f"note: nothing in {args.file} is random, so all {args.runs} runs of a controller are "
            "the same; --spread 5s moves the changes of its links",
            file=sys.stderr,
        )
    elif 1 < args.runs < 6:
        print("note: a 95 % confidence interval of a median needs 6 runs", file=sys.stderr)
