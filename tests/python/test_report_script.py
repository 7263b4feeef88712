"""The tracked script and style of reports are those of their source."""

import shutil
import subprocess
from pathlib import Path

import pytest
from sojourn.picture.page import FOLDER
from support import ROOT

PARTS = ("report.js", "report.css")


def test_they_are_built_from_their_source(tmp_path: Path) -> None:
    """A clone draws reports without node; this keeps its script from falling behind."""
    node = shutil.which("node")
    if node is None or not (ROOT / "web" / "node_modules" / "esbuild").is_dir():
        pytest.skip("node or its packages are missing; `web/install` installs them")
    subprocess.run([node, "report.mjs", tmp_path], cwd=ROOT / "web", check=True, timeout=120)
    for name in PARTS:
        tracked = FOLDER / name
        assert (tmp_path / name).read_bytes() == tracked.read_bytes(), "run `npm run report` in web"


def test_they_are_small() -> None:
    assert sum((FOLDER / name).stat().st_size for name in PARTS) <= 300_000
