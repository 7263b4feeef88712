"""Hints for optional parts name a command that works today: no package index has Sojourn."""

import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest
from sojourn import extras


def test_the_packages_of_a_part_are_named() -> None:
    command = extras.installation("worst")
    assert command.startswith("pip install 'cmaes")
    assert "sojourn" not in command


def test_the_pip_of_another_python_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would install the packages where Sojourn does not find them."""
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/pip")
    assert extras.installation_here("worst").startswith(f"{sys.executable} -m pip install 'cmaes")
    own = str(Path(sys.executable).parent / "pip")
    monkeypatch.setattr(shutil, "which", lambda _: own)
    assert extras.installation_here("worst") == extras.installation("worst")


def test_a_copy_of_the_modules_alone_names_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> list[str]:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", missing)
    assert extras.installation("worst") == "pip install 'FILE.whl[worst]'"
