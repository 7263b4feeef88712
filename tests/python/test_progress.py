"""Progress: a bar on a terminal, lines in a log, and one true sentence after a signal."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sojourn.cli import main
from sojourn.run import progress
from sojourn.run.progress import Bar
from support import SMALL, begun, command, environment

SOON_S = 20.0


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_log_gets_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal no bar moves, and minutes of silence look like a stuck program."""
    monkeypatch.setattr(progress, "_EVERY_S", 0.05)
    with Bar() as bar:
        bar.simulating(30.0, 60.0)
        time.sleep(0.4)
        bar.sweeping(10, 1, 40)
        time.sleep(0.4)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("Simulating, 50 %, ") and line.endswith(" left") for line in lines)
    assert any(line.startswith("10 of 40 runs, ") and "1 failed, 25 %" in line for line in lines)


def test_a_download_shows_its_bytes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server may announce no length, and then the bytes alone show that it goes on."""
    monkeypatch.setattr(progress, "_EVERY_S", 0.05)
    with Bar() as bar:
        bar.downloading("https://host/a", 1_500_000, None)
        time.sleep(0.2)
        bar.downloading("https://host/a", 2_000_000, 8_000_000)
        time.sleep(0.2)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("Downloading https://host/a: 1.5 MB, for ")
    assert last.startswith("Downloading https://host/a: 2 MB of 8 MB, 25 %, ")


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A script reads standard error; a run of seconds leaves it empty."""
    with Bar() as bar:
        bar.simulating(1.0, 2.0)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("more", "said"), [([], "Writing the report"), (["--no-report"], "Writing the data")]
)
def test_only_a_report_is_said_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], said: str
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    told: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Bar, "writing", lambda _, what="report": told.append(f"Writing the {what}"))
    assert main(["run", "small.toml", "--out", "out", *more]) == 0
    assert told == [said]


def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL.replace('"6s"', '"600s"'))
    ours, theirs = pty.openpty()
    line = command("run", "small.toml", "--json", "--control", "cubic")
    own = {**environment(), "TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs, env=own
    ) as process:
        os.close(theirs)
        shown = b""
        # The terminal ends with an error when its last writer has closed it.
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert process.returncode == 0
    assert b"Simulating" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_says_what_it_keeps(tmp_path: Path, number: signal.Signals) -> None:
    """The user decides by this sentence whether to repeat hours of work."""
    (tmp_path / "small.toml").write_text(SMALL)
    vary = ("--vary", "link.back.delay=1ms..100ms:lin:200", "--runs", "50", "--jobs", "1")
    process = begun(command("sweep", "small.toml", *vary, "--out", "kept"), tmp_path)
    wait_for(lambda: any((tmp_path / "kept" / "runs").glob("*.parquet")))
    process.send_signal(number)
    _, said = process.communicate(timeout=SOON_S)
    assert process.returncode == 128 + number
    kept = "kept keeps the runs of complete batches; the same command continues"
    assert said == f"sojourn: interrupted; {kept}\n"
