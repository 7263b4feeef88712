"""Fixtures: a small scenario, the shipped ones, and the command as users run it."""

import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support import ROOT, SMALL, Sojourn, command, environment

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
def sojourn(tmp_path: Path) -> Sojourn:
    """Run the command in an empty folder, without a terminal or colours."""
    return lambda *args, cwd=tmp_path: _run(command(*args), cwd)


@pytest.fixture
def without_report(tmp_path: Path) -> Sojourn:
    """Run the command as `sojourn` does, with `--no-report`."""
    return lambda *args, cwd=tmp_path: _run(command(*args, "--no-report"), cwd)


def _run(line: list[str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        line, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=300
    )


@pytest.fixture(params=sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def shipped(request: pytest.FixtureRequest) -> Path:
    """Each shipped scenario."""
    file: Path = request.param
    return file
