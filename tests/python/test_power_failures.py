"""A sweep survives power failures: its tables are those of the undisturbed one, row for row."""

import pytest
import sojourn
from power_failures import Found, Trials
from sojourn.errors import DatasetError


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return Trials(tmp_path_factory.mktemp("power"), runs=5, seed=1)


def test_power_failures(trials: Trials) -> None:
    """Run a small number of the trials of `tests/python/power_failures.py`."""
    found = trials.fail(10)
    assert found.faults == []
    assert (found.kills, found.shown + found.refused) == (10, 10)


def test_what_was_not_synced_is_lost_and_repeated(trials: Trials) -> None:
    """The trials can tell: without any sync, every file is empty."""
    found = Found()
    trials.undisturbed()
    assert trials.cut({}, []) > 9
    with pytest.raises(DatasetError, match="type the command of the sweep again"):
        sojourn.Dataset(trials.dataset)
    trials.compare(found)
    assert found.faults == []
