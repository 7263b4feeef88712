"""Queues and controllers decide as the deployed code did, beside its stored outputs."""

import measure as studies
import pytest


def test_equal_decisions_stay_equal() -> None:
    study = studies.load("reference")
    if lacks := studies.missing(study):
        pytest.skip(f"needs {', '.join(lacks)}")
    equal = {
        (row["pair"], row["input"])
        for row in studies.stored("reference")["inputs"]
        if row["equal_rows"] == row["rows"]
    }
    differing = [
        row
        for row in study.measure(True)["inputs"]
        if row["equal_rows"] != row["rows"] and (row["pair"], row["input"]) in equal
    ]
    assert differing == []
