"""`sojourn worst`: worlds within limits, and the search for the worst one."""

import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sojourn
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn.cli import main
from sojourn.errors import UsageError
from sojourn.sweep.adversary import search as searches
from sojourn.sweep.adversary import worlds
from sojourn.sweep.adversary.api import limits_of
from sojourn.sweep.adversary.search import Found, minimised, search
from sojourn.sweep.adversary.worlds import Limits, World, decoded, is_within, without

LIMITS = Limits(
    duration_s=20.0,
    rates_bps=(5e6, 60e6),
    changes=4,
    gap_s=2.0,
    factor=3.0,
    mean_bps=30e6,
    delays_s=(0.01, 0.05),
    loss=0.02,
)
ASKED = ["--rate", "3Mbit..12Mbit", "--changes", "2", "--gap", "300ms", "--control", "cubic"]
UNIT = st.floats(0.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(UNIT, min_size=16, max_size=16))
def test_worlds_are_within_their_limits(values: list[float]) -> None:
    assert len(LIMITS.parameters) == 16
    world = decoded(LIMITS, values)
    assert is_within(LIMITS, world)
    assert all(0.01 <= delay <= 0.05 for delay in world.delays_s)
    assert world.loss is not None
    assert 0 <= world.loss <= 0.02
    for fewer in without(LIMITS, world):
        assert len(fewer.times_s) == 3
        assert is_within(LIMITS, fewer)
    assert all(is_within(LIMITS, one) for one in worlds.plainer(LIMITS, world))


def test_the_corners_of_the_parameters_are_reached() -> None:
    limits = Limits(duration_s=10.0, rates_bps=(1e6, 8e6), changes=1, gap_s=1.0)
    assert decoded(limits, [1, 0, 1, 0]) == World((9.0,), (8e6, 1e6))
    assert decoded(limits, [0, 1, 0, 1 / 3]) == World((1.0,), (1e6, 2e6))
    steep = Limits(duration_s=10.0, rates_bps=(1e6, 8e6), changes=1, gap_s=1.0, factor=2.0)
    assert decoded(steep, [1, 0, 1, 0]).rates_bps == (8e6, 4e6)


class _Evaluator:
    """Damage that one drop does, whatever the other changes."""

    problem = SimpleNamespace(
        limits=Limits(duration_s=20.0, rates_bps=(1e6, 64e6), changes=4, gap_s=1.0)
    )

    def damages(self, candidates: list[World]) -> list[float]:
        return [
            max(map(_drop, one.rates_bps, one.rates_bps[1:]), default=0.0) for one in candidates
        ]


def _drop(before: float, after: float) -> float:
    return math.log2(before / after)


def test_the_counterexample_keeps_only_the_change_that_matters() -> None:
    world = World((3.1, 7.2, 9.3, 15.4), (4.1e6, 8.2e6, 64e6, 2e6, 8e6))
    evaluator: Any = _Evaluator()
    [damage] = evaluator.damages([world])
    simple, kept = minimised(evaluator, Found(world, damage, ()))
    assert simple.rates_bps == (60e6, 2e6)
    assert len(simple.times_s) == 1
    assert kept >= 0.9 * damage


def test_random_worlds_do_not_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    # A sampler that converges at once leaves the rest of the search to random worlds.
    converged = SimpleNamespace(ask=lambda count: [])
    monkeypatch.setattr(searches, "CmaEs", lambda *_: converged)
    seen: list[World] = []

    class Recorder(_Evaluator):
        def damages(self, candidates: list[World]) -> list[float]:
            seen.extend(candidates)
            return super().damages(candidates)

    evaluator: Any = Recorder()
    search(evaluator, "cmaes", 40, 1)
    assert len(set(seen)) == len(seen) == 40


