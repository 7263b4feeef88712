"""The format of a run directory, as written, as read, and as documented."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, is_typeddict

import polars as pl
import pytest
import sojourn
from made_runs import change_summary, write
from sojourn.record import columns, run_directory, summary
from sojourn.record.comparison import summary as comparison
from sojourn.record.run_directory import File
from support import SMALL, Sojourn, environment
from test_compare import FLOW_A, LINK_A

# Keys of a run that a simulation does not have.
ELSEWHERE = {"live", "series", "transfer", "closed", "ecn_failure", "rwnd_limited_s", "warning"}
MEDIA = """
[flow.web]
path   = ["bottleneck"]
back   = ["back"]
source = { kind = "poisson", load = "1Mbit", sizes = "fixed", mean = "10kB" }

[flow.video]
path    = ["bottleneck"]
back    = ["back"]
control = "scream"
source  = { kind = "media", max_rate = "1Mbit" }

[link.cell]
rate = { trace = "cell.txt" }

[flow.phone]
path   = ["cell"]
back   = ["back"]
"""
OWN = """\
import sojourn

class Mine:
    def __init__(self, setup):
        pass
    def on_feedback(self, now_ns, feedback):
        pass
    def limits(self):
        return sojourn.Limits(cwnd_bytes=30_000)
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run that has every table of a simulation."""
    place = tmp_path_factory.mktemp("format")
    (place / "small.toml").write_text(f"{SMALL}{MEDIA}")
    (place / "cell.txt").write_text("".join(f"{at}\n" for at in range(1, 1000, 2)))
    (place / "own.py").write_text(OWN)
    line = [sys.executable, "-m", "sojourn", "run", "small.toml", "--runs", "2", "--spread", "1s"]
    line += [
        "--control",
        "cubic,mine",
        "--controller",
        "own.py:Mine",
        "--no-report",
        "--out",
        "run",
    ]
    subprocess.run(line, cwd=place, env=environment(), check=True, capture_output=True)
    return place / "run"


@pytest.mark.parametrize("what", get_args(File))
def test_a_run_has_the_columns_of_the_reference(directory: Path, what: File) -> None:
    kinds = {"text": pl.String, "count": pl.UInt64, "number": pl.Float64}
    (table,) = columns.named(what)
    written = pl.read_parquet_schema(directory / f"{what}.parquet")
    assert {key.name: kinds[key.kind] for key in table.keys} == dict(written)


def objects(found: Any, place: str) -> list[dict[str, Any]]:
    """Return the objects at a place such as `runs[].flows[]`."""
    for step in filter(None, place.split(".")):
        held = found if isinstance(found, list) else [found]
        inner = [one[step.removesuffix("[]")] for one in held if step.removesuffix("[]") in one]
        found = [part for one in inner for part in one] if step.endswith("[]") else inner
    return found if isinstance(found, list) else [found]


def keys(table: columns.Table) -> set[str]:
    return {key.name for key in table.keys}


def tables(file: str) -> dict[str, columns.Table]:
    """Return the tables of a file by their places in it."""
    return {table.place.partition(": ")[2]: table for table in columns.named(file)}


@pytest.mark.parametrize("place", [place for place in tables("summary") if " " not in place])
def test_a_summary_has_the_keys_of_the_reference(directory: Path, place: str) -> None:
    table = tables("summary")[place]
    found = objects(json.loads((directory / "summary.json").read_text()), place)
    for one in found:
        assert {key.name for key in table.keys if key.required} <= set(one) <= keys(table)
    absent = keys(table) - {key for one in found for key in one}
    assert absent <= ELSEWHERE or ELSEWHERE & set(place.replace(".", " ").split())


def test_a_comparison_has_the_keys_of_the_reference(directory: Path) -> None:
    compared = json.loads(json.dumps(sojourn.compare(directory, directory).summary))
    described = tables("comparison")
    for place in ("flows[]", "links[]"):
        assert all(set(one) == keys(described[place]) for one in objects(compared, place))
    windows = [one["window"] for one in objects(compared, "flows[]") if one["window"]]
    assert windows
    assert all(set(one) == keys(described["flows[].window"]) for one in windows)
    assert set(compared) - keys(described[""]) == keys(tables("summary")[""]) - {"controllers"}


def test_every_type_of_the_format_is_in_the_reference() -> None:
    listed = {row for _, row in columns.ROWS}
    for module in (summary, comparison):
        for name, row in vars(module).items():
            if is_typeddict(row) and not name.startswith("_") and row.__module__ == module.__name__:
                assert row in listed or name == "PairComparison", name


def test_a_column_is_explained_by_its_name(sojourn: Sojourn) -> None:
    assert "peak queueing delay" in sojourn("columns", "spike_s").stdout
    assert "congestion window at that time" in sojourn("columns", "flows").stdout
    assert "did you mean `spike_s`?" in sojourn("columns", "spike_ms").stderr
    listed = json.loads(sojourn("columns", "--json").stdout)
    assert listed[0]["place"] == "flows.parquet"


def test_own_columns_are_read_as_they_are(directory: Path) -> None:
    run = sojourn.load(directory)
    assert run.flows.equals(pl.read_parquet(directory / "flows.parquet"))
    assert run.links.equals(pl.read_parquet(directory / "links.parquet"))


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    """A directory with only the required content."""
    return write(tmp_path / "lab", {("cubic", 1, "up"): {"t_s": [1, 2, 3]}})


def test_the_least_is_read_with_nulls_for_the_rest(minimal: Path) -> None:
    run = sojourn.load(minimal)
    assert (run.title, run.scenario) == ("by hand", "")
    assert run.flow("up").summary["rtt_p50_s"] is None
    assert run.runs[0]["spikes"] == []
    assert run.flow("up").series["t_s"].to_list() == [1.0, 2.0, 3.0]
    assert run.flow("up").series["cwnd_bytes"].null_count() == 3
    assert run.links.is_empty()
    assert run.links.columns == [column.name for column in run_directory.COLUMNS["links"]]


def test_the_least_has_a_report_and_is_written_again(minimal: Path, tmp_path: Path) -> None:
    run = sojourn.load(minimal)
    assert "by hand" in run.plot().svg
    assert "Queueing delay" not in run.plot().svg
    again = sojourn.load(run.save(tmp_path / "again", report=()))
    assert again.summary == run.summary
    assert again.flows.equals(run.flows)


def test_other_files_keys_and_columns_are_let_be(minimal: Path) -> None:
    (minimal / "notes.txt").write_text("a rainy day")
    change_summary(minimal, weather="rain")
    file = minimal / "flows.parquet"
    pl.read_parquet(file).with_columns(pl.lit("wet").alias("cable")).write_parquet(file)
    run = sojourn.load(minimal)
    assert "cable" in run.flows.columns
    assert run.summary["weather"] == "rain"  # type: ignore[typeddict-item]


def test_a_figure_of_another_writer_may_have_changes_of_capacity(tmp_path: Path) -> None:
    place = write(tmp_path / "lab", {("cubic", 1, "up"): FLOW_A}, {("cubic", 1, "neck"): LINK_A})
    (run,) = json.loads((place / "summary.json").read_text())["runs"]
    spike = {"link": "neck", "at_s": 2, "from_bps": 8e6, "to_bps": 4e6}
    change_summary(place, runs=[{**run, "spikes": [spike]}])
    loaded = sojourn.load(place)
    assert "8 Mbit/s → 4 Mbit/s at 2 s" in loaded.plot().svg
    assert "spike" in loaded._repr_html_()
    comparison = sojourn.compare(place, place)
    assert "Queueing delay of neck" in comparison.plot().svg


def test_an_unknown_version_is_refused_from_python(minimal: Path) -> None:
    change_summary(minimal, format=99)
    with pytest.raises(sojourn.RunDirectoryError, match="format 99, and this Sojourn reads"):
        sojourn.load(minimal)
    assert issubclass(sojourn.RunDirectoryError, ValueError)
