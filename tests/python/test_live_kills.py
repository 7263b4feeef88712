"""A killed live run leaves nothing in the machine."""

import sys
from pathlib import Path

import live_kills
import pytest
from support import leave_out_live


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="live runs need Linux")
@pytest.mark.parametrize("name", ["kernel", "udp"])
def test_kills_of_live_runs(name: str, tmp_path: Path) -> None:
    """Run a small number of the trials of `tests/python/live_kills.py`."""
    found = live_kills.kill(tmp_path, 3, seed=2, names=[name])
    if name in found.refused:
        leave_out_live(found.refused[name])
    assert found.faults == []
    assert found.kills > 0
