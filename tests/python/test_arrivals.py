"""Flows whose transfers arrive at random: their figures, their frames, and their files."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from sojourn.record.summary_table import build_all
from support import Sojourn as Command

SCENARIO = """\
duration = "10s"
controls = ["cubic", "reno"]

[link.bottleneck]
rate  = "20Mbit"
delay = "5ms"

[link.back]
delay = "5ms"

[flow.web]
path   = ["bottleneck"]
back   = ["back"]
source = { kind = "poisson", load = "8Mbit", sizes = "file", file = "mine.sizes" }

[flow.bulk]
path   = ["bottleneck"]
back   = ["back"]
"""
SIZES = "# bytes, share\n5000 0.5\n200000 1\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arrivals")
    (folder / "mine.sizes").write_text(SIZES)
    scenario = folder / "web.toml"
    scenario.write_text(SCENARIO)
    return scenario


@pytest.fixture(scope="module")
def run(file: Path) -> sojourn.Run:
    return sojourn.run(file, runs=2)


def web(run: sojourn.Run, number: int) -> list[Any]:
    return list(run.runs[number]["flows"][0]["transfers_by_size"])


def test_the_figures_are_those_of_the_transfers(run: sojourn.Run) -> None:
    for number, one in enumerate(run.runs):
        mine = run.transfers.filter(control=one["control"], seed=one["seed"], flow="web")
        everything, *classes = web(run, number)
        assert everything["started_transfers"] == len(mine) > 30
        assert everything["completed_transfers"] == mine["completion_s"].count()
        times = mine["completion_s"].drop_nulls().sort()
        middle = times[(len(times) + 1) // 2 - 1]
        assert everything["completion_p50_s"] == pytest.approx(middle)
        assert everything["completion_mean_s"] == pytest.approx(times.mean())
        assert [size["to_bytes"] for size in classes] == [100_000, 10_000_000]
        assert mine["slowdown"].min() >= 1  # type: ignore[operator]
        assert everything["slowdown_mean"] == pytest.approx(mine["slowdown"].mean())
        small = mine.filter(pl.col("size_bytes") <= 100_000)
        assert classes[0]["started_transfers"] == len(small)


def test_sizes_follow_the_file(run: sojourn.Run) -> None:
    sizes = run.transfers["size_bytes"]
    assert sizes.min() == 5000
    assert sizes.max() < 200_000  # type: ignore[operator]
    # Half have one size; at least 100 transfers have a standard deviation below 5 %.
    assert 0.3 < (sizes == 5000).mean() < 0.7  # type: ignore[operator]


def test_controllers_meet_the_same_arrivals_and_seeds_others(run: sojourn.Run) -> None:
    of = run.transfers.partition_by("control", "seed", as_dict=True)
    arrivals = {key: part.select("start_s", "size_bytes") for key, part in of.items()}
    assert arrivals["cubic", 1].equals(arrivals["reno", 1])
    assert not arrivals["cubic", 1].equals(arrivals["cubic", 2])


def test_the_series_has_one_row_a_sample(run: sojourn.Run) -> None:
    series = run.flow("web", control="cubic", seed=1).series
    assert len(series) == len(run.flow("bulk", control="cubic", seed=1).series)
    delivered = series["delivered_bytes"]
    assert delivered.is_sorted()
    mine = run.transfers.filter(control="cubic", seed=1)
    complete = mine.filter(pl.col("completion_s").is_not_null())["size_bytes"].sum()
    assert complete <= delivered[-1] <= mine["size_bytes"].sum()


def test_medians_keep_the_classes(run: sojourn.Run) -> None:
    (flow,) = (one for one in run.summary["medians"][0]["flows"] if one["name"] == "web")
    everything = flow["transfers_by_size"][0]
    assert (everything["from_bytes"], everything["to_bytes"]) == (0, None)
    assert everything["completion_p50_s"]["n"] == 2


def test_a_run_directory_keeps_them(run: sojourn.Run, tmp_path: Path) -> None:
    place = run.save(tmp_path / "run", report=[], csv=True)
    assert (place / "web-mine.sizes").read_text() == SIZES
    again = sojourn.load(place)
    assert again.transfers.equals(run.transfers)
    assert again.table("sizes").equals(run.table("sizes"))
    assert sojourn.run(place / "scenario.toml", runs=2).transfers.equals(run.transfers)
    names = {"flows", "links", "transfers", "figures"}
    assert {file.stem for file in place.glob("*.csv")} == names
    assert len(pl.read_csv(place / "transfers.csv")) == len(run.transfers)
    assert pl.read_csv(place / "figures.csv").columns == run.table().columns


def test_other_flows_have_no_classes(run: sojourn.Run) -> None:
    assert "transfers_by_size" not in run.runs[0]["flows"][1]
    assert set(run.table("sizes")["flow"]) == {"web"}


def test_the_command_shows_completion_times(sojourn: Command, file: Path) -> None:
    done = sojourn("run", file, "--control", "cubic", "--no-report", "--csv")
    assert done.returncode == 0, done.stderr
    assert "Completion times by size" in done.stdout
    assert "web: up to 100 kB" in done.stdout
    # A figure without a link to the mean of the distribution would be lost on the reader.
    assert "done" in done.stdout


def test_completion_times_are_drawn_by_size(run: sojourn.Run) -> None:
    drawn = run.plot().svg
    for text in ("Completion time by size (ms)", "Slowdown", "up to 100 kB", "100 kB to 10 MB"):
        assert text in drawn


def test_few_transfers_have_no_percentiles(file: Path) -> None:
    sets = {"flow.web.source.load": "1Mbit", "duration": "5s"}
    few = sojourn.run(file, control="cubic", set=sets)
    (table,) = (one for one in build_all(few.summary) if one.caption.startswith("Completion"))
    cells = {column.metric.key: column.cells[0].text for column in table.columns}
    assert 0 < int(cells["completed_transfers"]) < 20
    assert (cells["completion_p50_s"], cells["slowdown_p99"]) == ("–", "–")
    assert cells["completion_mean_s"] != "–"


def test_fewer_than_a_hundred_transfers_have_no_99th_percentile(file: Path) -> None:
    sizes = {"kind": "files", "count": 30, "sizes": "fixed", "mean": "10kB"}
    few = sojourn.run(file, control="cubic", set={"flow.bulk.source": sizes})
    (table,) = (one for one in build_all(few.summary) if one.caption.startswith("Completion"))
    row = [name.detail for name in table.names].index("bulk: all")
    cells = {column.metric.key: column.cells[row].text for column in table.columns}
    assert cells["completed_transfers"] == "30"
    assert cells["completion_p95_s"] != "–"
    assert (cells["completion_p99_s"], cells["slowdown_p99"]) == ("–", "–")


def test_files_draw_their_sizes_and_one_file_does_not(file: Path) -> None:
    sizes = {"kind": "files", "count": 30, "sizes": "exponential", "mean": "10kB"}
    run = sojourn.run(file, control="cubic", set={"flow.bulk.source": sizes})
    of_files = run.runs[0]["flows"][1]
    assert of_files["transfers_by_size"][0]["completed_transfers"] == 30
    assert run.transfers.filter(flow="bulk")["size_bytes"].n_unique() > 20
    for source, fault in (
        ({"kind": "file", "sizes": "web-search"}, "`file` has no key `sizes`"),
        ({**sizes, "size": "1kB"}, "`sizes` cannot be combined with `size`"),
        ({"kind": "files", "count": 3}, "neither `size` nor `sizes`"),
    ):
        with pytest.raises(sojourn.ScenarioError, match=fault):
            sojourn.run(file, control="cubic", set={"flow.bulk.source": source})


def test_json_has_the_classes(sojourn: Command, file: Path) -> None:
    done = sojourn("run", file, "--control", "cubic", "--json")
    flows = json.loads(done.stdout)["runs"][0]["flows"]
    assert [one["to_bytes"] for one in flows[0]["transfers_by_size"]] == [None, 100_000, 10_000_000]


def test_a_live_run_refuses_them(sojourn: Command, file: Path) -> None:
    done = sojourn("live", file, "--control", "cubic")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "flow `web`" in line or "needs Linux" in line or "namespace" in line
