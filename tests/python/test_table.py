"""The selection of figures in the table, and of the capacity change."""

from pathlib import Path
from typing import Any

import pytest
import sojourn
from sojourn.record import legend, remarks, summary_table, verdicts
from sojourn.record.formatting import MISSING
from sojourn.record.summary import Summary
from support import ROOT, SMALL

STEP = '{ at = "3s", rate = "6Mbit" }'


def changed(small: Path, steps: str) -> sojourn.Run:
    small.write_text(SMALL.replace(STEP, steps))
    return sojourn.run(small, control="cubic")


def column(data: summary_table.Table, head: str) -> summary_table.Column:
    (found,) = (one for one in data.columns if one.metric.head == head)
    return found


def heads(data: summary_table.Table) -> list[str]:
    return [one.metric.head for one in data.columns]


def test_the_worst_spike_is_a_drops(small: Path) -> None:
    run = changed(small, '{ at = "2s", rate = "11Mbit" }, { at = "3s", rate = "30Mbit" }')
    data = summary_table.build(run.summary)
    drop = run.runs[0]["spikes"][0]
    assert drop["bound_s"] is not None
    assert float(column(data, "bound").cells[0].text) == pytest.approx(
        1000 * drop["bound_s"], abs=0.0051
    )
    every = summary_table.build_changes(run.summary)
    assert every is not None
    assert [cell.text for cell in column(every, "excess").cells][1] == MISSING


def test_of_many_changes_the_falls_have_rows_as_they_have_sentences(small: Path) -> None:
    rates = (11, 12, 9, 13, 8, 14)
    steps = [f'{{ at = "{2 + 0.5 * at}s", rate = "{rate}Mbit" }}' for at, rate in enumerate(rates)]
    summary = changed(small, ", ".join(steps)).summary
    *falls, rest = verdicts.of(summary)["sentences"]
    every = summary_table.build_changes(summary)
    assert every is not None
    assert every.caption.startswith(f"Of {len(rates)} changes of capacity, the {len(falls)} falls ")
    shown = list(dict.fromkeys(name.detail for name in every.names))
    assert [one.rpartition(" at ")[2] for one in shown] == ["2 s", "3 s", "4 s"]
    assert rest.startswith(f"{len(rates) - len(shown)} more changes")


def test_rises_alone_have_no_spike_columns(small: Path) -> None:
    data = summary_table.build(changed(small, '{ at = "3s", rate = "24Mbit" }').summary)
    assert "spike" not in heads(data)
    assert "util." in heads(data)


def test_response_times_are_shown_where_there_are_any() -> None:
    web = sojourn.run(ROOT / "scenarios" / "web.toml", set={"duration": "5s"})
    data = summary_table.build(web.summary)
    for head, key in (("resp. p50", "response_p50_s"), ("resp. p99", "response_p99_s")):
        cells = column(data, head).cells
        for cell, flow in zip(cells, web.runs[0]["flows"], strict=True):
            assert (cell.text == MISSING) == (flow[key] is None)  # type: ignore[literal-required]
    assert "resp. p50" not in heads(summary_table.build(sojourn.run(SMALL_SCENARIO).summary))


SMALL_SCENARIO = sojourn.Scenario.parse(SMALL)


def notes_of(summary: Summary) -> list[str]:
    return summary_table.notes(summary_table.build_all(summary), summary)


def test_notes_are_of_the_columns_that_are_shown(small: Path) -> None:
    with_drop = notes_of(changed(small, STEP).summary)
    assert len(with_drop) <= 5
    assert any(line.startswith("bound: ") for line in with_drop)
    without = notes_of(changed(small, "").summary)
    assert not any("bound" in line or "spike" in line for line in without)
    assert any(line.startswith("util.: ") for line in without)


def test_the_notes_tell_the_end_of_the_warm_up(small: Path) -> None:
    assert any("over the whole run (measure.from = 0s)" in line for line in notes_of(warm(small)))
    late = notes_of(warm(small, {"measure.from": "2s"}))
    assert any("from 2 s on (measure.from)" in line for line in late)


