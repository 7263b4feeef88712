"""The simulator's results do not depend on the size of its pieces, and errors end all threads."""

import json
import threading
from concurrent.futures import Future, wait
from pathlib import Path

import pytest
import sojourn
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn import _core
from sojourn.run import experiment
from support import SMALL

DURATION_S = 6.0


def outcome(moments: list[float]) -> tuple[str, bytes]:
    scenario = _core.Scenario.from_toml("small.toml", SMALL, ".")
    simulation = scenario.simulation(0, 1)
    for moment in moments:
        simulation.advance(moment)
    done = simulation.finish()
    return done.summary_json(), _core.series_parquet([done], "flows")


@settings(max_examples=10)
@given(st.lists(st.floats(0.001, DURATION_S - 0.001), max_size=40).map(sorted))
def test_pieces_do_not_show_in_the_result(moments: list[float]) -> None:
    assert outcome([*moments, DURATION_S]) == outcome([DURATION_S])


def test_outcomes_come_in_the_order_of_the_jobs() -> None:
    scenario = _core.Scenario.from_toml("small.toml", SMALL, ".")
    jobs = experiment.jobs_of(scenario, 3)
    seen: list[tuple[float, float]] = []
    done = experiment.simulate(
        jobs,
        4,
        lambda one: json.loads(one.summary_json()),
        lambda done_s, total_s: seen.append((done_s, total_s)),
    )
    assert [(one["control"], one["seed"]) for one in done] == [
        (scenario.controls()[job.control], job.seed) for job in jobs
    ]
    assert [one for one, _ in seen] == sorted(one for one, _ in seen)
    assert seen[-1][0] == pytest.approx(36.0)
    assert seen[-1][1] == 36.0


def test_what_goes_wrong_in_a_thread_is_raised() -> None:
    scenario = _core.Scenario.from_toml("small.toml", SMALL, ".")

    def wrong(_: _core.Outcome) -> None:
        raise ZeroDivisionError("in a thread")

    with pytest.raises(ZeroDivisionError, match="in a thread"):
        experiment.simulate(experiment.jobs_of(scenario, 20), 2, wrong)


def test_who_waits_looks_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waiting thread must wake up to handle a signal that another thread received."""
    seen: list[float | None] = []

    def watched(pending: set[Future[None]], timeout: float | None, **how: str) -> object:
        seen.append(timeout)
        if len(seen) == 2:
            never.set_result(None)
        return wait(pending, timeout, **how)

    never: Future[None] = Future()
    monkeypatch.setattr(experiment, "wait", watched)
    experiment._wait([never])
    assert len(seen) == 2
    assert all(timeout is not None and timeout <= 0.2 for timeout in seen)


def test_a_run_needs_no_thread_of_its_own(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of memory may leave no room for the stack of another thread."""
    expected = sojourn.run(small).summary

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    assert sojourn.run(small).summary == expected
