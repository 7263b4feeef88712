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


def test_the_tables_of_speed_have_the_values_of_their_json() -> None:
    speed = runpy.run_path(str(ROOT / "benches" / "live.py"))
    found = json.loads((ROOT / "benches" / "live.json").read_text())
    page = (ROOT / "docs" / "live.md").read_text()
    assert set(found) == set(speed["PARTS"])
    for name, (_, table) in speed["PARTS"].items():
        assert speed["marked"](page, name)[1] == table(found[name]), name
