"""A run of another program may lack any optional column or key, one at a time."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from made_runs import change_series
from sojourn import _core
from sojourn.cli import main
from sojourn.record.run_directory import COLUMNS
from support import SMALL

PAGES = """
[flow.pages]
control = "cubic"
path = ["bottleneck"]
back = ["back"]
source = { kind = "request", request = "100B", sizes = "exponential", mean = "20kB" }

[flow.call]
control = "none"
path = ["bottleneck"]
back = ["back"]
source = "media"

[flow.ping]
control = "none"
path = ["bottleneck"]
back = ["back"]
source = "ping"
"""


# The tables of `summary.json` in the runs of the fixture.
TABLES = {
    *("RunSummary", "FlowSummary", "SizeClass", "MediaSummary", "LinkSummary", "SpikeSummary"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run directory with every file."""
    # The commands take a time in proportion to the rows.
    shorter = {"duration": "1500ms", "link.bottleneck.rate.steps.0.at": "750ms"}
    run = sojourn.run(SMALL + PAGES, control="cubic", set=shorter)
    return run.save(tmp_path_factory.mktemp("whole") / "run", report=())


@pytest.fixture
def part(whole: Path, tmp_path: Path) -> Path:
    """Return a copy, from which a test removes a part."""
    return Path(shutil.copytree(whole, tmp_path / "part"))


SERIES = [(what, one.name, one.required) for what, columns in COLUMNS.items() for one in columns]
KEYS = [
    (table["place"].removeprefix("summary.json: "), column["name"], column["need"] == "required")
    for table in json.loads(_core.tables())
    for column in table["columns"]
    if table["place"].startswith("summary.json: runs[]") and table["name"] in TABLES
]


def commands(whole: Path, part: Path) -> list[list[str]]:
    """Return commands that read the part."""
    compared = ["compare", str(whole), str(part), "--explain", "--plot", f"{part}/compared.html"]
    return [["report", str(part), "--no-live"], compared]


@pytest.mark.parametrize(("what", "column", "is_required"), SERIES)
def test_a_column_is_optional_or_its_lack_is_said(
    whole: Path,
    part: Path,
    capsys: pytest.CaptureFixture[str],
    what: str,
    column: str,
    is_required: bool,
) -> None:
    assert column in pl.read_parquet_schema(part / f"{what}.parquet")
    change_series(part, what, drop=[column])
    for line in commands(whole, part):
        status, output = main(line), capsys.readouterr()
        assert status == (2 if is_required else 0), output.err
        if is_required:
            assert f"it has no column `{column}`, which is required" in output.err


@pytest.mark.parametrize(("place", "key", "is_required"), KEYS)
def test_a_key_is_optional_or_its_lack_is_said(
    whole: Path,
    part: Path,
    capsys: pytest.CaptureFixture[str],
    place: str,
    key: str,
    is_required: bool,
) -> None:
    file = part / "summary.json"
    summary = json.loads(file.read_text())
    for entry in entries(summary, place):
        entry.pop(key, None)
    file.write_text(json.dumps(summary))
    for line in commands(whole, part):
        status, output = main(line), capsys.readouterr()
        assert status == (2 if is_required else 0), output.err
        if is_required:
            assert f"`{key}`" in output.err


def entries(summary: Any, place: str) -> list[Any]:
    """Return the objects at a place such as `runs[].flows[]`; the fixture has some at each."""
    found = [summary]
    for step in place.split("."):
        inner = [one[step.removesuffix("[]")] for one in found if step.removesuffix("[]") in one]
        found = [entry for one in inner for entry in (one if step.endswith("[]") else [one])]
    assert found
    return found


def test_all_optional_columns_may_be_missing_at_once(
    whole: Path, part: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for what in ("flows", "links", "transfers", "frames"):
        change_series(
            part, what, drop=[own for of, own, needed in SERIES if of == what and not needed]
        )
    for line in commands(whole, part):
        assert main(line) == 0, capsys.readouterr().err


def test_all_optional_keys_may_be_null_at_once(
    whole: Path, part: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = part / "summary.json"
    summary = json.loads(file.read_text())
    for place, key, is_required in reversed(KEYS):
        if not is_required:
            for entry in entries(summary, place):
                entry[key] = None
    file.write_text(json.dumps(summary))
    for line in commands(whole, part):
        assert main(line) == 0, capsys.readouterr().err
    assert sojourn.load(part).table("sizes").height == 0
    assert sojourn.load(part).table("media").height == 0
