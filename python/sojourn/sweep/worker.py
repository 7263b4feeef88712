"""A worker of the local engine: a process that reads batches and answers, line by line."""

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from typing import Any

from sojourn import _core
from sojourn.errors import UsageError, UserCodeError
from sojourn.sweep import batch, controllers
from sojourn.sweep.batch import Worker
from sojourn.sweep.store import open_folder

# Time between two looks at the parent.
_LOOK_S = 0.1


def _end_with(parent: int) -> None:
    """End this process if its parent is killed: the next command repeats its batch."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)


def main() -> None:
    """Execute batches until the input ends."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # The parent ends its workers after Ctrl-C, which the terminal sends to all processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w")
    # Prints of a user's controller must not mix with the answers.
    os.dup2(2, 1)
    setup = json.loads(sys.stdin.readline())
    try:
        worker = _worker(setup)
    except (UsageError, UserCodeError) as error:
        answers.write(json.dumps({"fault": str(error)}) + "\n")
        return
    for line in sys.stdin:
        done = worker.execute(batch.from_json(line))
        answers.write(json.dumps(asdict(done)) + "\n")
        answers.flush()


def _worker(setup: dict[str, Any]) -> Worker:
    base = _core.Scenario.from_toml(setup["origin"], setup["toml"], setup["base_dir"])
    own = controllers.here(setup["controllers"]).catalogue
    base.use_controllers(own)
    read = batch.reader(setup["origin"], setup["base_dir"], own)
    return Worker(base, open_folder(setup["out"]), setup["detail"], setup["locked"], read)


if __name__ == "__main__":
    main()