def warm(small: Path, changes: dict[str, str] | None = None) -> Summary:
    return sojourn.run(small, control="cubic", set=changes or {}).summary


def test_many_flows_have_one_row_a_controller() -> None:
    flow = {"path": ["neck"], "source": {"kind": "file", "size": "200kB"}, "count": 50}
    document = {
        "duration": "4s",
        "controls": ["cubic", "reno"],
        "link": {"neck": {"rate": "50Mbit", "delay": "10ms"}},
        "flow": {"down": flow},
    }
    run = sojourn.run(document)
    data = summary_table.build(run.summary)
    assert [(name.control, name.detail) for name in data.names] == [
        ("cubic", "50 flows"),
        ("reno", "50 flows"),
    ]
    done = column(data, "completion")
    times = sorted(flow["completion_s"] or 0.0 for flow in run.runs[0]["flows"])
    assert float(done.cells[0].text) == pytest.approx(1e3 * (times[24] + times[25]) / 2, rel=1e-3)
    low, high = map(float, done.cells[0].interval.split("–"))
    assert 1e3 * times[0] <= low < float(done.cells[0].text) < high <= 1e3 * times[-1]


# With a short interval, CoDel drops packets long before the end of the 100 ms loop.
DROPS = """
title = "Drops in place of delay"
duration = "8s"
host = "rfc"
controls = ["bbr"]
[link.a]
rate = { start = "60Mbit", steps = [{ at = "4s", rate = "6Mbit" }] }
queue = { kind = "codel", target = "1ms", interval = "10ms" }
[link.back]
delay = "100ms"
[flow.f]
path = ["a"]
back = ["back"]
host = { ecn = false }
"""


def test_a_negative_excess_is_explained_where_it_is_shown(tmp_path: Path) -> None:
    run = sojourn.run(sojourn.Scenario.parse(DROPS))
    (spike,) = run.runs[0]["spikes"]
    assert spike["excess_s"] is not None
    assert spike["excess_s"] < 0
    assert spike["dropped_to_peak_packets"]
    why = "because the queue dropped packets"
    assert why in (run.save(tmp_path / "out") / "report.html").read_text()


@pytest.mark.parametrize(
    ("flow_drops", "said"),
    [
        ("counted", "whose delays are estimates;"),
        # The kernel's links copied packets of several flows.
        ("estimated", "whose delays are estimates, as are the drops of each flow;"),
    ],
)
def test_estimated_drops_of_flows_are_marked(small: Path, flow_drops: str, said: str) -> None:
    run: Any = sojourn.run(small, control="cubic").summary
    late = {f"lateness_{name}_s": 1e-6 for name in ("p50", "p99", "p999", "max")}
    lost = {"overflowed_packets": 0, "refused_packets": 0}
    live = {"bottleneck": "tc", "flow_drops": flow_drops, "warning": None, **late, **lost}
    run["runs"][0]["live"] = live
    (remark,) = remarks.timing(run)
    assert said in remark


def test_each_flow_has_its_own_controller_s_name() -> None:
    run = sojourn.run(ROOT / "scenarios" / "bufferbloat.toml", set={"duration": "8s"})
    data = summary_table.build(run.summary)
    shown = [(name.control, name.detail) for name in data.names]
    assert shown == [
        *[("run cubic", ""), ("cubic", "upload"), ("", "ping"), ("cubic", "client")],
        *[("run bbr", ""), ("bbr", "upload"), ("", "ping"), ("cubic", "client")],
    ]
    assert {one.metric.subject for one in data.columns} == {"flow"}
    # Each drawn series has its own name, and none has another controller's name.
    key = legend.of(run.summary)
    names = [key.label(run, flow) for run in ("cubic", "bbr") for flow in key.flows]
    beside = ["ping beside cubic", "cubic", "bbr", "ping beside bbr", "cubic beside bbr"]
    assert names == ["cubic", *beside]
    assert set(key.colours) == set(names)
    ((rate,), *_) = run.plot().document.panels
    assert set(names) <= {layer.name for layer in rate.layers}


