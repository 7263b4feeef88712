"""The measured figures of live runs in docs/fidelity.md and docs/live.md."""

import json
import runpy

import pytest
from support import ROOT

BENCHES = ROOT / "benches"


def test_every_cell_of_the_matrix_is_published() -> None:
    matrix = runpy.run_path(str(BENCHES / "live_matrix.py"))
    cells = [matrix["empty_row"](cell) for cell in matrix["cells"]()]
    rows = json.loads((ROOT / "docs" / "live-fidelity.json").read_text())
    assert [{key: row[key] for key in cells[0]} for row in rows] == cells


def test_a_matrix_with_missing_cells_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    fidelity = runpy.run_path(str(BENCHES / "live_fidelity.py"))
    published = fidelity["published"]()
    assert len(fidelity["rows_of"]({}, {}, published)) == len(published)
    name, _ = published.popitem()
    with pytest.raises(SystemExit, match=f"1 cells lack .* such as {name}"):
        fidelity["rows_of"]({}, {}, published)


def test_the_tables_of_live_runs_have_the_values_of_their_json() -> None:
    tables = runpy.run_path(str(BENCHES / "live_tables.py"))
    rows = json.loads((ROOT / "docs" / "live-fidelity.json").read_text())
    page = (ROOT / "docs" / "fidelity.md").read_text()
    assert page.count(tables["BEGIN"]) == 1
    assert page == tables["replaced"](page, tables["tables"](rows))


def test_the_tables_of_speed_have_the_values_of_their_json() -> None:
    speed = runpy.run_path(str(BENCHES / "live.py"))
    found = json.loads((BENCHES / "live.json").read_text())
    page = (ROOT / "docs" / "live.md").read_text()
    assert set(found) == set(speed["PARTS"])
    for name, (_, table) in speed["PARTS"].items():
        assert speed["marked"](page, name)[1] == table(found[name]), name