@pytest.mark.parametrize(("method", "library"), [("cmaes", "cmaes"), ("tpe", "optuna")])
def test_a_missing_library_is_refused_before_a_folder_is_made(
    method: str, library: str, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next attempt must not find a folder that it did not make."""
    monkeypatch.setitem(sys.modules, library, None)
    out = small.parent / "out"
    with pytest.raises(UsageError, match=r"pip install .*; --method random needs no package"):
        sojourn.worst(
            small, "3Mbit..12Mbit", "cubic", changes=2, gap="300ms", method=method, out=out
        )
    assert not out.exists()


IDLE = [*ASKED, "--set", "host={like='rfc', receive_window='3kB'}", "--method", "random"]


def test_a_controller_that_hardly_sends_is_not_called_good(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no queue and so no excess; its damage is the unused capacity, searched as well."""
    out = small.parent / "out"
    line = ["worst", str(small), *IDLE, "--evaluations", "16", "--jobs", "1", "--out", str(out)]
    assert main(line) == 0
    shown = capsys.readouterr()
    assert "% of the link unused" in shown.out
    assert "% of bottleneck there, so a short queue says little" in shown.err
    found = json.loads((out / "worst.json").read_text())
    assert found["utilisation"] < 0.5
    assert found["second"]["measure"] == "utilisation"
    assert found["second"] == json.loads((out / "worst-utilisation.json").read_text())
    again = sojourn.run(out / "worst-utilisation.toml")
    utilisation = again.link("bottleneck").summary["utilisation"]
    assert utilisation is not None
    assert 1 - utilisation == pytest.approx(found["second"]["simple_damage"])
    # The user who asks for one damage gets one search, and the note.
    assert main([*line, "--measure", "excess"]) == 0
    assert "--measure utilisation searches" in capsys.readouterr().err
    assert json.loads((out / "worst.json").read_text())["second"] is None


def test_a_controller_that_fills_the_link_gets_one_search(small: Path) -> None:
    found = sojourn.worst(
        small, "3Mbit..12Mbit", "cubic", changes=2, gap="300ms", method="random", evaluations=16
    )
    assert (found.utilisation > 0.5, found.second) == (True, None)


def test_limits_without_a_world_are_refused(small: Path) -> None:
    core = sojourn.Scenario.load(small).compile()
    given: dict[str, Any] = {"rate": "1Mbit..9Mbit", "changes": 2, "gap": "500ms", "factor": None}
    given |= {"mean_rate": None, "delay": None, "loss": 0.0}
    assert limits_of(core, **given).rates_bps == (1e6, 9e6)
    for change, message in (
        ({"rate": "9Mbit..1Mbit"}, "does not rise"),
        ({"rate": "9ms"}, "not a rate"),
        ({"gap": "100s"}, "do not fit"),
        ({"factor": 0.5}, "allows no change"),
        ({"mean_rate": "20Mbit"}, "no capacity"),
        ({"loss": 2.0}, "not a probability"),
        ({"delay": "1Mbit"}, "not a time"),
    ):
        with pytest.raises(UsageError, match=message):
            limits_of(core, **{**given, **change})


@pytest.mark.long
@pytest.mark.parametrize("method", ["cmaes", "tpe", "random"])
def test_a_search_repeats_and_its_scenario_does_the_damage(
    method: str, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna")
    out = small.parent / method
    line = ["worst", str(small), *ASKED, "--evaluations", "40", "--method", method, "--json"]
    plot = small.parent / "search.png"
    assert main([*line, "--jobs", "1", "--out", str(out), "--plot", str(plot)]) == 0
    assert plot.stat().st_size > 1000
    found = json.loads(capsys.readouterr().out)
    assert found["simulated"] >= 30
    assert found["damage"] == max(found["course"]) == found["course"][-1]
    assert found["simple_damage"] >= 0.9 * found["damage"]
    again = sojourn.run(out / "worst.toml")
    spikes = [spike["excess_s"] for spike in again.runs[0]["spikes"]]
    assert max(one for one in spikes if one is not None) == found["simple_damage"]
    # The second search finds all of its evaluations in the dataset, with other processes too.
    assert main([*line, "--jobs", "2", "--out", str(out)]) == 0
    repeated = json.loads(capsys.readouterr().out)
    assert repeated.pop("simulated") == 0
    assert repeated == {key: value for key, value in found.items() if key != "simulated"}
    assert sojourn.load(out / "run").runs[0]["control"] == "cubic"
