"""Queues and controllers decide as the deployed code did, beside its stored outputs."""

from pathlib import Path
from typing import Any

import measure as studies
import pytest
from test_studies import require_small_form

# Rounding in the last of six digits.
ROUNDING = 2e-6


def test_decisions_differ_no_more_than_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[dict[str, Any]] = require_small_form("reference", tmp_path, monkeypatch)["inputs"]
    stored: dict[tuple[Any, Any], dict[str, Any]] = {
        (row["pair"], row["input"]): row for row in studies.stored("reference")["inputs"]
    }
    assert {(row["pair"], row["input"]) for row in found} == set(stored)
    regressed = []
    for row in found:
        allowed = stored[row["pair"], row["input"]]
        greater = [
            name
            for name, value in row["few_medians"].items()
            if value > allowed["few_medians"][name] + ROUNDING
        ]
        if row["few_difference"] > allowed["few_difference"] + ROUNDING:
            greater.append("few_difference")
        if row["few_equal_rows"] < allowed["few_equal_rows"] or greater:
            regressed.append((row, greater))
    assert regressed == []
