"""Which figures the table shows, and of which change."""

from pathlib import Path

import pytest
import sojourn
from sojourn import table
from support import ROOT, SMALL

STEP = '{ at = "3s", rate = "6Mbit" }'


def changed(small: Path, steps: str) -> sojourn.Run:
    small.write_text(SMALL.replace(STEP, steps))
    return sojourn.run(small, control="cubic")


def column(data: table.Table, head: str) -> table.Column:
    (found,) = (one for one in data.columns if one.metric.head == head)
    return found


def heads(data: table.Table) -> list[str]:
    return [one.metric.head for one in data.columns]


def test_excess_is_over_the_bound_beside_it(small: Path) -> None:
    # A flow that has hardly begun has not carried what the link could.
    small.write_text(SMALL + 'start = "2800ms"\n')
    run = sojourn.run(small)
    data = table.build(run.summary)
    assert "bound corr." in heads(data)
    for row, one in enumerate(run.runs):
        excess = one["spikes"][0]["excess_corrected_s"]
        assert excess is not None
        shown = float(column(data, "excess").cells[row].text)
        # Shown to a tenth of a millisecond at least.
        assert shown == pytest.approx(1000 * excess, abs=0.051)


def test_the_worst_spike_is_a_drops(small: Path) -> None:
    run = changed(small, '{ at = "2s", rate = "11Mbit" }, { at = "3s", rate = "30Mbit" }')
    data = table.build(run.summary)
    drop = run.runs[0]["spikes"][0]
    assert drop["bound_s"] is not None
    assert float(column(data, "bound").cells[0].text) == pytest.approx(
        1000 * drop["bound_s"], abs=0.0051
    )
    every = table.build_changes(run.summary)
    assert every is not None
    assert [cell.text for cell in column(every, "excess").cells][1] == table.MISSING


def test_rises_alone_have_no_spike_columns(small: Path) -> None:
    data = table.build(changed(small, '{ at = "3s", rate = "24Mbit" }').summary)
    assert "spike" not in heads(data)
    assert "util." in heads(data)


def test_response_times_are_shown_where_there_are_any() -> None:
    web = sojourn.run(ROOT / "scenarios" / "web.toml", set={"duration": "5s"})
    data = table.build(web.summary)
    for head, key in (("resp. p50", "response_p50_s"), ("resp. p99", "response_p99_s")):
        cells = column(data, head).cells
        for cell, flow in zip(cells, web.runs[0]["flows"], strict=True):
            assert (cell.text == table.MISSING) == (flow[key] is None)  # type: ignore[literal-required]
    assert "resp. p50" not in heads(table.build(sojourn.run(SMALL_SCENARIO).summary))


SMALL_SCENARIO = sojourn.Scenario.parse(SMALL)


def test_notes_are_of_the_columns_that_are_shown(small: Path) -> None:
    with_drop = table.notes(table.build_all(changed(small, STEP).summary))
    assert len(with_drop) <= 5
    assert any(line.startswith("bound: ") for line in with_drop)
    without = table.notes(table.build_all(changed(small, "").summary))
    assert not any("bound" in line or "spike" in line for line in without)
    assert any(line.startswith("util.: ") for line in without)
