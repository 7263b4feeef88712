"""Learn a congestion window: docs/guide/learned.md. Needs the packages gymnasium and cmaes.

`python learned_window.py [GENERATIONS]` searches the seven weights of a policy by CMA-ES and
compares it with the best of many constant windows, on seeds that the search did not see.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy
import sojourn.gym
from cmaes import CMA

STEPS = [
    {"at": "4s", "rate": "8Mbit"},
    {"at": "8s", "rate": "40Mbit"},
    {"at": "12s", "rate": "16Mbit"},
    {"at": "16s", "rate": "32Mbit"},
]
WORLD = {
    **sojourn.gym.WORLD,
    "link": {
        "bottleneck": {
            "rate": {"start": "24Mbit", "steps": STEPS},
            "delay": "20ms",
            "buffer": "240kB",
        },
        "back": {"delay": "20ms"},
    },
}
Policy = Callable[[Sequence[float]], float]


def learned(weights: Sequence[float]) -> Policy:
    """Return the policy: the change of the window is a squashed sum of the observation."""

    def act(seen: Sequence[float]) -> float:
        return math.tanh(weights[-1] + sum(w * x for w, x in zip(weights, seen, strict=False)))

    return act


def constant(packets: int) -> Policy:
    """Return the policy that moves to a window, as far as a step can, and keeps it."""
    return lambda seen: min(max(math.log2(packets) - seen[4], -1.0), 1.0)


def mean_reward(env: Any, policy: Policy, seed: int) -> float:
    """Return the mean reward of an episode."""
    seen, _ = env.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        seen, reward, _, is_over, _ = env.step(numpy.array([policy(seen.tolist())]))
        total, steps = total + reward, steps + 1
    return total / steps


def main(generations: int) -> None:
    """Learn, and compare."""
    env = gymnasium.make(sojourn.gym.ID, scenario=WORLD).unwrapped
    began = time.perf_counter()
    search = CMA(numpy.zeros(7), 0.3, seed=1, population_size=12)
    best: tuple[float, Sequence[float]] = (-math.inf, [])
    for generation in range(generations):
        asked = [search.ask() for _ in range(search.population_size)]
        rewards = [mean_reward(env, learned(one), seed=1 + generation) for one in asked]
        search.tell([(one, -reward) for one, reward in zip(asked, rewards, strict=True)])
        best = max(best, (max(rewards), asked[rewards.index(max(rewards))].tolist()))
    took_s = time.perf_counter() - began
    unseen = range(1001, 1006)
    windows = {
        packets: sum(mean_reward(env, constant(packets), seed) for seed in unseen) / len(unseen)
        for packets in range(20, 200, 10)
    }
    packets, fixed = max(windows.items(), key=lambda one: one[1])
    own = sum(mean_reward(env, learned(best[1]), seed) for seed in unseen) / len(unseen)
    steps = 400 * generations * search.population_size
    print(f"{steps} steps in {took_s:.0f} s: {steps / took_s:.0f} steps a second")
    print(f"learned: a mean reward of {own:.3f}")
    print(f"best constant window ({packets} packets): {fixed:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
