"""Runs that several batches of a dataset have, and runs of the user's own controllers."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
import sojourn
from polars.testing import assert_frame_equal
from sojourn.cli import main
from sojourn.errors import UsageError
from sojourn.sweep import controllers, stored
from sojourn.sweep.batch import Batch, Part, Worker
from sojourn.sweep.executions import Executions
from sojourn.sweep.store import Folder
from sojourn.sweep.tables import Detail, Table
from sojourn.user.controllers import UserControllers
from sojourn.user.loading import Loader

VARY = {"link.bottleneck.queue": ["droptail", "codel"]}
TABLES: tuple[Table, ...] = get_args(Table)


def raw(out: Path, table: str) -> pl.DataFrame:
    """Read a table as a tool without Sojourn does."""
    return pl.read_parquet(out / table / "*.parquet")


def batches(out: Path) -> set[str]:
    return {file.name for file in (out / "runs").iterdir()}


def late_batch(small: Path, out: Path, name: str, *queues: str, detail: Detail = "figures") -> None:
    """Write a batch as the worker of a killed command does, which holds no lock."""
    core = sojourn.Scenario.load(small).compile()
    core.set_controls(["cubic"])
    points = sojourn.Dataset(out).points
    parts = []
    for queue in queues:
        key = points.filter(pl.col("queue") == queue)["run"][0]
        parts.append(Part((f"link.bottleneck.queue={queue}",), ((key, 0, 1),)))
    Worker(core, Folder(out), detail, locked=False).execute(Batch(name, tuple(parts), 60.0))


def test_a_run_in_several_batches_counts_once(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = sojourn.sweep(small, VARY, out, control="cubic")
    expected = {name: whole.table(name) for name in TABLES}
    # The first sorts before every other batch, the second after it; one has one of both runs.
    late_batch(small, out, "0", "codel")
    late_batch(small, out, "z", "droptail", "codel")
    assert raw(out, "flows").height == 5
    again = sojourn.Dataset(out)
    for name, frame in expected.items():
        assert_frame_equal(again.table(name), frame)
    # The next command leaves each run in one batch.
    sojourn.sweep(small, VARY, out, control="cubic")
    assert raw(out, "runs")["run"].n_unique() == raw(out, "runs").height == 2
    assert raw(out, "flows").height == raw(out, "links").height // 2 == 2
    for name, frame in expected.items():
        assert_frame_equal(sojourn.Dataset(out).table(name), frame)


def test_the_next_command_finishes_a_killed_removal(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sojourn.sweep(small, VARY, out, control="cubic")
    late_batch(small, out, "z", "droptail", "codel")
    late = next(name for name in batches(out) if name.startswith("z"))
    (out / "flows" / late).unlink()
    assert sojourn.Dataset(out).flows.height == 2
    sojourn.sweep(small, VARY, out, control="cubic")
    assert late not in batches(out)
    assert not (out / "links" / late).exists()


def test_a_batch_that_is_being_written_stays(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sojourn.sweep(small, VARY, out, control="cubic")
    late_batch(small, out, "0", "droptail")
    late = next(name for name in batches(out) if name.startswith("0-"))
    completing = (out / "runs" / late).read_bytes()
    (out / "runs" / late).unlink()
    sojourn.sweep(small, VARY, out, control="cubic")
    # Its worker may have written all files but the last, which completes it now.
    (out / "runs" / late).write_bytes(completing)
    assert sojourn.Dataset(out).flows["goodput_bps"].null_count() == 0
    assert sojourn.Dataset(out).flows.height == 2
    (out / "runs" / late).unlink()
    before = time.time() - 4000
    os.utime(out / "flows" / late, (before, before))
    sojourn.sweep(small, VARY, out, control="cubic")
    assert not (out / "flows" / late).exists()
    assert (out / "links" / late).exists()


def test_series_that_are_asked_for_later_are_added(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bare = sojourn.sweep(small, VARY, out, control="cubic")
    assert bare.series("links").is_empty()
    found = sojourn.sweep(small, VARY, out, control="cubic", series=True)
    assert found.series("links")["run"].n_unique() == 2
    assert found.runs.height == raw(out, "runs").height == 2
    kept = batches(out)
    sojourn.sweep(small, VARY, out, control="cubic")
    assert batches(out) == kept


def replace_while_reading(
    monkeypatch: pytest.MonkeyPatch, table: str, replace: Callable[[], None]
) -> None:
    """Let another command write batches and clean when a reader has listed a table."""
    listed = Folder.list

    def listed_before(folder: Folder, name: str) -> list[str]:
        found = listed(folder, name)
        if name == table:
            monkeypatch.setattr(Folder, "list", listed)
            replace()
            Executions(folder).update().clean()
        return found

    monkeypatch.setattr(Folder, "list", listed_before)


# The batch that a reader has listed loses one row, or is removed.
@pytest.mark.parametrize("queues", [("codel",), ("droptail", "codel")])
def test_a_reader_keeps_the_rows_that_another_command_moves(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queues: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    whole = sojourn.sweep(small, VARY, out, control="cubic").flows
    # One batch with both runs.
    late_batch(small, out, "1", "droptail", "codel")
    Executions(Folder(out)).update().clean()
    replace_while_reading(monkeypatch, "flows", lambda: late_batch(small, out, "0", *queues))
    assert_frame_equal(sojourn.Dataset(out).flows, whole)
    assert raw(out, "flows").height == 2

    late_batch(small, out, "00", "droptail", "codel", detail="whole")
    folder, keys = Folder(out), whole["run"].to_list()
    summaries = stored._results(folder, keys, lambda one: one.summary)
    replace_while_reading(
        monkeypatch,
        "summaries",
        lambda: late_batch(small, out, "000", *queues, detail="whole"),
    )
    assert stored._results(folder, keys, lambda one: one.summary) == summaries


@pytest.mark.long
def test_queries_count_each_run_once(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    out = small.parent / "out"
    sojourn.sweep(small, VARY, out, control="cubic")
    late_batch(small, out, "0", "codel")
    late_batch(small, out, "z", "droptail", "codel")
    for table in TABLES:
        assert main(["sweep", "query", str(out), f"select count(*) from {table}", "--csv"]) == 0
        count = int(capsys.readouterr().out.splitlines()[1])
        assert count == sojourn.Dataset(out).table(table).height


CONTROLLER = """
import sojourn
from helper import WINDOW

