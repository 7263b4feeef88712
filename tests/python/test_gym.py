"""`sojourn.gym`: the Gymnasium environment."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sojourn
from sojourn.errors import UsageError
from support import ROOT

pytestmark = pytest.mark.long


@pytest.fixture
def gym() -> Any:
    return pytest.importorskip("gymnasium")


def made(gym: Any, **asked: Any) -> Any:
    import sojourn.gym

    return gym.make(sojourn.gym.ID, **asked).unwrapped


def played(env: Any, action: float, seed: int = 1) -> tuple[float, dict[str, Any]]:
    """Return the mean reward of an episode and the summary of its run."""
    env.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        _, reward, _, is_over, info = env.step([action])
        total, steps = total + reward, steps + 1
    return total / steps, info["summary"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("action", ["window", "rate"])
def test_the_environment_passes_its_checker(gym: Any, action: str) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(made(gym, action=action), skip_render_check=True)


def test_episodes_repeat_by_their_seed(gym: Any, small: Path) -> None:
    env = made(gym, scenario=small)
    first = played(env, 0.05, seed=3)
    assert played(made(gym, scenario=small), 0.05, seed=3) == first
    # The summary contains the seed; the reward shows that the packets differ.
    assert played(env, 0.05, seed=4)[0] != first[0]
    assert first[1]["flows"][0]["control"] == "learned"


def test_the_action_sets_the_window(gym: Any) -> None:
    # A window of 10 packets on a path of 80 leaves most of the link unused; a growing one fills it.
    env = made(gym)
    constant, few = played(env, 0.0)
    _, full = played(env, 0.05)
    assert few["flows"][0]["goodput_bps"] == pytest.approx(10 * 1448 * 8 / 0.041, rel=0.05)
    assert few["links"][0]["queue_delay_p99_s"] < 0.006
    assert full["flows"][0]["goodput_bps"] > 20e6
    assert constant == pytest.approx(few["flows"][0]["goodput_bps"] / 24e6, abs=0.1)


def test_the_action_sets_the_rate(gym: Any) -> None:
    _, paced = played(made(gym, action="rate"), 0.0)
    # A paced flow at an eighth of the capacity has no queue at all.
    assert paced["links"][0]["queue_delay_p99_s"] < 0.001


def test_vectors_of_environments_step_together(gym: Any) -> None:
    import sojourn.gym

    envs = gym.make_vec(sojourn.gym.ID, num_envs=3, vectorization_mode="sync")
    observed, _ = envs.reset(seed=1)
    assert observed.shape == (3, 6)
    for _ in range(5):
        observed, rewards, *_ = envs.step(envs.action_space.sample())
    assert rewards.shape == (3,)


def test_faults_are_named(gym: Any, small: Path) -> None:
    with pytest.raises(UsageError, match="no flow"):
        made(gym, scenario=small, flow="absent")
    with pytest.raises(UsageError, match="not a time"):
        made(gym, interval="5Mbit")
    with pytest.raises(UsageError, match="no action"):
        made(gym, action="speed")
    with pytest.raises(sojourn.ScenarioError):
        made(gym, set={"duration": "0s"})
    env = made(gym, scenario=small)
    with pytest.raises(UsageError, match="reset"):
        env.step([0.0])


def test_the_learned_window_beats_every_constant_one(gym: Any) -> None:
    pytest.importorskip("cmaes")
    line = [sys.executable, str(ROOT / "docs" / "learned_window.py"), "6"]
    shown = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    learned, constant = (float(line.rpartition(" ")[2]) for line in shown.splitlines()[1:])
    # The capacity changes between 8 and 40 Mbit/s, for which no constant window is right.
    assert learned > constant
