"""`sojourn.worst`: the search of the command line, for Python."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from sojourn import _core
from sojourn.arguments import checked
from sojourn.errors import UsageError, require_known
from sojourn.run import api, experiment
from sojourn.run.scenario import Scenario
from sojourn.sweep import api as sweeps
from sojourn.sweep import quantities
from sojourn.sweep.adversary import damage, evaluation, search
from sojourn.sweep.adversary.evaluation import Problem
from sojourn.sweep.adversary.samplers import require_library
from sojourn.sweep.adversary.worlds import Limits, World, is_within
from sojourn.sweep.quantities import Kind, Quantity

_REPORT_RUNS = 5
# Use of the link below which a short queue says little.
_LOW = 0.5


@dataclass(frozen=True)
class Counterexample:
    """The worst world that a search found, and its simplest form with 90 % of the damage."""

    measure: str
    damage: float
    world: World
    simple_damage: float
    simple_world: World
    course: tuple[float, ...]
    """The greatest damage after each evaluation."""
    utilisation: float
    """Share of the link that was used in the simple world."""
    simulated: int
    """Number of simulations that the dataset did not hold."""
    scenario: Scenario
    """The scenario with the simple world."""
    second: "Counterexample | None" = None
    """The counter-example of the unused capacity, if it was searched as well."""

    @property
    def is_idle(self) -> bool:
        """Whether the link was mostly unused, so that a short queue says little."""
        return self.measure == "excess" and self.utilisation < _LOW

    def to_json(self) -> str:
        """Format the figures."""
        return json.dumps(asdict_of(self), indent=1) + "\n"


def asdict_of(found: Counterexample) -> dict[str, Any]:
    """Return the fields but for the scenario, the worlds as tables."""
    plain = {name: getattr(found, name) for name in Counterexample.__dataclass_fields__}
    kept = {key: value for key, value in plain.items() if key != "scenario"}
    kept |= {name: asdict(plain[name]) for name in ("world", "simple_world")}
    return kept | {"second": asdict_of(found.second) if found.second else None}


@checked
def worst(
    scenario: api.Source,
    rate: str,
    control: str | None = None,
    link: str | None = None,
    measure: str | None = None,
    changes: int = 4,
    gap: str = "2s",
    factor: float | None = None,
    mean_rate: str | None = None,
    delay: str | None = None,
    loss: float = 0.0,
    evaluations: int = 2000,
    method: str = "cmaes",
    out: str | PathLike[str] | None = None,
    seed: int | None = None,
    set: Mapping[str, object] | Iterable[str] = (),
    jobs: int | None = None,
    cluster: str | None = None,
) -> Counterexample:
    """Search the link over time that a controller handles worst.

        >>> worst("home.toml", "10Mbit..60Mbit", control="bbr")  # doctest: +SKIP

    `rate` and `delay` are the ranges of the link's capacity and delay, which change `changes` times
    with at least `gap` between. `factor` limits the ratio of neighbouring capacities, `mean_rate`
    the mean capacity from below, and `loss` the probability of loss. `measure` is the damage:
    "excess" (of a spike over its bound), "utilisation" (unused capacity) or "unfairness". Without
    it, the search is for the excess, and for the unused capacity as well (`second`) if the
    controller uses less than half of the link in the world that it found. `method` is "cmaes",
    "tpe" or "random", and `seed` is both the scenario's and the search's. Evaluations are kept in
    the dataset `out`, which continues an interrupted search; the counter-example is written beside
    them as `worst.toml` and `worst.json`, with a report in `run`. The other parameters are those of
    `sweep`.

    Raises `UsageError` for limits that no link fulfils, and `ScenarioError` for a fault in the
    scenario.
    """
    source = api.as_scenario(scenario)
    core = experiment.prepare(source.compile(), assignments=set, control=control, seed=seed)
    limits = limits_of(core, rate, changes, gap, factor, mean_rate, delay, loss)
    problem = problem_of(core, source.origin, link, limits, measure or "excess")
    setup = sweeps.Setup(source._base_dir, jobs=jobs, cluster=cluster)
    return find(
        problem, setup, method, evaluations, sweeps.folder_of(out), may_search_both=measure is None
    )


def limits_of(
    core: _core.Scenario,
    rate: str,
    changes: int,
    gap: str,
    factor: float | None,
    mean_rate: str | None,
    delay: str | None,
    loss: float,
) -> Limits:
    """Check the limits of worlds."""
    if changes < 1:
        raise UsageError(f"{changes} changes: a link with at least one change is needed")
    if not 0 <= loss <= 1:
        raise UsageError(f"a loss of {loss} is not a probability from 0 to 1")
    if factor is not None and factor <= 1:
        raise UsageError(f"a factor of {factor:g} allows no change; choose one above 1")
    limits = Limits(
        duration_s=core.duration_s(),
        rates_bps=_range(rate, "rate"),
        changes=changes,
        gap_s=_quantity(gap, "time"),
        factor=factor or float("inf"),
        mean_bps=_quantity(mean_rate, "rate") if mean_rate else 0.0,
        delays_s=_range(delay, "time") if delay else None,
        loss=loss,
    )
    if (changes + 1) * limits.gap_s > limits.duration_s or limits.gap_s <= 0:
        raise UsageError(
            f"{changes} changes that are {gap} apart do not fit into the scenario's "
            f"{limits.duration_s:g} s; use fewer changes or a shorter gap"
        )
    highest = World((), (limits.rates_bps[1],))
    if limits.rates_bps[0] <= 0 or not is_within(limits, highest):
        raise UsageError(f"{rate} has no capacity above 0 with a mean of {mean_rate} or more")
    return limits


def _quantity(text: str, kind: Kind) -> float:
    value = quantities.parse(text)
    if not isinstance(value, Quantity) or value.kind != kind:
        raise UsageError(
            f"{text!r} is not a {kind}, such as {'20ms' if kind == 'time' else '9Mbit'}"
        )
    return value.value


def _range(text: str, kind: Kind) -> tuple[float, float]:
    low, dots, high = text.partition("..")
    found = _quantity(low, kind), _quantity(high if dots else low, kind)
    if found[0] > found[1]:
        raise UsageError(f"{text}: the range does not rise; write LOW..HIGH")
    return found


def problem_of(
    core: _core.Scenario, origin: str, link: str | None, limits: Limits, measure: str
) -> Problem:
    """Check that the scenario suits the search."""
    require_known("damage", measure, get_args(damage.Measure))
    if len(core.controls()) != 1:
        raise UsageError(
            f"{origin}: the search is for one controller at a time; name it with --control"
        )
    if measure == "unfairness" and core.flows() < 2:
        raise UsageError(f"{origin}: unfairness needs at least two flows")
    links = list(json.loads(core.to_json())["link"])
    if link is not None:
        require_known("link", link, links)
    problem = Problem(core, origin, link or core.bottleneck(), limits, measure)  # type: ignore[arg-type]
    problem.scenario(World((), (limits.rates_bps[0],)))
    return problem


def find(
    problem: Problem,
    setup: sweeps.Setup,
    method: str,
    evaluations: int,
    out: str,
    watcher: Callable[[int], None] = lambda _: None,
    may_search_both: bool = False,
) -> Counterexample:
    """Search, minimise, and write the counter-example.

    With `may_search_both`, a search for the excess that finds a link with little use is followed by
    one for the unused capacity: a controller that hardly sends has no queue.
    """
    require_known("method", method, get_args(search.Method))
    # Before the folder of the dataset is made.
    require_library(method)
    with evaluation.evaluator(problem, setup, out, watcher) as evaluator:
        found = _searched(evaluator, method, evaluations)
        if may_search_both and found.is_idle:
            evaluator.search_for("utilisation")
            second = _searched(evaluator, method, evaluations)
            _write(evaluator, second, "worst-utilisation")
            found = replace(found, second=second, simulated=evaluator.simulated)
        _write(evaluator, found, "worst")
    return found


def _searched(evaluator: evaluation.Evaluator, method: str, evaluations: int) -> Counterexample:
    problem = evaluator.problem
    found = search.search(evaluator, method, evaluations, problem.base.seed())
    simple, simple_damage = search.minimised(evaluator, found)
    return Counterexample(
        problem.measure,
        found.damage,
        found.world,
        simple_damage,
        simple,
        found.course,
        evaluator.utilisation(simple),
        evaluator.simulated,
        Scenario.parse(problem.scenario(simple).to_toml()),
    )


def _write(evaluator: evaluation.Evaluator, found: Counterexample, stem: str) -> None:
    toml = evaluator.problem.scenario(found.simple_world).to_toml()
    evaluator.folder.write(f"{stem}.toml", toml.encode())
    evaluator.folder.write(f"{stem}.json", found.to_json().encode())


def report(
    problem: Problem, setup: sweeps.Setup, found: Counterexample, out: Path, name: str = "run"
) -> Path:
    """Simulate the simple world with five seeds, beside the oracle, and write the run directory."""
    core = problem.scenario(found.simple_world)
    control = core.controls()[0]
    if control is not None:
        core.set_controls(list(dict.fromkeys([control, "ideal"])))
    core.check()
    run = api.record(core, problem.origin, _REPORT_RUNS, setup.jobs)
    target = out / name
    # An earlier report of the same dataset.
    shutil.rmtree(target, ignore_errors=True)
    return run.save(target)