def test_a_flow_without_a_controller_has_none_in_a_single_run() -> None:
    run = sojourn.run(
        ROOT / "scenarios" / "bufferbloat.toml", control="bbr", set={"duration": "6s"}
    )
    data = summary_table.build(run.summary)
    assert [(name.control, name.detail) for name in data.names] == [
        *[("bbr", "upload"), ("", "ping"), ("cubic", "client")]
    ]
    assert list(legend.of(run.summary).colours) == ["bbr", "ping", "cubic"]
    # A ping has round trips in place of a rate, which would round to 0.00 Mbit/s.
    assert [cell.text == MISSING for cell in column(data, "goodput").cells] == [False, True, False]


def test_links_have_rows_of_their_own_where_flows_share_them() -> None:
    run = sojourn.run(ROOT / "scenarios" / "bbr-versions.toml", set={"duration": "5s"})
    links = summary_table.build_links(run.summary)
    assert links is not None
    assert [(name.control, name.detail) for name in links.names] == [
        *[("bbr", "bottleneck"), ("bbr3", "bottleneck")]
    ]
    assert column(links, "util.").cells[0].text != ""
    # In a single run, no controller is named beside a link.
    single = summary_table.build_links(
        sojourn.run(
            ROOT / "scenarios" / "bbr-versions.toml", control="bbr", set={"duration": "5s"}
        ).summary
    )
    assert single is not None
    assert [(name.control, name.detail) for name in single.names] == [("", "bottleneck")]


def test_flows_whose_ecn_has_no_effect_are_named(small: Path) -> None:
    scenario = sojourn.Scenario.load(ROOT / "scenarios" / "damaged-ecn.toml")
    said = summary_table.build(sojourn.run(scenario).summary).remarks
    assert "validated_bleached (prague): its ECN failed (bleached)" in "\n".join(said)
    queue = 'queue = { kind = "codel", ecn = true }'
    unmarked = "no queue marked its packets, so it responded to losses alone"
    small.write_text(SMALL.replace(queue, 'buffer = "30kB"'))
    said = summary_table.build(sojourn.run(small, control="prague").summary).remarks
    assert f"upload (prague): {unmarked}" in said
    small.write_text(SMALL)
    said = summary_table.build(sojourn.run(small, control="prague").summary).remarks
    assert unmarked not in "\n".join(said)


def test_a_threshold_within_the_grid_of_a_trace_is_named(small: Path) -> None:
    (small.parent / "cell.trace").write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    rate = 'rate = { trace = "cell.trace", spacing = "burst" }\nqueue = "dualpi2_linux"'
    small.write_text(
        f'duration = "1s"\n[link.cell]\n{rate}\n[flow.f]\ncontrol = "cubic"\npath = ["cell"]\n'
    )
    said = summary_table.build(sojourn.run(small).summary).remarks
    assert any(line.startswith("link cell: the queue's `step_thresh` of 1ms") for line in said)


def test_a_noticeable_time_without_round_trips_is_explained(small: Path) -> None:
    summary = sojourn.run(small, control="cubic").summary
    (flow,) = summary["runs"][0]["flows"]
    assert flow["rtt_missing_share"] == 0.0
    for missing, said in ((0.049, False), (0.12, True)):
        flow["rtt_missing_share"] = missing
        line = "upload (cubic): no RTT sample in 12 % of the time"
        assert (line in notes_of(summary)) is said


def test_flows_that_their_receive_window_limits_are_named(small: Path) -> None:
    """8 kB in a round trip of 20 ms are 3.2 of 12 and then 6 Mbit/s."""
    limited = {"host": {"receive_window": "8kB"}}
    run = sojourn.run(small, control="reno", set=limited)
    (flow,) = run.summary["runs"][0]["flows"]
    assert flow["rwnd_limited_s"] > 5.0
    said = "\n".join(summary_table.build(run.summary).remarks)
    assert "(reno): its receive window limited it for" in said
