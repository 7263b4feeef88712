"""Fixtures: a small scenario, the shipped ones, and the command as users run it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support import ROOT, SMALL, Sojourn, command, environment

# A slow machine is not a failure; benchmarks measure speed.
settings.register_profile("sojourn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sojourn")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file for one test."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def sojourn(tmp_path: Path) -> Sojourn:
    """Run the command in an empty folder, without a terminal or colours."""

    def run(*args: str | Path, cwd: Path = tmp_path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command(*args), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=300
        )

    return run


@pytest.fixture(params=sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def shipped(request: pytest.FixtureRequest) -> Path:
    """Each shipped scenario."""
    file: Path = request.param
    return file
