"""Ctrl-C and SIGTERM end every command quickly, in any state, without partial output.

The time limits are generous: they only detect commands that do not react at all.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import interrupts
import pytest
import sojourn
from support import SMALL, command, environment

SOON_S = 10.0

# Endless Python code for a method of a controller.
ENDLESS = {
    "loop": "while True: pass",
    "deaf": """
            while True:
                try:
                    while True: pass
                except BaseException: pass
    """,
    "asleep": "import time; time.sleep(1000)",
    "in C": "sum(range(10**13))",
}

CONTROLLER = """
from pathlib import Path
import sojourn

class Mine:
    def __init__(self, setup):
        self.window = setup.initial_window_bytes
    def on_feedback(self, now_ns, feedback):
        if 1:
            Path("begun").touch()
            {}
    def limits(self):
        return sojourn.Limits(cwnd_bytes=self.window)
"""


def started(place: Path, *args: str) -> "subprocess.Popen[str]":
    return begun(command(*args), place)


def begun(line: list[str], place: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        line,
        cwd=place,
        stdin=subprocess.PIPE,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells make background processes and their children ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(path: Path) -> None:
    """Wait until the process has reached the code to interrupt."""
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.02)


def ends(process: "subprocess.Popen[str]", *signals: signal.Signals) -> str:
    """Interrupt the process and return its standard error."""
    for number in signals:
        process.send_signal(number)
        time.sleep(0.02)
    # Its input stays open, because the process must not end because of a closed input.
    process.wait(timeout=SOON_S)
    assert process.stderr is not None
    stderr = process.stderr.read()
    assert process.returncode == 128 + signals[0], stderr
    assert "Traceback" not in stderr
    return stderr


@pytest.mark.parametrize("what", ENDLESS)
def test_a_controller_that_never_ends(tmp_path: Path, what: str) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "mine.py").write_text(CONTROLLER.format(ENDLESS[what]))
    args = ("run", "small.toml", "--controller", "mine.py:Mine", "--control", "mine")
    process = started(tmp_path, *args, "--pcapng", "packets")
    wait_for(tmp_path / "begun")
    # A second and a third Ctrl-C have no effect.
    stderr = ends(process, signal.SIGINT, signal.SIGINT, signal.SIGINT)
    assert stderr == "sojourn: interrupted; nothing was written\n"
    assert {path.name for path in tmp_path.iterdir()} == {"small.toml", "mine.py", "begun"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_module_that_never_ends(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    body = "import pathlib\npathlib.Path('begun').touch()\nwhile True: pass\n"
    (tmp_path / "mine.py").write_text(body)
    process = started(tmp_path, "check", "small.toml", "--controller", "mine.py:Mine")
    wait_for(tmp_path / "begun")
    assert ends(process, number) == "sojourn: interrupted; nothing was written\n"


def test_input_that_never_comes(tmp_path: Path) -> None:
    process = started(tmp_path, "rtt", "-")
    time.sleep(2.0)
    assert ends(process, signal.SIGINT) == "sojourn: interrupted; nothing was written\n"


def test_a_flow_that_begins_late(tmp_path: Path) -> None:
    """Simulated idle time passes immediately; long activity follows it."""
    late = SMALL.replace("6s", "1000000s").replace("3s", "100000s")
    late = re.sub(r'source = "bulk"', 'source = "bulk"\nstart  = "50000s"', late)
    (tmp_path / "late.toml").write_text(late + '[record]\ninterval = "100s"\n')
    process = started(tmp_path, "run", "late.toml", "--out", "out", "--pcapng", "packets")
    time.sleep(3.0)
    ends(process, signal.SIGTERM)
    assert [path.name for path in tmp_path.iterdir()] == ["late.toml"]


def test_an_interrupt_says_what_is_complete(tmp_path: Path) -> None:
    """Interrupt after the run directory is complete but before the command has ended."""
    (tmp_path / "small.toml").write_text(SMALL)
    body = (
        "import sys, time, pathlib\n"
        "from sojourn import cli\n"
        "from sojourn.cli import tables\n"
        "def wait(*_):\n"
        "    pathlib.Path('begun').touch()\n"
        "    time.sleep(1000)\n"
        "tables.show = wait\n"
        "sys.argv = ['sojourn', 'run', 'small.toml', '--out', 'out', '--qlog', 'events']\n"
        "sys.exit(cli.main())\n"
    )
    (tmp_path / "main.py").write_text(body)
    process = begun([sys.executable, "main.py"], tmp_path)
    wait_for(tmp_path / "begun")
    stderr = ends(process, signal.SIGINT)
    assert stderr == "sojourn: interrupted; complete: out, events\n"


def test_python_is_interrupted_in_a_controller_that_never_ends(tmp_path: Path) -> None:
    """In a program or a notebook, only the run ends, not the process."""

    class Mine:
        def __init__(self, setup: sojourn.Setup) -> None:
            self.window = setup.initial_window_bytes

        def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
            at_work.set()
            while True:
                pass

        def limits(self) -> sojourn.Limits:
            return sojourn.Limits(cwnd_bytes=self.window)

    def interrupt() -> None:
        at_work.wait()
        os.kill(os.getpid(), signal.SIGINT)

    at_work = threading.Event()
    thread = threading.Thread(target=interrupt)
    thread.start()
    scenario = sojourn.Scenario.parse(SMALL)
    with pytest.raises(KeyboardInterrupt):
        sojourn.run(scenario, control=["mine"], controllers={"mine": Mine})
    thread.join()
    assert not [one for one in threading.enumerate() if one.name.startswith("ThreadPool")]


def test_signals_at_random_times(tmp_path: Path) -> None:
    """Run a small number of the trials of `make interrupts`."""
    (tmp_path / "small.toml").write_text(SMALL)
    # Without a report, which takes most of the time of a small run.
    arguments = ("run", "small.toml", "--json", "--pcapng", "packets", "--qlog", "events")
    trials = interrupts.Trials(tmp_path, "run", arguments, seed=1)
    for number in interrupts.SIGNALS:
        found = trials.signalled(number, 3)
        # `make interrupts` checks the latency; this machine may be busy.
        assert [one for one in found.faults if "it ended after" not in one] == []
    assert trials.at_last() == []
