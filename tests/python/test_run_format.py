"""The format of a run directory, as written, as read, and as documented."""

import json
import re
from pathlib import Path
from typing import get_type_hints

import polars as pl
import pytest
import sojourn
from made_runs import change_summary, write
from sojourn import run_directory
from sojourn.comparison.summary import Compared, ComparisonSummary, FlowComparison
from sojourn.run_directory import File
from support import ROOT
from test_compare import FLOW_A, LINK_A

DOCUMENT = (ROOT / "docs" / "run-directory.md").read_text("utf-8")
_ROW = re.compile(r"^\| (`.*?`) \|(.*)\|$", re.MULTILINE)


def rows(heading: str) -> list[tuple[str, list[str]]]:
    """Return the first table below this heading: the name in each row and its other cells."""
    table = DOCUMENT.split(heading, 1)[1].split("|---|", 1)[1].split("\n\n", 1)[0]
    return [
        (name, [cell.strip() for cell in match[2].split("|")])
        for match in _ROW.finditer(table)
        for name in re.findall(r"`(\w+)`", match[1])
    ]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support import SMALL

    place = tmp_path_factory.mktemp("format")
    # First a flow whose transfers arrive at random, which has all keys.
    source = '{ kind = "poisson", load = "1Mbit", sizes = "fixed", mean = "10kB" }'
    web = f'[flow.web]\npath = ["bottleneck"]\nback = ["back"]\nsource = {source}\n'
    (place / "small.toml").write_text(SMALL.replace("[flow.upload]", f"{web}[flow.upload]"))
    run = sojourn.run(place / "small.toml", runs=2, spread="1s")
    return run.save(place / "run", report=())


@pytest.mark.parametrize("what", ["flows", "links", "transfers"])
def test_the_document_has_every_column(directory: Path, what: File) -> None:
    kinds = {"text": pl.String, "count": pl.UInt64, "number": pl.Float64}
    listed = rows(f"### `{what}.parquet`")
    written = pl.read_parquet_schema(directory / f"{what}.parquet")
    assert {name: kinds[cells[0]] for name, cells in listed} == dict(written)
    assert {name: (cells[0], cells[1] == "yes") for name, cells in listed} == {
        column.name: (column.kind, column.required) for column in run_directory.COLUMNS[what]
    }


@pytest.mark.parametrize(
    ("heading", "key"),
    [("Each of `flows`:", "flows"), ("Each of `links`:", "links"), ("Each of `spikes`", "spikes")],
)
def test_the_document_has_every_key_of_the_summary(directory: Path, heading: str, key: str) -> None:
    run = json.loads((directory / "summary.json").read_text())["runs"][0]
    listed = rows(heading)
    assert {name for name, _ in listed} == set(run[key][0])
    required = tuple(name for name, cells in listed if cells[0] == "yes")
    assert required == run_directory.ENTRIES[key][0]


def test_the_document_has_every_key_of_a_size_class(directory: Path) -> None:
    run = json.loads((directory / "summary.json").read_text())["runs"][0]
    listed = rows("Each of `transfers_by_size`")
    assert {name for name, _ in listed} == set(run["flows"][0]["transfers_by_size"][0])
    # Runs of earlier versions have no slowdowns.
    assert {name for name, cells in listed if cells[0] != "yes"} == {
        name for name, _ in listed if name.startswith("slowdown")
    }


def test_the_document_has_the_upper_keys(directory: Path) -> None:
    summary = json.loads((directory / "summary.json").read_text())
    # This run has no controllers of the user's own and no trace, is neither live nor a transfer.
    for heading, keys, written, absent in (
        ("A JSON object", run_directory.SUMMARY_KEYS, summary, {"controllers", "unavoidable"}),
        ("Each of `runs`:", run_directory.RUN_KEYS, summary["runs"][0], {"live", "transfer"}),
    ):
        listed = rows(heading)
        assert {name for name, _ in listed} == {*written, *absent}
        assert tuple(name for name, cells in listed if cells[0] == "yes") == keys


def test_the_document_has_every_key_of_a_comparison() -> None:
    described = DOCUMENT.split("## How two are compared", 1)[1]
    for form in (ComparisonSummary, Compared, FlowComparison):
        # Names of figures contain the column's name, with a percentile or `_max`.
        keys = {key for key in get_type_hints(form) if not re.match("rtt_p|goodput", key)}
        assert keys <= set(re.findall(r"`(\w+)`", described))


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
