"""Fixtures: a small scenario, the shipped ones, and the command as users run it."""

import faulthandler
import io
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import BinaryIO, TextIO, cast

import pytest
from hypothesis import HealthCheck, settings
from sojourn.cli import main
from support import ROOT, SMALL, Sojourn, environment

# A slow machine is not a failure; benchmarks measure speed. The examples are the same in every run.
settings.register_profile(
    "sojourn",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sojourn")

# A shell that starts the tests in the background, or `nohup`, makes them ignore these signals, and
# with them every command that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file for one test."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def sojourn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sojourn:
    """Run the command in an empty folder, without a terminal or colours, and within this process.

    A process takes longer to start than most commands run. A test that has a claim about the
    process starts one (`support.command`).
    """
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    return lambda *args, cwd=tmp_path: _run_here([str(one) for one in args], cwd)


@pytest.fixture
def without_report(sojourn: Sojourn) -> Sojourn:
    """Run the command as `sojourn` does, with `--no-report`."""
    return lambda *args, **place: sojourn(*args, "--no-report", **place)


@pytest.fixture
def bounded(sojourn: Sojourn) -> Sojourn:
    """Run the command as `sojourn` does, in 4 GiB more and two minutes; then the tests end."""

    def run(*args: str | Path, **place: Path) -> "subprocess.CompletedProcess[str]":
        before = resource.getrlimit(resource.RLIMIT_AS)
        # Earlier tests of this process may hold gigabytes of addresses.
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        held = pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + (4 << 30), before[1]))
        # No handler of signals runs while the core waits for a device or a pipe.
        faulthandler.dump_traceback_later(120, exit=True, file=2)
        try:
            return sojourn(*args, **place)
        finally:
            faulthandler.cancel_dump_traceback_later()
            resource.setrlimit(resource.RLIMIT_AS, before)

    return run


def _run_here(args: list[str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    before = Path.cwd()
    with _opened() as stdout, _opened() as stderr:
        os.chdir(cwd)
        try:
            with (
                _replaced(1, stdout),
                _replaced(2, stderr),
                redirect_stdout(stdout),
                redirect_stderr(stderr),
            ):
                status = main(args)
        finally:
            os.chdir(before)
        for file in (stdout, stderr):
            file.seek(0)
        return subprocess.CompletedProcess(args, status, stdout.read(), stderr.read())


@contextmanager
def _opened() -> Iterator[TextIO]:
    """Open a file without a buffer, of which threads could not tell the ends (gh-119506)."""
    with tempfile.TemporaryFile(buffering=0) as file:
        yield io.TextIOWrapper(cast(BinaryIO, file), encoding="utf-8", write_through=True)


@contextmanager
def _replaced(number: int, file: TextIO) -> Iterator[None]:
    """Let the core, which writes to the descriptor, write to this file."""
    kept = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)


@pytest.fixture(params=sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def shipped(request: pytest.FixtureRequest) -> Path:
    """Each shipped scenario."""
    file: Path = request.param
    return file
