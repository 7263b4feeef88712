"""Damaged datasets of sweeps: every reader names the file, and the same sweep repeats its runs."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from sojourn import output
from sojourn.cli import main
from sojourn.errors import DatasetError, UsageError
from sojourn.sweep import executions, remote, store
from support import SMALL, Sojourn, environment

_TABLES = ("runs", "flows", "links", "spikes", "series_flows", "series_links")


def swept(place: Path | str) -> sojourn.Dataset:
    vary: dict[str, list[object]] = {"link.bottleneck.queue": ["droptail", "codel"]}
    return sojourn.sweep(SMALL, vary, place, control="cubic", series=True, jobs=1)


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with a batch for each of its two runs."""
    place = tmp_path_factory.mktemp("complete") / "swept"
    swept(place)
    assert len(list((place / "runs").iterdir())) == 2
    return place


@pytest.fixture
def dataset(complete: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(complete, tmp_path / "swept"))


def file_of(dataset: Path, table: str) -> Path:
    return dataset / table if "." in table else sorted((dataset / table).iterdir())[0]


def read_all(dataset: object) -> None:
    found = sojourn.Dataset(str(dataset))
    for name in ("points", *_TABLES[:4]):
        getattr(found, name)
    for what in ("flows", "links"):
        found.series(what)


_AGAIN = "; type the command of the sweep again, which repeats what is damaged"


