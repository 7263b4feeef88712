"""`sojourn worst`."""

import argparse
import sys
from pathlib import Path
from typing import cast

from sojourn import extras, output, terminal
from sojourn.cli import interrupts
from sojourn.cli.options import add_controller_option, add_scenario, positive, whole
from sojourn.cli.plots import Plots
from sojourn.cli.scenarios import folder_of, load_controllers, note_replaced, prints_aside, read
from sojourn.picture import Chart, chart, require_free_picture
from sojourn.picture.chart import COLOURS, Document, Layer, Panel
from sojourn.run import experiment
from sojourn.sweep import api as sweeps
from sojourn.sweep.adversary import api as adversary
from sojourn.sweep.adversary.api import Counterexample
from sojourn.sweep.adversary.damage import UNITS, Measure
from sojourn.sweep.adversary.evaluation import Problem
from sojourn.user.controllers import UserControllers


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn worst`."""
    parser.description = (
        "Search the changes of a link that a controller handles worst, within limits, and minimise "
        f"them. Needs: {extras.installation('worst')}. The evaluations are a "
        "dataset, and the same command continues an interrupted search."
    )
    add_scenario(parser)
    add_controller_option(parser)
    add = parser.add_argument
    add("--control", metavar="NAME", help="the controller; needed if the scenario has several")
    add("--rate", metavar="LOW..HIGH", required=True, help="the capacities of the link")
    add("--link", metavar="NAME", help="the link that changes (default: the bottleneck)")
    add(
        "--measure",
        choices=list(UNITS),
        help="the damage: the excess of a spike over the unavoidable one (default; where it leaves "
        "more than half of the link unused, the search for unused capacity follows), the unused "
        "capacity, or the unfairness between flows",
    )
    add("--changes", metavar="N", type=positive, default=4, help="number of changes (default: 4)")
    add("--gap", metavar="TIME", default="2s", help="least time between changes (default: 2s)")
    add("--factor", metavar="X", type=float, help="greatest ratio of neighbouring capacities")
    add("--mean-rate", metavar="RATE", help="least mean capacity")
    add("--delay", metavar="LOW..HIGH", help="change the delay of the link too, in this range")
    add("--loss", metavar="P", type=float, default=0.0, help="greatest probability of loss")
    add("--evaluations", metavar="N", type=positive, default=2000, help="default: 2000")
    add(
        "--method",
        choices=["cmaes", "tpe", "random"],
        default="cmaes",
        help="the method of the search (default: cmaes)",
    )
    add("--seed", metavar="N", type=whole, help="seed of the scenario and of the search")
    add("--jobs", metavar="N", type=positive, help="number of processes (default: one a core)")
    add(
        "--cluster",
        metavar="ADDRESS",
        help="a Dask scheduler, slurm, pbs or kubernetes, as for sweep",
    )
    add("--out", metavar="DIR", help="folder of the results (default: runs/NAME-worst)")
    add("--plot", metavar="FILE", help="draw the search, as .html, .svg, .png or .pdf")
    add("--json", action="store_true", help="print the counter-example as JSON")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Search, minimise, and report."""
    stem = "stdin" if args.file == "-" else Path(args.file).stem
    out = args.out if args.out is not None else f"runs/{stem}-worst"
    controllers = load_controllers(args.controller)
    setup = sweeps.Setup(
        folder_of(args.file),
        jobs=args.jobs,
        controllers=controllers,
        cluster=args.cluster,
    )
    if args.plot is not None:
        require_free_picture(args.plot)
    problem = _problem(args, controllers)
    from sojourn.run.progress import Bar

    with Bar() as bar, prints_aside(), interrupts.keeping(out):

        def watch(done: int) -> None:
            bar.measuring("evaluations", done, max(done, args.evaluations))

        found = adversary.find(
            problem, setup, args.method, args.evaluations, out, watch, args.measure is None
        )
        # A remote folder has no report.
        places = [] if "://" in out else _reports(problem, setup, found, Path(out))
    status = 0 if args.plot is None else _draw(problem, found, args.plot)
    if args.json:
        sys.stdout.write(found.to_json())
        return status
    for one in filter(None, (found, found.second)):
        _show(problem, one)
    if found.is_idle:
        terminal.say(_idle_note(found, problem.link))
    terminal.say(output.announced("Evaluations, worst.toml and worst.json", out))
    for name, place in zip(("worst.toml", "worst-utilisation.toml"), places, strict=False):
        terminal.say(output.announced(f"Run directory of {name}", place))
    return status


def _reports(problem: Problem, setup: sweeps.Setup, found: Counterexample, out: Path) -> list[Path]:
    """Write the run directory of each counter-example."""
    places = [adversary.report(problem, setup, found, out)]
    if found.second is not None:
        places.append(adversary.report(problem, setup, found.second, out, "run-utilisation"))
    return places


def _idle_note(found: Counterexample, link: str) -> str:
    more = "" if found.second else "; --measure utilisation searches the unused capacity"
    return (
        f"note: the controller uses {100 * found.utilisation:.2g} % of {link} there, so a short "
        f"queue says little of it{more}"
    )


def _draw(problem: Problem, found: Counterexample, target: str) -> int:
    own = Plots()
    own.plot(Chart(_course(found, problem.measure, problem.base.title())), target)
    return own.status()


def _problem(args: argparse.Namespace, controllers: UserControllers) -> Problem:
    with prints_aside():
        scenario = read(args.file)
        note_replaced(scenario, [args.control] if args.control else None)
        core = experiment.prepare(
            scenario,
            assignments=args.set,
            control=args.control,
            seed=args.seed,
            user_controllers=controllers,
        )
        limits = adversary.limits_of(
            core,
            args.rate,
            args.changes,
            args.gap,
            args.factor,
            args.mean_rate,
            args.delay,
            args.loss,
        )
        measure = args.measure or "excess"
        return adversary.problem_of(core, args.file, args.link, limits, measure)


def _show(problem: Problem, found: Counterexample) -> None:
    measure = cast(Measure, found.measure)
    unit, factor = UNITS[measure]
    print(
        f"{measure}: {found.damage * factor:.4g} {unit} with "
        f"{len(found.world.times_s)} changes; {found.simple_damage * factor:.4g} {unit} with "
        f"{len(found.simple_world.times_s)}:"
    )
    for assignment in found.simple_world.assignments(problem.link):
        print(f"  {assignment}")


def _course(found: Counterexample, measure: Measure, title: str) -> Document:
    """Draw the course of the search, and the damage of the minimised world as a dashed line."""
    unit, factor = UNITS[measure]
    name = f"greatest {measure} ({unit})"
    steps = [(float(at), factor * one) for at, one in enumerate(found.course, 1)]
    least = factor * found.simple_damage
    layers = [
        chart.line(name, steps, COLOURS[0], interpolate="step-after"),
        Layer("", "rules", [(None, least, None, least)], COLOURS[1], dash=(5, 4)),
    ]
    changes = f"{len(found.simple_world.times_s)} of {len(found.world.times_s)} changes"
    about = f"Dashed: the minimised counter-example, with {changes}"
    panel = Panel(name, "evaluations", name, layers, width=520, height=240, x_scale={"nice": False})
    return Document(title, about, [panel])
