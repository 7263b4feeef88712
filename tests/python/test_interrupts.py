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
from support import SMALL, begun, command

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
        "from sojourn.cli import console\n"
        "def wait(*_):\n"
        "    pathlib.Path('begun').touch()\n"
        "    time.sleep(1000)\n"
        "console.show = wait\n"
        "sys.argv = ['sojourn', 'run', 'small.toml', '--out', 'out', '--qlog', 'events']\n"
        "sys.exit(cli.main())\n"
    )
    (tmp_path / "main.py").write_text(body)
    process = begun([sys.executable, "main.py"], tmp_path)
    wait_for(tmp_path / "begun")
    stderr = ends(process, signal.SIGINT)
    assert stderr == "sojourn: interrupted; complete: out, events\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_a_forked_child_is_its_own(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    body = f"""
            import os, time
            if hasattr(Mine, "child"):
                return
            Mine.child = child = os.fork()
            if child == 0:
                time.sleep(600)
                os._exit(0)
            os.kill(child, {int(number)})
            assert os.waitpid(child, 0)[1] == {int(number)}
            # Longer than the guard waits.
            time.sleep(1.5)
    """
    (tmp_path / "mine.py").write_text(CONTROLLER.format(body))
    args = ("run", "small.toml", "--controller", "mine.py:Mine", "--control", "mine")
    process = started(tmp_path, *args, "--out", "out", "--qlog", "events")
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert "interrupted" not in stderr
    assert (tmp_path / "begun").exists()
    assert (tmp_path / "out" / "flows.parquet").exists()
    assert list((tmp_path / "events").iterdir())


# Signals that arrive late, or whose interrupt other code replaces by another exception.
LATE = {
    "an error that is being told": """
def failing(*_):
    raise ValueError
cli._command = failing
cli._failed = lambda error: kill() or 2
""",
    "code that prints it and goes on": """
def printed(*_):
    try:
        kill()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    raise ImportError("a library failed to load")
cli._command = printed
""",
    "a destructor": """
class Late:
    def __del__(self):
        kill()
def dropped(*_):
    Late()
    time.sleep(60)
cli._command = dropped
""",
    # As in a module that loads and has dataclasses; `python -m` would then end by SIGINT itself.
    "exec": """
from sojourn.cli import commands
commands.parse = lambda argv: exec("kill()")
""",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", LATE)
def test_a_late_signal_prints_no_traceback(
    tmp_path: Path, where: str, number: signal.Signals
) -> None:
    body = f"""
import os, sys, time
from sojourn import cli
def kill():
    os.kill(os.getpid(), {int(number)})
    time.sleep(0.1)
{LATE[where]}
sys.argv = ["sojourn", "check", "missing.toml"]
sys.exit(cli.main())
"""
    (tmp_path / "late.py").write_text(body)
    process = begun([sys.executable, "-m", "late"], tmp_path)
    _, stderr = process.communicate(timeout=60)
    assert stderr == "sojourn: interrupted; nothing was written\n"
    assert process.returncode == 128 + number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["streams", "exit"])
def test_a_signal_after_the_status_is_decided_changes_nothing(
    tmp_path: Path, place: str, number: signal.Signals
) -> None:
    """While the streams are closed, and between `main` and the end of Python."""
    body = f"""
import atexit, os, sys, time
from sojourn import cli
from sojourn import terminal
def kill():
    os.kill(os.getpid(), {int(number)})
    time.sleep(0.1)
if {place!r} == "streams":
    end = terminal._end
    terminal._end = lambda stream: kill() or end(stream)
else:
    atexit.register(kill)
sys.argv = ["sojourn", "controllers", "--json"]
sys.exit(cli.main())
"""
    process = begun([sys.executable, "-c", body], tmp_path)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")
    assert stdout


def test_python_is_interrupted_in_a_controller_that_never_ends() -> None:
    """In a program or a notebook, only the run ends, not the process."""

    def interrupt() -> None:
        at_work.wait()
        os.kill(os.getpid(), signal.SIGINT)

    at_work = threading.Event()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_endless(at_work)
    thread.join()
    assert workers() == []


def test_an_interrupt_while_threads_start_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that has just started is in no list yet."""

    def start_then_interrupt(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_endless(threading.Event())
    for one in workers():
        one.join(SOON_S)
    assert workers() == []


def run_endless(at_work: threading.Event) -> None:
    """Run a controller that never returns; it sets `at_work`."""

    class Mine:
        def __init__(self, setup: sojourn.Setup) -> None:
            self.window = setup.initial_window_bytes

        def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
            at_work.set()
            while True:
                pass

        def limits(self) -> sojourn.Limits:
            return sojourn.Limits(cwnd_bytes=self.window)

    sojourn.run(sojourn.Scenario.parse(SMALL), control=["mine"], controllers={"mine": Mine})


def workers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith("ThreadPool")]


def test_signals_at_random_times(tmp_path: Path) -> None:
    """Run a small number of the trials of `tests/python/interrupts.py`."""
    (tmp_path / "small.toml").write_text(SMALL)
    # Without a report, which takes most of the time of a small run.
    arguments = ("run", "small.toml", "--json", "--pcapng", "packets", "--qlog", "events")
    trials = interrupts.Trials(tmp_path, "run", arguments, seed=1)
    for number in interrupts.SIGNALS:
        found = trials.signalled(number, 3)
        # `tests/python/interrupts.py` checks the latency; this machine may be busy.
        assert [one for one in found.faults if "it ended after" not in one] == []
    assert trials.at_last() == []
