"""Learn a congestion window by PPO: docs/guide/learned.md. Needs gymnasium and stable-baselines3.

`python learned_ppo.py [SECONDS]` trains a small network on one core for a minute, and compares it
with the best of many constant windows, on seeds that the training did not see.
"""

import sys
import time
from typing import Any

import gymnasium
import numpy
import sojourn.gym
import torch
from learned_window import WORLD, constant, mean_reward
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

UNSEEN = range(1001, 1006)


class Until(BaseCallback):  # type: ignore[misc]
    """End the training after a time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.perf_counter() + seconds

    def _on_step(self) -> bool:
        return time.perf_counter() < self._end


def env() -> Any:
    """Make the environment, without checks at each step."""
    return gymnasium.make(sojourn.gym.ID, scenario=WORLD, disable_env_checker=True).unwrapped


def trained(seconds: float) -> tuple[PPO, VecNormalize]:
    """Train a policy for a time; return it with the means and variances of the observations."""
    worlds = VecNormalize(make_vec_env(env, n_envs=4, seed=1), norm_reward=False)
    model = PPO(
        "MlpPolicy",
        worlds,
        n_steps=250,
        batch_size=250,
        gamma=0.9,
        learning_rate=1e-3,
        policy_kwargs={"net_arch": [32, 32], "log_std_init": -1.0},
        seed=1,
        device="cpu",
    )
    model.learn(10**9, callback=Until(seconds))
    return model, worlds


def main(seconds: float) -> None:
    """Train, and compare."""
    torch.set_num_threads(1)
    model, worlds = trained(seconds)

    def policy(seen: Any) -> float:
        known = worlds.normalize_obs(numpy.array(seen, numpy.float32))
        action, _ = model.predict(known, deterministic=True)
        return float(action[0])

    world = env()
    own = sum(mean_reward(world, policy, seed) for seed in UNSEEN) / len(UNSEEN)
    windows = {
        packets: sum(mean_reward(world, constant(packets), seed) for seed in UNSEEN) / len(UNSEEN)
        for packets in range(20, 200, 10)
    }
    packets, fixed = max(windows.items(), key=lambda one: one[1])
    print(f"{model.num_timesteps} steps in {seconds:.0f} s")
    print(f"PPO: a mean reward of {own:.3f}")
    print(f"best constant window ({packets} packets): {fixed:.3f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
