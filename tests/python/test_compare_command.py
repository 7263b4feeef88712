"""The command `sojourn compare`: its output, its files, and its errors."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from made_runs import Columns, change_series, change_summary, write
from sojourn.cli import main
from support import Sojourn
from test_compare import FLOW_A, FLOW_B, LINK_A, LINK_B

TOP = {
    *(
        "version",
        "a",
        "b",
        "differences",
        "shift_b_s",
        "by_position",
        "only_in_a",
        "only_in_b",
        "not_compared",
    ),
    *("flows", "links", "format", "scenario", "runs"),
}
PAIR = {"control", "name", "seeds_a", "seeds_b", "from_s", "until_s", "interval_s", "cells"}
# Figures of whole runs, named as in the summaries.
WHOLE = {
    *("rtt_p50_s", "rtt_p99_s"),
    *("queue_delay_p50_s", "queue_delay_p99_s", "queue_delay_max_s"),
    *("response_p50_s", "response_p99_s", "completion_s", "run_goodput_bps", "run_utilisation"),
    *("run_dropped_packets", "run_marked_packets", "run_retransmitted_packets"),
}
FLOW_STEPS = {"goodput_bps", "rtt_peak_p50_s", "rtt_peak_p95_s", "rtt_peak_p99_s"}
FLOW = FLOW_STEPS | {
    *("rtt_column", "rtt_p50_s", "rtt_p99_s", "window", "run_goodput_bps"),
    *("response_p50_s", "response_p99_s", "completion_s"),
    *("run_dropped_packets", "run_marked_packets", "run_retransmitted_packets"),
}
LINK_STEPS = {
    *("queue_delay_peak_p50_s", "queue_delay_peak_p95_s"),
    *("queue_delay_peak_p99_s", "queue_delay_peak_max_s"),
    *("utilisation", "dropped_packets", "marked_packets"),
}
LINK = LINK_STEPS | {
    *("queue_delay_p50_s", "queue_delay_p99_s", "queue_delay_max_s"),
    *("run_utilisation", "run_dropped_packets", "run_marked_packets"),
}
WINDOW = {
    "cells",
    *("mean_relative_difference", "largest_difference_bytes", "largest_difference_ratio"),
    *("largest_difference_at_s", "correlation"),
}
FIGURE = {"a", "b", "difference", "ratio"}

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the run directories `one` and `two`, as the current folder."""
    write(tmp_path / "one", {("cubic", 1, "up"): FLOW_A}, {("cubic", 1, "neck"): LINK_A})
    write(tmp_path / "two", {("cubic", 1, "up"): FLOW_B}, {("cubic", 1, "neck"): LINK_B})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_json_has_its_keys_and_nothing_is_written(place: Path, capsys: Captured) -> None:
    assert main(["compare", "one", "two", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    summary = json.loads(printed.out)
    assert set(summary) == TOP
    about = {"scenario": "by hand", "version": "hand 1"}
    assert summary["a"] == {"directory": "one", "controls": ["one"], **about}
    (flow,), (link,) = summary["flows"], summary["links"]
    assert set(flow) == PAIR | FLOW
    assert set(flow["window"]) == WINDOW
    assert set(link) == PAIR | LINK
    whole = [item[key] for item in (flow, link) for key in WHOLE & set(item)]
    steps = [flow[key] for key in FLOW_STEPS] + [link[key] for key in LINK_STEPS]
    # Flows and links each have drops and marks.
    assert len(whole) == len(WHOLE) + 2
    assert all(set(figure) == FIGURE for figure in whole)
    assert all(set(figure) == FIGURE | {"cells_a", "cells_b"} for figure in steps)
    assert names(place) == ["one", "two"]


def test_the_table_shows_both_and_their_difference(place: Path, capsys: Captured) -> None:
    assert main(["compare", "one", "two", "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "A: one (by hand; hand 1)"
    assert any("Compared from 0 s to 4 s, in steps of 1 s" in line for line in lines)
    rows = [line.split() for line in lines]
    assert ["cubic", "flow", "up", "goodput", "kbit/s", "8.00", "16.00", "+8.00", "2.000"] in rows
    assert ["queue", "peak", "max", "ms", "40.0", "20.0", "-20.0", "0.500"] in rows
    assert ["util.", "%", "50.0", "80.0", "+30.0", "1.600"] in rows
    window = ["37.5", "%", "+10.0", "kB", "(+100", "%)", "1", "s", "0.789"]
    assert ["cubic", "flow", "up", *window] in rows


@pytest.mark.parametrize("columns", [60, 80])
def test_figures_stay_whole_where_there_is_little_room(
    place: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    flows = {("a-controller-of-ones-own", 1, "an-upload-with-a-name"): FLOW_A}
    for name in ("c", "d"):
        write(place / name, flows)
    assert main(["compare", "c", "d", "--plot", "x.svg"]) == 0
    _, table = capsys.readouterr().out.split("Compared from")
    table = table.split("Congestion window")[0]
    assert "…" not in table
    assert [line.split()[-1] for line in table.splitlines() if "RTT" in line] == ["1.000"] * 3


def test_what_is_written_by_itself(place: Path, capsys: Captured) -> None:
    files = ["comparison.json", "report.html"]
    for expected in ("one-vs-two", "one-vs-two-2"):
        assert main(["compare", "one", "two"]) == 0
        assert f"Comparison: runs/{expected} (open report.html)" in capsys.readouterr().out
        assert names(place / "runs" / expected) == files
    first, second = (place / "runs" / name for name in ("one-vs-two", "one-vs-two-2"))
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert main(["compare", "one", "two", "--json", "--out", "kept"]) == 0
    assert (place / "kept" / "comparison.json").read_text() == capsys.readouterr().out


def test_the_figure_has_both_runs(place: Path, capsys: Captured) -> None:
    for name in ("x.svg", "x.png", "x.pdf", "x.html"):
        assert main(["compare", "one", "two", "--plot", name]) == 0
        assert f"Figure: {name}" in capsys.readouterr().out
    assert (place / "x.png").read_bytes().startswith(b"\x89PNG\r\n")
    drawn = (place / "x.svg").read_text()
    for text in ("A: one", "B: two", "Congestion window"):
        assert text in drawn
    for text in ("Queueing delay of neck", "Round-trip time"):
        assert f"{text}, greatest in each 1 s" in drawn
    # Goodput, queueing delay, window and RTT, for the whole run and a part: one line each for A and
    # for B, and one in the legend.
    for colour in ("#949494", "#444444"):
        lines = re.findall(rf'style="fill: none; stroke: {colour}', drawn)
        assert len(lines) == 9, colour
    page = (place / "x.html").read_text()
    assert "<caption>Compared from 0 s to 4 s" in page
    for fetched in ("src=", "@import", 'rel="stylesheet"', "fetch("):
        assert fetched not in page.split('<script type="application/json"')[0]


def test_each_controller_of_both_has_rows(place: Path) -> None:
    import sojourn

    flows = {(control, 1, name): FLOW_A for control in ("bbr", "cubic") for name in ("up", "more")}
    a, b = (write(place / name, flows) for name in ("c", "d"))
    panels = [panel.title for row in sojourn.compare(a, b).plot().document.panels for panel in row]
    for title in ("bbr: Goodput", "cubic: Goodput", "bbr: Round-trip time"):
        assert any(one.startswith(title) for one in panels)
    assert not any("Queueing delay" in one for one in panels)


def test_it_opens_at_the_change(small: Path) -> None:
    """Not at the start-up, at which two controllers differ most."""
    import sojourn

    longer = {"duration": "12s"}
    a = sojourn.run(small, control="cubic", set=longer)
    b = sojourn.run(small, control="cubic", set={**longer, "link.bottleneck.buffer": "20kB"})
    at = a.runs[0]["spikes"][0]["at_s"]
    panel = sojourn.compare(a, b).plot().document.panels[0][0]
    assert panel.zoom is not None
    assert panel.zoom[0] <= at < panel.zoom[1]
    assert panel.zoom[0] > at - 1


def test_equal_capacities_are_drawn_once(place: Path) -> None:
    import sojourn

    def pale(a: str, b: str) -> set[str]:
        drawn = sojourn.compare(a, b).plot().svg
        return set(re.findall(r"stroke: (#d4d4d4|#e3e3e3|#c4c4c4)", drawn))

    assert pale("one", "one") == {"#d4d4d4"}
    assert pale("one", "two") == {"#e3e3e3", "#c4c4c4"}


def test_a_simulated_run_beside_one_that_was_measured(
    without_report: Sojourn, small: Path, place: Path
) -> None:
    times = [0.23 * step for step in range(1, 26)]
    measured: Columns = {"t_s": times, "cwnd_bytes": [30_000] * 25, "srtt_s": [0.021] * 25}
    write(place / "lab", {("cubic", 1, "upload"): measured})
    assert without_report("run", small, "--out", "sim", "--json").returncode == 0
    done = without_report("compare", "sim", "lab", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    (flow,) = summary["flows"]
    assert flow["interval_s"] == 0.23
    assert flow["rtt_column"] == "srtt_s"
    assert flow["window"]["mean_relative_difference"] > 0
    assert flow["rtt_peak_p50_s"]["b"] == 0.021
    # The other program recorded no such figures.
    assert flow["rtt_p50_s"]["a"] > 0.02
    assert flow["rtt_p50_s"]["b"] is None
    assert summary["only_in_a"]["controls"] == ["dctcp"]
    shown = without_report("compare", "sim", "lab", "--explain").stdout
    assert " srtt peak p95 " in shown
    assert "run: RTT p50" not in shown


def damage(what: str) -> Callable[[Path], object]:
    """Overwrite the middle of a file, leaving its start and its end intact."""

    def change(place: Path) -> None:
        file = place / f"{what}.parquet"
        data = bytearray(file.read_bytes())
        first = len(data) // 4
        data[first : first + 200] = bytes(200)
        file.write_bytes(data)

    return change


def drop(what: str, *columns: str) -> Callable[[Path], None]:
    return lambda place: change_series(place, what, drop=columns)


def put(what: str, *columns: pl.Expr) -> Callable[[Path], None]:
    return lambda place: change_series(place, what, *columns)


def empty(place: Path) -> None:
    file = place / "flows.parquet"
    pl.read_parquet(file).clear().write_parquet(file)


def other_runs(**changes: object) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        (run,) = json.loads((place / "summary.json").read_text())["runs"]
        kept = {key: value for key, value in {**run, **changes}.items() if value is not None}
        change_summary(place, runs=[kept])

    return change


# Damages of the second directory, and words that the message must contain.
WRONG: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "no summary": (
        lambda place: (place / "summary.json").unlink(),
        ["two: not a run directory", "summary.json", "sojourn run"],
    ),
    "no JSON": (
        lambda place: (place / "summary.json").write_text("{"),
        ["two/summary.json: not JSON", "line 1"],
    ),
    "no object": (
        lambda place: (place / "summary.json").write_text("[]"),
        ["two/summary.json", "not a JSON object"],
    ),
    "no version": (
        lambda place: change_summary(place, format=None),
        ["two/summary.json", "no `format`", '"format": 2'],
    ),
    "version of the past": (
        lambda place: change_summary(place, format=1),
        ["two/summary.json", "format 1", "reads format 2", "later"],
    ),
    "no runs": (lambda place: change_summary(place, runs=[]), ["`runs` is empty"]),
    "missing key": (
        other_runs(seed=None),
        ["runs[0]: ", "missing required field `seed`", "`sojourn columns`"],
    ),
    "seed of the wrong type": (other_runs(seed="1"), ["runs[0].seed: ", "`int`, got `str`"]),
    "flow without a name": (other_runs(flows=[{"control": "x"}]), ["runs[0].flows[0]", "`name`"]),
    "figure of the wrong type": (
        other_runs(flows=[{"name": "up", "control": "cubic", "rtt_p50_s": "5ms"}]),
        ["runs[0].flows[0].rtt_p50_s: ", "`float | null`, got `str`"],
    ),
    "no series": (lambda place: (place / "flows.parquet").unlink(), ["two", "no flows.parquet"]),
    "no Parquet": (
        lambda place: (place / "flows.parquet").write_text("t_s,cwnd\n"),
        ["two/flows.parquet: not a Parquet file", "run it again"],
    ),
    "damage in the middle": (
        damage("flows"),
        ["two/flows.parquet: not a Parquet file, or a damaged one", "run it again"],
    ),
    "missing column": (
        drop("flows", "t_s"),
        ["two/flows.parquet", "no column `t_s`", "cwnd_bytes"],
    ),
    "text for numbers": (
        put("flows", pl.col("cwnd_bytes").cast(pl.String)),
        ["two/flows.parquet", "`cwnd_bytes` holds String", "numbers"],
    ),
    "fractions for counts": (
        put("links", pl.col("dropped_packets") / 2),
        ["two/links.parquet", "`dropped_packets` holds Float64", "whole numbers"],
    ),
    "a count below zero": (
        put("flows", pl.col("delivered_bytes") - 1),
        ["`delivered_bytes` has -1", "0 or more"],
    ),
    "a count that falls": (
        put("flows", (10_000 - pl.col("delivered_bytes")).alias("delivered_bytes")),
        ["two: flows.parquet", "flow 'up'", "`delivered_bytes` falls"],
    ),
    "no time": (
        put("flows", pl.lit(None, pl.Float64).alias("t_s")),
        ["two: flows.parquet", "`t_s` has nulls"],
    ),
    "a time without end": (
        put("flows", pl.lit(float("inf")).alias("t_s")),
        ["two: flows.parquet", "`t_s` has inf", "seconds"],
    ),
    "one moment twice": (
        put("flows", pl.col("t_s").clip(1)),
        ["two: flows.parquet", "flow 'up'", "two samples at t_s = 1"],
    ),
    "rows of no run": (
        put("flows", pl.lit(9).alias("seed")),
        ["two: flows.parquet", "seed 9", "summary.json does not list"],
    ),
    "no rows": (empty, ["two: flows.parquet", "no rows", "record.interval"]),
    "another time": (
        put("flows", pl.col("t_s") + 60),
        ["no time in common", "A has 0 s to 4 s, B has 60 s to 64 s", "--shift-b"],
    ),
    "other flows": (
        other_runs(flows=[{"name": name, "control": "cubic"} for name in ("down", "more")]),
        ["no flow of one is in two", "up (cubic)", "down (cubic), more (cubic)", "--rename"],
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_directory_is_refused(place: Path, capsys: Captured, what: str) -> None:
    spoil, words = WRONG[what]
    spoil(place / "two")
    assert main(["compare", "one", "two"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("sojourn: ")
    assert printed.err.count("\n") == 1
    for word in words:
        assert word in printed.err
    assert names(place) == ["one", "two"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["one"], ["B"]),
        (["one", "nowhere"], ["nowhere", "No such file"]),
        (["one", "one/summary.json"], ["one/summary.json", "run directory"]),
        (["one", "two", "--flow", "down"], ["one has no flow `down`", "it has: up"]),
        (["one", "two", "--link", "up"], ["one has no link `up`", "it has: neck"]),
        (["one", "two", "--control", "bbr"], ["one has no controller `bbr`", "it has: cubic"]),
        (["one", "two", "--rename", "upp=x"], ["there is no flow `upp`", "did you mean `up`?"]),
        (["one", "two", "--rename", "up"], ["--rename", "'up'"]),
        (["one", "two", "--shift-b", "2s"], ["--shift-b", "2s"]),
        (["one", "two", "--shift-b", "nan"], ["shift of B is nan"]),
        (["one", "two", "--shift-b", "1e12"], ["shift of B is 1e+12", "seconds"]),
        (["one", "two", "--plot", "x.gif"], ["x.gif", ".html, .svg, .png or .pdf"]),
        (["one", "two", "--plot", "no/x.png"], ["no/x.png", "no folder no"]),
        (["one", "two", "--plot", "taken.png"], ["taken.png exists"]),
        (["one", "two", "--out", "one"], ["one exists and is not empty"]),
        (["one", "two", "--out", "x", "--plot", "x.png"], ["--plot", "--out"]),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else None,
)
def test_arguments_are_refused(
    place: Path, capsys: Captured, args: list[str], words: list[str]
) -> None:
    (place / "taken.png").write_text("precious")
    assert main(["compare", *args]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    for word in words:
        assert word in printed.err
    assert names(place) == ["one", "taken.png", "two"]
    assert (place / "taken.png").read_text() == "precious"


def test_two_runs_of_one_name_are_refused(place: Path, capsys: Captured) -> None:
    (run,) = json.loads((place / "two" / "summary.json").read_text())["runs"]
    change_summary(place / "two", runs=[run, run])
    assert main(["compare", "one", "two"]) == 2
    assert "two of its runs have control 'cubic' and seed 1" in capsys.readouterr().err
