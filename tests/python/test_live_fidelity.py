"""The measured figures of live runs in docs/fidelity.md and docs/live.md."""

import json
import runpy

from support import ROOT


def test_the_tables_of_live_runs_have_the_values_of_their_json() -> None:
    tables = runpy.run_path(str(ROOT / "benches" / "live_tables.py"))
    rows = json.loads((ROOT / "docs" / "live-fidelity.json").read_text())
    page = (ROOT / "docs" / "fidelity.md").read_text()
    assert page.count(tables["BEGIN"]) == 1
    assert page == tables["replaced"](page, tables["tables"](rows))


def test_the_table_of_speed_has_the_values_of_its_json() -> None:
    speed = runpy.run_path(str(ROOT / "benches" / "live.py"))
    found = json.loads((ROOT / "benches" / "live.json").read_text())
    assert speed["table"](found) in (ROOT / "docs" / "live.md").read_text()