def require_named(
    dataset: Path, file: Path, capsys: pytest.CaptureFixture[str], remedy: str = _AGAIN
) -> None:
    """Every reader names the file and the remedy, in one line and with status 2."""
    with pytest.raises(DatasetError) as caught:
        read_all(dataset)
    said = str(caught.value)
    assert said.startswith(f"{file}: "), said
    assert remedy in said, said
    if "series" not in file.parent.name:
        capsys.readouterr()
        assert main(["sweep", "show", str(dataset)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"sojourn: {file}: ")


def require_refused(
    dataset: Path, complete: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same sweep refuses an intact file with other columns, and removes no batch."""
    if file.parent == dataset:
        require_named(dataset, file, capsys)
        return require_repaired(dataset, complete)
    require_named(dataset, file, capsys, "name another folder with --out")
    # Another batch is damaged, and stays too.
    os.truncate(sorted((dataset / file.parent.name).iterdir())[1], 100)
    before = {one: one.read_bytes() for one in dataset.rglob("*.parquet")}
    with pytest.raises(DatasetError, match=f"^{file}: .*; name another folder with --out, or rem"):
        swept(dataset)
    assert {one: one.read_bytes() for one in dataset.rglob("*.parquet")} == before
    return None


def require_repaired(dataset: Path, complete: Path) -> None:
    """The same sweep gives the tables of the dataset that was never damaged."""
    swept(dataset)
    before, after = sojourn.Dataset(complete), sojourn.Dataset(dataset)
    for name in ("points", *_TABLES[:4]):
        assert getattr(before, name).equals(getattr(after, name)), name
    assert before.series("flows").equals(after.series("flows"))


_FILES = ("points.parquet", *_TABLES)


@pytest.mark.parametrize("table", _FILES)
@pytest.mark.parametrize("damage", ["cut", "zeros", "holes", "bytes"])
def test_torn_files(
    table: str, damage: str, dataset: Path, complete: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a power failure a file may be short, empty, or have blocks of zeros."""
    file = file_of(dataset, table)
    data = file.read_bytes()
    draw = random.Random(f"{table} {damage}")
    for _ in range(3):
        at = draw.randrange(len(data))
        if damage == "cut":
            file.write_bytes(data[:at])
        elif damage == "zeros":
            file.write_bytes(data[:at] + bytes(len(data) - at))
        elif damage == "holes":
            start = at // 512 * 512
            file.write_bytes(data[:start] + bytes(512) + data[start + 512 :])
        else:
            file.write_bytes(data[:at] + draw.randbytes(300) + data[at + 300 :])
        try:
            read_all(dataset)
        except DatasetError:
            require_named(dataset, file, capsys)
        else:
            # Some bytes have no meaning, and others only hold a wrong value.
            assert damage not in ("cut", "zeros")
    file.write_bytes(data[: len(data) // 2])
    require_named(dataset, file, capsys)
    require_repaired(dataset, complete)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "{}", "1", '{"format": 2}', "\0\0", '"a"'])
def test_descriptions(
    text: str, dataset: Path, complete: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (dataset / "sweep.json").write_text(text)
    require_named(dataset, dataset / "sweep.json", capsys)
    require_repaired(dataset, complete)


def test_descriptions_of_another_format(dataset: Path) -> None:
    """Another version of Sojourn may have written them: the command refuses, and keeps all."""
    (dataset / "sweep.json").write_text('{"format": 1}')
    before = {file: file.read_bytes() for file in dataset.rglob("*.*")}
    for use in (read_all, swept):
        with pytest.raises(UsageError, match="its format is 1, and this version"):
            use(dataset)
    assert {file: file.read_bytes() for file in dataset.rglob("*.*")} == before


def test_each_key_of_a_description(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = dataset / "sweep.json"
    about = json.loads(file.read_text())
    for key in about:
        for value in (None, [], {}, -1, "x", 1.5, [1], {"a": 1}):
            file.write_text(json.dumps({**about, key: value}))
            assert main(["sweep", "show", str(dataset)]) in (0, 2)
            assert "internal error" not in capsys.readouterr().err


def changed(file: Path, *columns: pl.Expr) -> None:
    pl.read_parquet(file).with_columns(*columns).write_parquet(file)


@pytest.mark.parametrize(
    ("table", "columns", "fault"),
    [
        ("points.parquet", [pl.col("seed").cast(pl.String)], "column `seed` holds String"),
        ("points.parquet", [pl.lit(1).alias("run")], "column `run` holds Int32"),
        ("runs", [pl.lit(1).alias("error")], "column `error` holds Int32"),
        ("runs", [pl.lit("6").alias("duration_s")], "column `duration_s` holds String"),
        ("runs", [pl.lit(float("nan")).alias("duration_s")], "column `duration_s` has NaN"),
        ("flows", [pl.lit("fast").alias("goodput_bps")], "column `goodput_bps` holds String"),
        ("flows", [pl.lit(float("nan")).alias("goodput_bps")], "column `goodput_bps` has NaN"),
        ("links", [pl.lit([1.5]).alias("utilisation")], "column `utilisation` holds List"),
        ("spikes", [pl.lit(1.5).alias("link")], "column `link` holds Float64"),
        ("series_flows", [pl.lit("x").alias("rtt_s")], "column `rtt_s` holds String"),
    ],
)
def test_columns_of_another_type(
    table: str,
    columns: list[pl.Expr],
    fault: str,
    dataset: Path,
    complete: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = file_of(dataset, table)
    changed(file, *columns)
    with pytest.raises(DatasetError, match=fault):
        read_all(dataset)
    require_refused(dataset, complete, file, capsys)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(("points.parquet", name) for name in ("run", "seed", "control", "queue")),
        *(("runs", name) for name in ("run", "error", "version")),
        *(("flows", name) for name in ("run", "goodput_bps")),
        ("series_links", "run"),
    ],
)
def test_missing_columns(
    table: str, column: str, dataset: Path, complete: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(dataset, table)
    pl.read_parquet(file).drop(column).write_parquet(file)
    with pytest.raises(DatasetError, match=f"it has no column `{column}`"):
        read_all(dataset)
    require_refused(dataset, complete, file, capsys)


@pytest.mark.parametrize("damage", ["removed", "empty", "of another batch"])
@pytest.mark.parametrize("table", _FILES)
def test_lost_files(
    table: str, damage: str, dataset: Path, complete: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every reader names the file, also if another batch's is in its place."""
    file = file_of(dataset, table)
    if damage == "removed":
        file.unlink()
    elif damage == "empty":
        os.truncate(file, 0)
    elif table in ("points.parquet", "spikes"):
        pytest.skip("there is one file of points, and these runs have no spikes")
    else:
        shutil.copy(sorted(file.parent.iterdir())[1], file)
    if (table, damage) == ("runs", "of another batch"):
        with pytest.raises(DatasetError, match="1 of 2 runs of a complete sweep"):
            read_all(dataset)
    else:
        require_named(dataset, file, capsys)
    if table in _FILES[:5] and (table, damage) != ("runs", "of another batch"):
        with pytest.raises(DatasetError, match=f"^{dataset}/.*{file.name}: "):
            sojourn.Dataset(dataset).require_whole()
    require_repaired(dataset, complete)


@pytest.mark.parametrize("table", _FILES[:5])
def test_queries_of_lost_files(
    table: str, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    query = ["sweep", "query", str(dataset), "select count(*) from flows"]
    assert main(query) == 0
    file = file_of(dataset, table)
    file.unlink()
    capsys.readouterr()
    assert main(query) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"sojourn: {file}: it is missing{_AGAIN}" or table == "runs"
    assert line.startswith(f"sojourn: {file}: ")


def test_a_lost_batch(dataset: Path, complete: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A complete sweep knows its runs, so that a batch without any file is missed too."""
    for table in _TABLES:
        file_of(dataset, table).unlink()
    said = r"with 1 of 2 runs of a complete sweep, such as \w+ \(queue=\w+, control=cubic, seed=1\)"
    for read in ("runs", "flows", "links", "spikes"):
        with pytest.raises(DatasetError, match=said):
            getattr(sojourn.Dataset(dataset), read)
    with pytest.raises(DatasetError, match=said):
        sojourn.Dataset(dataset).medians()
    for options in ([], ["--json"]):
        assert main(["sweep", "show", str(dataset), *options]) == 2
        assert _AGAIN[2:] in capsys.readouterr().err
    require_repaired(dataset, complete)


def test_runs_that_an_interrupted_sweep_lacks(
    dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are no damage: readers say how many there are, and show the others."""
    for table in _TABLES:
        file_of(dataset, table).unlink()
    about = json.loads((dataset / "sweep.json").read_text())
    assert about.pop("complete")
    (dataset / "sweep.json").write_text(json.dumps(about))
    found = sojourn.Dataset(dataset)
    assert (found.runs.height, found.missing.height) == (1, 1)
    for line in (["show", str(dataset)], ["show", str(dataset), "--json"]):
        assert main(["sweep", *line]) == 0
        said = capsys.readouterr()
        assert "1 of 2 runs; the same command continues" in said.out + said.err


def test_a_larger_plan_is_no_loss(dataset: Path) -> None:
    """Another command may add points while a program holds the dataset."""
    held = sojourn.Dataset(dataset)
    vary: dict[str, list[object]] = {"link.bottleneck.queue": ["droptail", "codel", "pie"]}
    sojourn.sweep(SMALL, vary, dataset, control="cubic", series=True, jobs=1)
    assert held.runs.height == 3
    about = json.loads((dataset / "sweep.json").read_text())
    (dataset / "sweep.json").write_text(json.dumps({**about, "complete": False}))
    pie = held.runs.filter(pl.col("queue") == "pie")["run"][0]
    for file in (dataset / "runs").iterdir():
        if pie in pl.read_parquet(file)["run"]:
            file.unlink()
    assert (held.runs.height, held.missing.height) == (2, 1)


def test_tables_without_rows_have_a_file(tmp_path: Path) -> None:
    """A ping has no spikes: an absent file is one that was lost."""
    found = swept(tmp_path / "swept")
    assert isinstance(found.folder, store.Folder)
    batches = found.folder.list("runs")
    for table in _TABLES:
        assert found.folder.list(table) == batches
    for file in (tmp_path / "swept" / "spikes").iterdir():
        pl.read_parquet(file).clear().write_parquet(file)
    before = {one: one.stat().st_mtime_ns for one in (tmp_path / "swept" / "runs").iterdir()}
    swept(tmp_path / "swept")
    after = {one: one.stat().st_mtime_ns for one in (tmp_path / "swept" / "runs").iterdir()}
    assert after == before


def test_a_column_that_another_version_has_not_is_null(dataset: Path) -> None:
    for file in (dataset / "flows").iterdir():
        pl.read_parquet(file).drop("goodput_bps").write_parquet(file)
    about = json.loads((dataset / "sweep.json").read_text())
    (dataset / "sweep.json").write_text(json.dumps({**about, "version": "0.0.1"}))
    found = sojourn.Dataset(dataset).flows
    assert found["goodput_bps"].null_count() == found.height == 2
    with pytest.raises(UsageError, match=r"written by Sojourn 0\.0\.1"):
        swept(dataset)


def test_runs_of_another_version_outlive_a_damaged_description(dataset: Path) -> None:
    changed(file_of(dataset, "runs"), pl.lit("0.0.1").alias("version"))
    before = sorted(dataset.rglob("*.parquet"))
    (dataset / "sweep.json").write_text("{")
    with pytest.raises(UsageError, match=r"written by Sojourn 0\.0\.1"):
        swept(dataset)
    assert sorted(dataset.rglob("*.parquet")) == before


def test_a_damaged_object_of_a_store_is_removed_by_hand() -> None:
    fsspec = pytest.importorskip("fsspec")
    swept("memory://damaged")
    files = fsspec.filesystem("memory")
    (name, _) = sorted(files.ls("damaged/flows", detail=False))
    files.pipe_file(name, files.cat_file(name)[:-10])
    batch = name.rpartition("/")[2]
    with pytest.raises(DatasetError, match=f"flows/{batch}: .*; remove .*/runs/{batch} and type"):
        read_all("memory://damaged")
    files.rm_file(f"damaged/runs/{batch}")
    swept("memory://damaged")
    read_all("memory://damaged")


def test_a_command_repeats_only_the_runs_of_a_damaged_batch(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    args = ["sweep", str(tmp_path / "small.toml"), "--control", "cubic", "--series"]
    args += ["--vary", "link.bottleneck.queue=droptail,codel", "--out", str(dataset)]
    assert main(args) == 0
    assert "0 runs in" in capsys.readouterr().err
    os.truncate(file_of(dataset, "links"), 100)
    assert main(args) == 0
    said = capsys.readouterr().err
    assert "1 runs in" in said
    assert "1 were in the dataset" in said
    assert f"{dataset}: 1 damaged batch was removed, and its runs repeated" in said


@pytest.mark.parametrize("table", ["sweep.json", *_FILES[:5]])
@pytest.mark.parametrize("what", ["/dev/zero", "/dev/urandom", "pipe", "folder", "sparse"])
def test_what_is_no_file(
    bounded: Sojourn, table: str, what: str, dataset: Path, tmp_path: Path
) -> None:
    file = file_of(dataset, table)
    file.unlink()
    if what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    elif what == "sparse":
        file.touch()
        os.truncate(file, 1 << 40)
    else:
        file.symlink_to(what)
    done = bounded("sweep", "show", str(dataset))
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert str(file) in line
    assert "internal error" not in line


@pytest.mark.skipif(not Path("/proc/kmsg").exists(), reason="a regular file whose reads wait")
def test_files_that_wait_although_they_are_regular(
    bounded: Sojourn, dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    for args, file in (
        (["check", "/proc/kmsg"], "/proc/kmsg"),
        (["sweep", "show", str(dataset)], dataset / "sweep.json"),
        (["report", str(tmp_path / "kept")], tmp_path / "kept" / "summary.json"),
    ):
        if isinstance(file, Path):
            file.unlink(missing_ok=True)
            file.symlink_to("/proc/kmsg")
        done = bounded(*args)
        assert done.returncode == 2, done.stderr
        assert str(file) in done.stderr
        assert "internal error" not in done.stderr


@pytest.mark.parametrize("what", ["pipe", "link"])
def test_a_lock_that_is_no_file(what: str, dataset: Path, tmp_path: Path) -> None:
    (dataset / ".lock").unlink()
    if what == "pipe":
        os.mkfifo(dataset / ".lock")
    else:
        (dataset / ".lock").symlink_to(tmp_path / "other")
    code = (
        "import sojourn, sys\n"
        "sojourn.sweep(sys.argv[1], {'link.bottleneck.queue': ['codel']}, sys.argv[2])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, SMALL, str(dataset)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert not (tmp_path / "other").exists()
    assert done.returncode == (0 if what == "pipe" else 1), done.stderr


class Down:
    """A store that fails at a given operation, as libraries of stores do."""

    class Failure(Exception):
        """No `OSError`, as that of botocore."""

    def __init__(self, working: Any, operation: str) -> None:
        self._working = working
        self._operation = operation

    def __getattr__(self, name: str) -> Any:
        if name != self._operation:
            return getattr(self._working, name)

        def fail(*_: Any, **__: Any) -> None:
            raise self.Failure("Could not connect to the endpoint URL\nwith more lines")

        return fail


@pytest.mark.parametrize("operation", ["pipe_file", "cat_file", "cat", "exists", "ls", "rm_file"])
def test_a_store_that_is_down(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    url = f"memory://down-{operation}"
    swept(url)
    working = fsspec.filesystem("memory")
    # A file of a batch that is old and incomplete, which the next command removes.
    monkeypatch.setattr(executions, "_ABANDONED_S", -1.0)
    working.pipe_file(f"down-{operation}/flows/old-1.parquet", b"")
    original = remote.RemoteFolder.__init__

    def opened(self: remote.RemoteFolder, given: str) -> None:
        original(self, given)
        self._fs = Down(self._fs, operation)

    monkeypatch.setattr(remote.RemoteFolder, "__init__", opened)

    def write_and_read() -> None:
        vary: dict[str, list[object]] = {"link.bottleneck.delay": ["11ms"]}
        read_all(sojourn.sweep(SMALL, vary, url, control="cubic", jobs=1).folder)

    with pytest.raises(DatasetError, match=f"^{url}.*Could not connect.*; check the store"):
        write_and_read()


def test_files_are_synced_before_they_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename may reach the disk before the content of the file, which is then empty."""
    steps: list[tuple[str, str]] = []

    def noted(
        kind: str, function: Callable[..., Any], name: Callable[..., str]
    ) -> Callable[..., Any]:
        def call(*args: Any, **others: Any) -> Any:
            steps.append((kind, name(*args)))
            return function(*args, **others)

        return call

    def opened(descriptor: int) -> str:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", noted("sync", os.fsync, opened))
    monkeypatch.setattr(Path, "replace", noted("move", Path.replace, lambda path, _: str(path)))
    folder = store.Folder(tmp_path)
    folder.write("runs/a.parquet", b"content")
    # The name of the new folder too, before that of a file in it.
    made, (sync, partial), (move, moved), (after, place) = steps
    assert made == ("sync", str(tmp_path))
    assert (sync, move, after) == ("sync", "move", "sync")
    assert partial == moved != place == str(tmp_path / "runs")
    steps.clear()
    output.write_file(tmp_path / "file", "text")
    assert [kind for kind, _ in steps] == ["sync", "move", "sync"]
    steps.clear()
    run = sojourn.run(SMALL, control="cubic")
    run.save(tmp_path / "kept", report=())
    synced = [Path(name).name for kind, name in steps if kind == "sync"]
    assert {"summary.json", "flows.parquet", "links.parquet", "scenario.toml"} <= set(synced)
    assert steps[-1] == ("sync", str(tmp_path))
