"""The charts of live runs in the browser, while they go on."""

import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.cli.page.server import PageServer
from sojourn.live.followed import Followed
from sojourn.run import results

# Columns of the charts.
_COLUMNS = 300


class PageView(Followed):
    """Serves the page with the bottleneck link of each run in turn."""

    def __init__(self, page: Path, title: str, link: str, runs: int) -> None:
        super().__init__(title, link, runs)
        # The server's threads read the history.
        self._lock = threading.Lock()
        self._facts: dict[str, Any] = {}
        self._server = PageServer(page, [], results.read, now=self.now)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def begin(self, run: "_core.LiveRun", control: str | None, seed: int) -> None:
        """Follow this run from now on."""
        with self._lock:
            super().begin(run, control, seed)
            # Only the thread of the run may use it.
            self._facts = {"duration_s": run.duration_s, "flows": list(run.watched_flows)}

    def show(self, done_s: float, total_s: float) -> None:
        """Take new readings if it is time, as a callback for progress."""
        with self._lock:
            self.read()

    def now(self) -> dict[str, Any]:
        """Return the charts as data; empty before the first run."""
        with self._lock:
            if not self._facts:
                return {}
            return {
                **self._facts,
                "name": f"{self._title}, {self._name}, link {self._link}",
                "latest": asdict(self._history.latest()),
                "past": asdict(self._history.columns(_COLUMNS)),
            }

    def __enter__(self) -> "PageView":
        self._thread.start()
        print(f"The page is at {self._server.address}", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
