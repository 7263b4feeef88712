"""Each study can be repeated, and its README shows the stored result."""

import re
from pathlib import Path

import measure as studies
import pytest
from support import ROOT

NAMES = studies.names()


def readme(name: str) -> str:
    return (studies.STUDIES / name / "README.md").read_text("utf-8")


def columns(tables: studies.Tables) -> dict[str, set[str]]:
    return {table: {key for row in rows for key in row} for table, rows in tables.items()}


@pytest.mark.parametrize("name", NAMES)
def test_study_runs_in_its_small_form(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = studies.load(name)
    if lacks := studies.missing(study):
        pytest.skip(f"needs {', '.join(lacks)}")
    monkeypatch.chdir(tmp_path)
    tables = study.measure(True)
    assert all(tables.values()), "a table is empty"
    assert columns(tables) == columns(studies.stored(name))
    if hasattr(study, "answer"):
        assert study.answer(tables).strip()
    if hasattr(study, "draw"):
        study.draw(tables, tmp_path)
        assert any(tmp_path.iterdir())


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


def test_nothing_of_the_product_imports_a_study() -> None:
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]
    names = re.compile(r"^\s*(?:from|import|use|include\w*!?)\b.*\bstudies\b", re.MULTILINE)
    assert [file for file in sources if names.search(file.read_text("utf-8"))] == []
