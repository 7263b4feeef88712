"""The search of the parameters with the greatest damage, and its minimisation."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, get_args

from sojourn.errors import require_known
from sojourn.sweep.adversary import worlds
from sojourn.sweep.adversary.evaluation import GENERATION, Evaluator
from sojourn.sweep.adversary.samplers import CmaEs, Random, Sampler, Tpe, Values
from sojourn.sweep.adversary.worlds import World

Method = Literal["cmaes", "tpe", "random"]
# Starts of CMA-ES.
_STARTS = 3
# Share of the damage that a simpler world keeps.
_KEPT = 0.9


@dataclass(frozen=True)
class Found:
    """The world with the greatest damage, and the greatest damage after each evaluation."""

    world: World
    damage: float
    course: tuple[float, ...]


def search(evaluator: Evaluator, method: str, evaluations: int, seed: int) -> Found:
    """Search for a number of evaluations. The same seed gives the same search.

    `cmaes` spends a quarter of them on random worlds and then starts CMA-ES at the worst three:
    one start would converge to the nearest local maximum.
    """
    require_known("method", method, get_args(Method))
    limits = evaluator.problem.limits
    size = len(limits.parameters)
    course = _Course(evaluator)
    # One generator for all random worlds: a second one would repeat the first draws.
    draws = Random(size, seed)
    if method == "cmaes":
        course.extend(draws, evaluations // (_STARTS + 1))
        starts = course.worst(_STARTS)
        for place, values in enumerate(starts):
            left = evaluations - len(course.found)
            own = CmaEs(values, seed + place, GENERATION)
            course.extend(own, left // (len(starts) - place))
    if method == "tpe":
        course.extend(Tpe(size, seed), evaluations)
    # CMA-ES that converges early leaves some.
    course.extend(draws, evaluations - len(course.found))
    damage, values = max(course.found, key=lambda one: one[0])
    greatest = accumulate((one[0] for one in course.found), max)
    return Found(worlds.decoded(limits, values), damage, tuple(greatest))


class _Course:
    """The evaluations of a search, in their order: the damage and the parameters of each."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.found: list[tuple[float, Values]] = []
        self._evaluator = evaluator

    def worst(self, count: int) -> list[Values]:
        """Return the parameters with the greatest damage."""
        ranked = sorted(self.found, key=lambda one: one[0], reverse=True)
        return list(dict.fromkeys(values for _, values in ranked))[:count]

    def extend(self, sampler: Sampler, evaluations: int) -> None:
        """Add evaluations that a sampler chooses, until it converges."""
        limits = self._evaluator.problem.limits
        for start in range(0, evaluations, GENERATION):
            asked = sampler.ask(min(GENERATION, evaluations - start))
            if not asked:
                break
            damages = self._evaluator.damages([worlds.decoded(limits, one) for one in asked])
            sampler.tell(asked, damages)
            self.found += zip(damages, asked, strict=True)


def minimised(evaluator: Evaluator, found: Found) -> tuple[World, float]:
    """Return the world with the fewest changes that keeps 90 % of the damage, and its damage.

    Each step removes the change whose removal costs the least damage. Rounder numbers, a constant
    delay and no loss follow, if the damage stays.
    """
    limits, least = evaluator.problem.limits, _KEPT * found.damage
    kept = (found.world, found.damage)
    if found.damage <= 0:
        return kept
    while candidates := worlds.without(limits, kept[0]):
        damages = evaluator.damages(candidates)
        damage, place = max((damage, -place) for place, damage in enumerate(damages))
        if damage < least:
            break
        kept = (candidates[-place], damage)
    for _ in range(3):
        candidates = worlds.plainer(limits, kept[0])
        damages = evaluator.damages(candidates)
        good = [one for one in zip(candidates, damages, strict=True) if one[1] >= least]
        if not good:
            break
        kept = good[0]
    return kept
