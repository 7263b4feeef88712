"""Each study can be repeated, and its README shows the stored result."""

import json
import re
from pathlib import Path

import measure as studies
import pytest
import sojourn
from sojourn.sweep import tables
from support import REFUSALS, ROOT, leave_out_live

NAMES = studies.names()


def readme(name: str) -> str:
    return (studies.STUDIES / name / "README.md").read_text("utf-8")


def columns(tables: studies.Tables) -> dict[str, set[str]]:
    return {table: {key for row in rows for key in row} for table, rows in tables.items()}


def kinds(tables: studies.Tables) -> set[tuple[str, frozenset[str]]]:
    """Return the tables with the columns of each kind of row."""
    return {(table, frozenset(row)) for table, rows in tables.items() for row in rows}


def nulls(tables: studies.Tables, null: str) -> set[str]:
    """Return the columns with a null cell, or all of whose cells are null, as `table.column`."""
    by_column: dict[str, list[bool]] = {}
    for table, rows in tables.items():
        for row in rows:
            for key, cell in row.items():
                by_column.setdefault(f"{table}.{key}", []).append(cell is None)
    return {column for column, cells in by_column.items() if (any if null == "any" else all)(cells)}


def pictures(folder: Path) -> set[str]:
    """Return the names of the pictures in a folder."""
    return {file.name for file in folder.iterdir() if file.suffix in (".svg", ".png")}


# test_reference.py measures this one, and has more to say about it.
@pytest.mark.parametrize("name", sorted({*NAMES} - {"reference"}))
def test_study_runs_in_its_small_form(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_small_form(name, tmp_path, monkeypatch)


def require_small_form(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> studies.Tables:
    """Measure the small form of a study, which has the shape of the stored result; return it."""
    study = studies.load(name)
    if lacks := studies.missing(study):
        pytest.skip(f"needs {', '.join(lacks)}")
    monkeypatch.chdir(tmp_path)
    try:
        tables: studies.Tables = study.measure(True)
    except sojourn.LiveError as error:
        # Root may lack rights here, such as in a container.
        if REFUSALS.search(str(error)):
            leave_out_live(error)
        raise
    stored = studies.stored(name)
    assert all(tables.values()), "a table is empty"
    assert columns(tables) == columns(stored)
    assert kinds(tables) <= kinds(stored), "a row has other columns"
    empty = nulls(tables, "all") - nulls(stored, "any")
    assert empty <= set(getattr(study, "NULL_WHEN_SMALL", ())), "columns without a value"
    if hasattr(study, "answer"):
        assert study.answer(tables).strip()
    if hasattr(study, "draw"):
        study.draw(tables, tmp_path)
    assert pictures(tmp_path) == pictures(studies.STUDIES / name)
    return tables


@pytest.mark.parametrize("name", NAMES)
def test_readme_shows_the_stored_result(name: str) -> None:
    """`make study` writes both; neither is edited by hand."""
    study = studies.load(name)
    if hasattr(study, "answer"):
        text = readme(name)
        assert studies.shown(text, study.answer(studies.stored(name))) == text


@pytest.mark.parametrize("name", NAMES)
def test_study_is_short_and_named(name: str) -> None:
    study = studies.load(name)
    assert (study.__doc__ or "").partition("\n")[0].endswith("?"), "the first line is the question"
    assert study.MINUTES > 0
    rows = re.findall(r"(?:^\|.*\n)+", readme(name), re.MULTILINE)
    assert all(table.count("\n") <= 15 + 2 for table in rows), "a larger table is data"
    index = (studies.STUDIES / "README.md").read_text("utf-8")
    assert f"]({name}/README.md)" in index


def test_cases_of_the_draft_name_tests() -> None:
    """The outcomes in `draft-cases.json` are those of these tests."""
    cases = json.loads((studies.STUDIES / "bbr3" / "draft-cases.json").read_text("utf-8"))
    places = (ROOT / "crates" / "transport" / "tests" / "it" / "bbr3").rglob("*.rs")
    tests = {
        name
        for file in places
        for name in re.findall(r"#\[test\]\s+fn (\w+)", file.read_text("utf-8"))
    }
    named = [name for case in cases["draft_cases"] for name in case["tests"]]
    assert all(case["tests"] for case in cases["draft_cases"])
    assert set(named) <= tests, set(named) - tests


def test_nothing_of_the_product_imports_a_study() -> None:
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]
    names = re.compile(r"^\s*(?:from|import|use|include\w*!?)\b.*\bstudies\b", re.MULTILINE)
    assert [file for file in sources if names.search(file.read_text("utf-8"))] == []


DATASETS = sorted(file.parent for file in studies.STUDIES.rglob("sweep.json"))


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda one: one.parent.name)
def test_stored_datasets_can_be_read(dataset: Path) -> None:
    found = sojourn.Dataset(dataset)
    for name in ("runs", "flows", "links", "spikes"):
        # It raises an error for a file without a column of today.
        assert set(tables.columns(name)) <= {*found.table(name).columns, "control", "flow_control"}
    assert found.points.height == found.runs.height == found.about["runs"]
