"""Endless inputs, blocking inputs and non-files are refused by name, in bounded memory."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sojourn
from sojourn import inputs
from support import SMALL, Sojourn, command, environment

_READERS = {
    "check": ["check", "FILE"],
    "run": ["run", "FILE"],
    "controller": ["run", "small.toml", "--controller", "FILE:Mine"],
    "trace": ["check", "traced.toml"],
    "qlog": ["qlog", "FILE"],
    "rtt": ["rtt", "FILE"],
    "theory": ["theory", "trace", "FILE", "--delay", "10ms"],
    "directory": ["compare", "FILE", "FILE"],
    "summary": ["compare", "kept", "kept"],
    "series": ["compare", "kept", "kept"],
}
_KEPT = {"summary": "summary.json", "series": "flows.parquet"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory."""
    folder = tmp_path_factory.mktemp("kept")
    return sojourn.run(SMALL, control="cubic").save(folder / "kept", report=())


def arranged(folder: Path, kept: Path, reader: str, file: str) -> list[str]:
    """Return the arguments with which a command reads `file`."""
    (folder / "small.toml").write_text(SMALL)
    rate = 'rate  = { start = "12Mbit", steps = [{ at = "3s", rate = "6Mbit" }] }'
    (folder / "traced.toml").write_text(SMALL.replace(rate, f'rate = {{ trace = "{file}" }}'))
    if reader in _KEPT:
        shutil.copytree(kept, folder / "kept")
        (folder / "kept" / _KEPT[reader]).unlink()
        (folder / "kept" / _KEPT[reader]).symlink_to(folder / file)
    return [one.replace("FILE", file) for one in _READERS[reader]]


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("what", ["/dev/zero", "/dev/urandom", "folder", "socket", "sparse"])
def test_what_is_no_input(
    bounded: Sojourn, tmp_path: Path, kept: Path, reader: str, what: str
) -> None:
    if what == "folder":
        (tmp_path / what).mkdir()
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            os.chdir(tmp_path)
            one.bind(what)
    elif what == "sparse":
        (tmp_path / what).touch()
        os.truncate(tmp_path / what, 1 << 40)
    done = bounded(*arranged(tmp_path, kept, reader, what))
    assert done.returncode == 2, done.stderr
    assert _KEPT.get(reader, what) in done.stderr
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "" or reader == "rtt"


