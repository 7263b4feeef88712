"""`sojourn sweep`, `sojourn sweep show` and `sojourn sweep query`."""

import argparse
import json
import sys
from pathlib import Path

from sojourn import _core, terminal
from sojourn.cli import interrupts
from sojourn.cli.options import add_controller_option, add_scenario, name_list, positive, whole
from sojourn.cli.scenarios import (
    folder_of,
    load_controllers,
    prepared,
    prints_aside,
)
from sojourn.record.formatting import span_text
from sojourn.run import api
from sojourn.sweep import api as sweeps
from sojourn.sweep import plan as plans
from sojourn.sweep.plan import Plan
from sojourn.user.controllers import UserControllers


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn sweep`."""
    parser.description = (
        "Simulate a scenario at every point of a study, and keep all figures as a "
        "dataset. A run that the dataset holds is not simulated again. "
        "`sojourn sweep home.toml --vary link.down.queue=droptail,codel,fq_codel` shows which "
        "queue helps; `sojourn sweep show DIR` and `sojourn sweep query DIR SQL` read a dataset."
    )
    add_scenario(parser)
    add_controller_option(parser)
    add = parser.add_argument
    add(
        "--vary",
        metavar="KEY=VALUES",
        action="append",
        default=[],
        help="an axis: KEY=A,B,C or KEY=LOW..HIGH:log:STEPS (or lin); KEY+KEY=A,B changes two keys "
        "together; may be repeated, and adds to [sweep.vary] of the scenario",
    )
    add(
        "--let",
        metavar="KEY=EXPRESSION",
        action="append",
        default=[],
        help="derive a value, such as link.down.buffer=bdp*rate*50ms; may be repeated",
    )
    add("--where", metavar="CONDITION", help="leave out points, such as 'rate >= 10Mbit'")
    add("--design", metavar="NAME", help="grid (default), random, latin-hypercube or sobol")
    add("--points", metavar="N", type=positive, help="number of points of a sampled design")
    add("--control", metavar="A,B", type=name_list, help="run these controllers at each point")
    add("--runs", metavar="N", type=positive, help="repeat with N consecutive seeds (default: 1)")
    add("--seed", metavar="N", type=whole, help="first seed, and seed of a sampled design")
    add(
        "--spread",
        metavar="DURATION",
        help="delay every change of a link by one random time up to this (--set spread=DURATION)",
    )
    add("--series", action="store_true", help="keep the samples of flows and links as well")
    add(
        "--jobs",
        metavar="N",
        type=positive,
        help="number of processes (default: one a core), or of the jobs of a batch system",
    )
    add(
        "--cluster",
        metavar="ADDRESS",
        help="use the workers of this Dask scheduler, such as tcp://10.0.0.1:8786, or submit "
        "--jobs jobs to slurm or pbs, or start --jobs workers in kubernetes",
    )
    add(
        "--out",
        metavar="DIR",
        help="folder of the dataset, or a URL such as s3://bucket/sweep (default: runs/NAME-sweep)",
    )
    add("--dry-run", action="store_true", help="show the plan, and do not run it")
    add("--json", action="store_true", help="print the plan and the counts of runs as JSON")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Plan, simulate, and show the table of the dataset."""
    stem = "stdin" if args.file == "-" else Path(args.file).stem
    out = args.out if args.out is not None else f"runs/{stem}-sweep"
    controllers = load_controllers(args.controller)
    plan = _plan(args, controllers)
    setup = sweeps.Setup(
        folder_of(args.file),
        sweeps.detail_of(args.series),
        args.jobs,
        controllers,
        args.cluster,
    )
    for note in _notes(plan):
        terminal.say(note)
    if args.dry_run:
        _show_plan(plan, setup, args.json)
        return 0
    from sojourn.run.progress import Bar

    with Bar() as bar, prints_aside(), interrupts.keeping(out):
        ended = sweeps.execute(plan, setup, out, bar.sweeping)
    _show_end(ended, out, args.json)
    if not args.json:
        from sojourn.cli.sweep_show import show_table
        from sojourn.sweep.result import Dataset

        show_table(Dataset(out))
    return 1 if ended.tally.failures else 0


def _plan(args: argparse.Namespace, controllers: UserControllers) -> Plan:
    core = prepared(args, controllers)
    with prints_aside():
        study = plans.study(
            core,
            vary=args.vary,
            let=args.let,
            where=args.where,
            design=args.design,
            points=args.points,
            runs=args.runs,
        )
        return plans.plan(core, args.file, study)


def _notes(plan: Plan) -> list[str]:
    """Return the remarks on a plan, such as on queues that differ in more than their kind."""
    notes = [f"note: {plan.note}"] if plan.note else []
    if plan.study.runs > 1 and not plan.base.is_random():
        notes.append(
            "note: nothing in the scenario is random, so all runs of a point are the same; "
            "start_jitter above 0s, or noise other than none, changes that"
        )
    defaults = {
        queue["name"]: param["default"]
        for queue in api.queues()
        for param in queue["params"]
        if param["name"] == "ecn"
    }
    for axis in plan.study.axes:
        if axis.keys[0].endswith(".queue"):
            named = [value[0] for value in axis.levels() if value[0] in defaults]
            if len({defaults[name] for name in named}) > 1:
                listed = ", ".join(f"{name}: {defaults[name]}" for name in named)
                notes.append(
                    f"note: these queues differ in their default of `ecn` ({listed}); "
                    "{ kind = 'codel', ecn = true } sets it"
                )
    return notes


def _show_plan(plan: Plan, setup: sweeps.Setup, as_json: bool) -> None:
    took_s = sweeps.estimated_s(plan, setup)
    memory_bytes = sweeps.memory_bytes(plan, setup)
    about = {
        "points": len(plan.points),
        "runs": len(plan.tasks),
        "estimated_s": took_s,
        "memory_bytes": memory_bytes,
        "axes": {
            name: list(dict.fromkeys(point.values[place] for point in plan.points))
            for place, name in enumerate(plan.columns)
        },
    }
    if as_json:
        print(json.dumps(about, indent=1))
        return
    for name, values in about["axes"].items():  # type: ignore[attr-defined]
        shown = ", ".join(values[:8]) + (f", ... ({len(values)} values)" if len(values) > 8 else "")
        print(terminal.one_line(f"{name}: {shown}"))
    print(
        f"{len(plan.points):,} points, {len(plan.tasks):,} runs; about {span_text(took_s)} on "
        f"{api.threads_of(setup.jobs)} processes, and {memory_bytes / 1e6:,.0f} MB of memory"
    )


def _show_end(ended: sweeps.Ended, out: str, as_json: bool) -> None:
    tally = ended.tally
    if as_json:
        counts = {
            "dataset": out,
            "version": _core.__version__,
            "runs": tally.done,
            "failures": tally.failures,
            "held_runs": ended.known,
            "took_s": ended.took_s,
        }
        print(json.dumps(counts, indent=1))
        return
    held = f", {ended.known:,} were in the dataset" if ended.known else ""
    if ended.damaged:
        what = "batch was" if ended.damaged == 1 else "batches were"
        whose = "its" if ended.damaged == 1 else "their"
        terminal.say(f"{out}: {ended.damaged:,} damaged {what} removed, and {whose} runs repeated")
    failed = f", {tally.failures:,} failed (column `error` of runs)" if tally.failures else ""
    terminal.say(f"{tally.done:,} runs in {span_text(ended.took_s)}{held}{failed}")
    sys.stdout.flush()
