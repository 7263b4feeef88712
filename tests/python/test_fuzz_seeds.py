"""Seeds of the qlog fuzz target and mutations of them, without the fuzzing library."""

import random
from pathlib import Path

import pytest
import qlog_target

SEEDS = sorted((Path(__file__).parents[2] / "fuzz/seeds/qlog").iterdir())


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_every_seed_keeps_the_promises(seed: Path) -> None:
    data = seed.read_bytes()
    qlog_target.check(data)
    chance = random.Random(seed.name)
    for _ in range(20):
        data = qlog_target.mutate(data, chance) or data
        qlog_target.check(data)


def test_mutations_reach_the_figures() -> None:
    """Some mutations must stay readable; otherwise the target would test only damaged files."""
    chance = random.Random(1)
    data = (Path(__file__).parents[2] / "fuzz/seeds/qlog/today.qlog").read_bytes()
    mutated = {qlog_target.mutate(data, chance) for _ in range(50)}
    assert len(mutated) > 40