@pytest.mark.parametrize("reader", ["trace", "qlog", "directory", "summary", "series"])
def test_a_pipe_where_it_cannot_be_read_once(
    bounded: Sojourn, tmp_path: Path, kept: Path, reader: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = bounded(*arranged(tmp_path, kept, reader, "pipe"))
    assert done.returncode == 2, done.stderr
    assert "a pipe" in done.stderr or "not a folder" in done.stderr


@pytest.mark.parametrize("reader", ["check", "run", "controller", "theory"])
def test_a_pipe_without_a_writer_can_be_interrupted(
    tmp_path: Path, kept: Path, reader: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    args = command(*arranged(tmp_path, kept, reader, "pipe"))
    process = subprocess.Popen(args, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"interrupted" in said


def test_scenarios_and_controllers_come_through_pipes(
    bounded: Sojourn, small: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import sojourn\nclass Mine:\n    def __init__(self, setup): pass\n"
        "    def on_feedback(self, now_ns, feedback): pass\n"
        "    def limits(self): return sojourn.Limits(15_000)\n"
    )
    with writer(tmp_path / "one", small), writer(tmp_path / "two", mine):
        args = ["run", "one", "--controller", "two:Mine", "--control", "mine", "--json"]
        done = bounded(*args)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["runs"][0]["control"] == "mine"
    assert summary["controllers"][0]["file"] is None


def test_scenarios_come_through_standard_input(
    bounded: Sojourn, small: Path, tmp_path: Path
) -> None:
    def piped(*args: str, text: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command(*args),
            cwd=tmp_path,
            env=environment(),
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
        )

    text = small.read_text()
    trace = text.replace("rate  = {", 'rate = { trace = "here.trace" }\n# {', 1)
    assert trace != text
    (tmp_path / "here.trace").write_text("".join(f"{ms}\n" for ms in range(1, 1000)))
    assert piped("check", "-", text=trace).stdout.startswith("-: ok")
    for name in ("stdin", "stdin-2"):
        done = piped("run", "-", text=trace)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "runs" / name / "report.html").is_file()
    same = [
        piped("run", "-", "--json", text=text),
        bounded("run", str(small), "--json"),
    ]
    one, other = (json.loads(done.stdout)["runs"] for done in same)
    assert one == other
    wrong = piped("check", "-", text=text + "nothing = 1\n")
    assert wrong.returncode == 2
    assert "--> -:" in wrong.stderr
    long = piped("check", "-", text="#" * (17 << 20))
    assert long.returncode == 2
    assert "longer than the 16 MiB" in long.stderr


@contextmanager
def writer(pipe: Path, source: Path) -> Iterator[None]:
    os.mkfifo(pipe)
    process = subprocess.Popen(["sh", "-c", 'cat "$1" > "$2"', "sh", source, pipe])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("damage", ["cut", "empty", "deep", "digits", "bytes", "list"])
def test_damaged_summaries(bounded: Sojourn, tmp_path: Path, kept: Path, damage: str) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(kept, folder)
    text = (folder / "summary.json").read_bytes()
    (folder / "summary.json").write_bytes(
        {
            "cut": text[: len(text) // 2],
            "empty": b"",
            "deep": b"[" * 1_000_000,
            "digits": b"9" * 1_000_000,
            "bytes": b"\xff" + text,
            "list": b"[]",
        }[damage]
    )
    done = bounded("compare", "kept", "kept")
    assert done.returncode == 2, done.stderr
    assert "kept/summary.json: " in done.stderr
    assert "internal error" not in done.stderr


def test_damaged_series(bounded: Sojourn, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(kept, folder)
    data = (folder / "flows.parquet").read_bytes()
    # Truncated, without its end, and with its middle or the lengths before its end overwritten.
    for damaged in (
        data[:100],
        data[:-4],
        data[: len(data) // 2] + bytes(200) + data[len(data) // 2 + 200 :],
        data[:-8] + b"\xff\xff\xff\x7f" + data[-4:],
        data[:-40] + b"\xff" * 32 + data[-8:],
    ):
        (folder / "flows.parquet").write_bytes(damaged)
        done = bounded("compare", "kept", "kept")
        assert done.returncode == 2, done.stderr
        assert "kept/flows.parquet: " in done.stderr
        assert "internal error" not in done.stderr


def test_a_run_directory_without_its_trace(without_report: Sojourn, tmp_path: Path) -> None:
    (tmp_path / "steady.trace").write_text("1\n2\n3\n")
    rate = 'rate  = { start = "12Mbit", steps = [{ at = "3s", rate = "6Mbit" }] }'
    traced = SMALL.replace(rate, 'rate = { trace = "steady.trace" }')
    (tmp_path / "traced.toml").write_text(traced)
    ran = without_report("run", "traced.toml", "--control", "cubic", "--out", "out")
    assert ran.returncode == 0, ran.stderr
    (tmp_path / "out" / "bottleneck-steady.trace").unlink()
    done = without_report("compare", "out", "out")
    assert done.returncode == 2
    assert "internal error" not in done.stderr
    assert "out/scenario.toml: " in done.stderr
    assert "bottleneck-steady.trace: No such file" in done.stderr
    assert "put it back" in done.stderr


# Modules that open files which no user names, or that write.
_OWN_FILES = {
    "inputs.py": "the one that opens the files of users",
    "picture/simulator_page.py": "the page of the package",
    "memory.py": "/proc, whose files have no size",
    "output.py": "folders that are synced and locked",
    "cli/page/server.py": "the page of the package",
    "picture/page.py": "the script and style of the package",
    "sweep/dataset.py": "the lock of a dataset",
    "terminal.py": "/dev/null",
}


def test_one_module_opens_files() -> None:
    """Other modules would lack its bounds, and wait for pipes and devices."""
    package = Path(inputs.__file__).parent
    opens = re.compile(
        r"\.read_bytes\(|\.read_text\(|(?<![\w.])open\(|\bos\.open\(|\bread_parquet\("
    )
    found = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if not {"shipped", "page"} & set(file.relative_to(package).parts[:1])
        and any(opens.search(line) for line in file.read_text().splitlines())
    }
    # What the core wrote into memory, and DuckDB's function.
    in_memory = {
        "capture/qlog.py",
        "record/parquet.py",
        "sweep/batch.py",
        "sweep/jobs.py",
        "sweep/queries.py",
    }
    assert found - in_memory == set(_OWN_FILES)
