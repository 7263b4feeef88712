"""The bottleneck link of live runs, followed while they go on."""

import time

from sojourn import _core, terminal
from sojourn.live.link_history import LinkHistory

# The charts show the last minute, or the whole run if it is shorter.
_LONGEST_S = 60.0
# Time between two readings.
_REFRESH_S = 0.25


class Followed:
    """The readings of each run in turn."""

    reads = True

    def __init__(self, title: str, link: str, runs: int) -> None:
        self._title = terminal.one_line(title)
        self._link = terminal.one_line(link)
        self._runs = runs
        self._begun = 0
        self._run: _core.LiveRun | None = None
        self._name = ""
        self._history = LinkHistory(0, 1.0)
        self._next_s = 0.0

    def begin(self, run: "_core.LiveRun", control: str | None, seed: int) -> None:
        """Follow this run from now on."""
        self._begun += 1
        which = f"run {self._begun} of {self._runs}, " if self._runs > 1 else ""
        chosen = "" if control is None else f"{terminal.one_line(control)}, "
        self._name = f"{which}{chosen}seed {seed}"
        self._history = LinkHistory(len(run.watched_flows), min(run.duration_s, _LONGEST_S))
        self._run = run
        self._next_s = 0.0

    def read(self) -> bool:
        """Take new readings if it is time; return whether it was."""
        now = time.monotonic()
        if self._run is None or now < self._next_s:
            return False
        self._next_s = now + _REFRESH_S
        self._history.add(self._run.readings_json())
        return True
