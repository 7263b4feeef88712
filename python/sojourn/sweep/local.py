"""The local engine: worker processes on this machine."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from sojourn.errors import UsageError
from sojourn.sweep import batch
from sojourn.sweep.batch import Batch, Done


class Lost(Exception):
    """A worker died with a batch."""

    def __init__(self, batch: Batch, reason: str) -> None:
        super().__init__(reason)
        self.batch = batch


class Processes:
    """Worker processes. Each executes one batch at a time.

    They inherit the file `lock`, so that the dataset stays locked until the last one ends.
    """

    def __init__(self, count: int, setup: dict[str, Any], lock: int | None) -> None:
        self.slots = count
        self._inherited = () if lock is None else (lock,)
        self._setup = json.dumps(setup)
        self._selector = selectors.DefaultSelector()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        for _ in range(count):
            self._start()

    def submit(self, batch: Batch) -> None:
        """Give a batch to an idle worker."""
        self._idle.pop().submit(batch)

    @property
    def has_room(self) -> bool:
        """Whether a worker is idle."""
        return bool(self._idle)

    def wait(self) -> list[Done | Lost]:
        """Wait for the end of batches, for a moment at most."""
        ended: list[Done | Lost] = []
        for key, _ in self._selector.select(timeout=0.2):
            worker: _Process = key.data
            found = worker.answer()
            if isinstance(found, Lost):
                self._selector.unregister(worker.output)
                self._all.discard(worker)
                self._start()
            else:
                self._idle.append(worker)
            ended.append(found)
        return ended

    def close(self) -> None:
        """End all workers."""
        for worker in self._all:
            worker.end()
        self._selector.close()

    def _start(self) -> None:
        worker = _Process(self._setup, self._inherited)
        self._selector.register(worker.output, selectors.EVENT_READ, worker)
        self._all.add(worker)
        self._idle.append(worker)


class _Process:
    """One worker process, and the batch that it executes."""

    def __init__(self, setup: str, inherited: Sequence[int]) -> None:
        line = [sys.executable, "-m", "sojourn.sweep.worker"]
        # The runs occupy the cores; the threads of polars would compete with them.
        environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
        self._process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            pass_fds=inherited,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self.output = self._process.stdin, self._process.stdout
        self._batch: Batch | None = None
        self._send(setup)

    def submit(self, given: Batch) -> None:
        """Send a batch."""
        self._batch = given
        self._send(batch.to_json(given))

    def answer(self) -> Done | Lost:
        """Read the answer to the batch, or learn that the process died."""
        line = self.output.readline()
        given, self._batch = self._batch, None
        if line:
            answer = json.loads(line)
            if "fault" in answer:
                raise UsageError(answer["fault"])
            return Done(**answer)
        status = self._process.wait()
        # A worker that dies at its start would die again.
        if given is None:
            raise RuntimeError(f"a worker process ended with status {status} at its start")
        return Lost(given, f"its worker process ended with status {status}")

    def end(self) -> None:
        """Kill the process; its files are complete or hidden."""
        self._process.kill()
        self._process.wait()
        self._input.close()
        self.output.close()

    def _send(self, line: str) -> None:
        try:
            self._input.write(line + "\n")
            self._input.flush()
        except BrokenPipeError:
            # The process died, which its output shows.
            return