class Mine:
    def __init__(self, setup): pass
    def on_feedback(self, now_ns, feedback): pass
    def limits(self): return sojourn.Limits(cwnd_bytes=WINDOW)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A controller with a module beside it."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.py").write_text(CONTROLLER, "utf-8")
    (folder / "helper.py").write_text("WINDOW = 15000\n", "utf-8")
    return folder / "mine.py"


def test_an_edited_controller_is_another_one(
    small: Path, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = small.parent / "out"
    line = ["sweep", str(small), "--vary", "link.back.delay=10ms,20ms", "--out", str(out)]

    def counts(*more: str) -> str:
        assert main([*line, *more]) == 0
        return capsys.readouterr().err.splitlines()[-1].partition(" in ")[0]

    def goodputs() -> list[float]:
        rows = sojourn.Dataset(out).flows
        return rows.filter(pl.col("flow_control") == "mine")["goodput_bps"].to_list()

    own = ["--controller", f"{mine}:Mine", "--control", "cubic,mine"]
    assert counts("--control", "cubic") == "2 runs"
    # The runs of `cubic` do not depend on the code of other controllers.
    assert counts(*own) == "2 runs"
    narrow = goodputs()
    assert counts(*own) == "0 runs"
    (mine.parent / "helper.py").write_text("WINDOW = 30000\n", "utf-8")
    assert counts(*own) == "2 runs"
    assert goodputs() != narrow
    mine.write_text(CONTROLLER.replace("WINDOW)", "WINDOW // 2)"), "utf-8")
    assert counts(*own) == "2 runs"
    assert goodputs() == narrow
    # Files that it does not import are no part of it.
    (mine.parent / "other.py").write_text("", "utf-8")
    assert counts(*own) == "0 runs"


def loaded(mine: Path) -> UserControllers:
    factory, source = Loader().load(str(mine), "Mine")
    return UserControllers({"mine": factory}, [source])


def test_workers_refuse_code_that_changed(mine: Path) -> None:
    given = controllers.packed(loaded(mine))
    # The text of the file itself is sent, so that it may even be a pipe.
    mine.write_text("raise ValueError", "utf-8")
    assert controllers.here(given).names == ["mine"]
    (mine.parent / "helper.py").write_text("WINDOW = 30000\n", "utf-8")
    with pytest.raises(UsageError, match="has changed since the command began"):
        controllers.here(given)


def test_other_machines_get_the_files_of_controllers(mine: Path, tmp_path: Path) -> None:
    package = mine.parent / "models"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import WINDOW\n", "utf-8")
    (package / "inner.py").write_text("WINDOW = 15000\n", "utf-8")
    (mine.parent / "helper.py").write_text("from models import WINDOW\n", "utf-8")
    (mine.parent / "big.py").write_text("raise ValueError\n", "utf-8")
    given = controllers.packed(loaded(mine))
    assert set(given[0]["modules"]) == {"helper.py", "models/__init__.py", "models/inner.py"}
    shutil.rmtree(mine.parent)
    there = controllers.elsewhere(given, tmp_path / "there")
    assert there.sources["mine"].identity == given[0]["identity"]


def test_replaced_parameters_are_named(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = '[flow.upload]\ncontrol = { kind = "cubic", beta = 0.5 }\n'
    text = small.read_text("utf-8").replace('controls = ["cubic", "dctcp"]\n', "")
    small.write_text(text.replace("[flow.upload]\n", own), "utf-8")
    line = ["sweep", str(small), "--vary", "link.back.delay=10ms,20ms", "--dry-run"]
    assert main([*line, "--control", "reno"]) == 0
    said = capsys.readouterr().err
    assert "--control replaces the controller cubic of flow upload with its beta" in said
    assert main(line) == 0
    assert "replaces" not in capsys.readouterr().err
