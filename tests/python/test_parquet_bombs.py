"""Small Parquet files that take gigabytes once decoded are refused before that."""

import json
import resource
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from parquet_bombs import (
    Footer,
    Struct,
    changed,
    delta_texts,
    equal_deltas,
    equal_rows,
    fixed_texts,
    nested,
    one_page,
    repeated,
    written,
)
from sojourn.errors import NotEnoughMemoryError
from sojourn.record import parquet
from support import SMALL, command, environment

# A process with polars takes some 1.5 GB of addresses, and 0.1 GB of memory.
_ADDRESSES = 3 << 30
_ROWS = 200_000_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run directory `kept` and a dataset `swept`."""
    folder = tmp_path_factory.mktemp("bombs")
    sojourn.run(SMALL, control="cubic").save(folder / "kept", report=())
    vary = {"link.bottleneck.queue": ["droptail", "codel"]}
    sojourn.sweep(SMALL, vary, folder / "swept", control="cubic", series=True, jobs=1)
    return folder


def bounded(cwd: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*args),
        cwd=cwd,
        env={**environment(), "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES)),
    )


def require_refused(done: "subprocess.CompletedProcess[str]", file: str) -> None:
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert f"{file}" in line
    assert "of memory and" in line
    assert " rows, needs about " in line


def long_text(rows: int, length: int) -> bytes:
    """Return rows with one long text, which compresses well and is stored once."""
    return written(pl.DataFrame({"x": ["a" * length] * rows}), compression="zstd", statistics=False)


def wrong_rows(fields: Struct) -> None:
    """Say that each row group has ten rows, and that the file has them."""
    groups = fields[4][1][1]
    for group in groups:
        group[3] = 6, 10
    fields[3] = 6, 10 * len(groups)


def wrong_values(fields: Struct) -> None:
    wrong_rows(fields)
    for group in fields[4][1][1]:
        for chunk in group[1][1][1]:
            chunk[3][1][5] = 6, 10


_NUMBER = pl.DataFrame({"x": [1.5]})
_WIDE = pl.DataFrame({f"column{place}": [1.5] for place in range(500)})
BIG: dict[str, Callable[[], bytes]] = {
    "floats": lambda: equal_rows(_NUMBER, _ROWS),
    "bytes": lambda: equal_rows(_NUMBER.cast(pl.UInt8), _ROWS),
    "booleans": lambda: equal_rows(pl.DataFrame({"x": [True]}), _ROWS),
    "nulls": lambda: equal_rows(pl.DataFrame({"x": [None]}, {"x": pl.Float64}), _ROWS),
    "texts": lambda: equal_rows(pl.DataFrame({"x": ["a"]}), _ROWS),
    "dictionary": lambda: equal_rows(pl.DataFrame({"x": ["a"]}).cast(pl.Categorical), _ROWS),
    "dates": lambda: equal_rows(pl.DataFrame({"x": [1]}).cast(pl.Datetime), _ROWS),
    "many columns": lambda: equal_rows(_WIDE, 2_000_000),
    "one group": lambda: written(
        pl.DataFrame({"x": pl.repeat(1, 40_000_000, dtype=pl.UInt8, eager=True)}),
        row_group_size=40_000_000,
    ),
    "many groups": lambda: repeated(written(pl.DataFrame({"x": [1.5] * 4000})), 5000),
    "lists": lambda: repeated(
        written(pl.DataFrame({"x": [[1.5] * 1_000_000]}), statistics=False), 200
    ),
    "structs": lambda: repeated(
        written(pl.DataFrame({"x": [{"a": 1.5, "b": [2] * 100_000}] * 10}), statistics=False), 200
    ),
    "a long text": lambda: repeated(long_text(1, 100_000_000), 20),
    "long texts": lambda: repeated(long_text(10, 20_000_000), 10),
    **{
        f"plain, {codec}": lambda codec=codec: repeated(  # type: ignore[misc]
            written(pl.DataFrame({"x": [1.5] * 100_000}), compression=codec), 2_000
        )
        for codec in ("lz4", "snappy", "gzip", "brotli")
    },
    "lists in lists": lambda: repeated(written(nested(6, 1000), statistics=False), 10_000),
    "equal deltas": lambda: one_page(pl.DataFrame({"x": [1]}), _ROWS, 5, equal_deltas(_ROWS, 5, 1)),
    "texts as changes": lambda: delta_texts(20_000, 100_000),
    "a fixed length": lambda: fixed_texts(20_000, 100_000),
    "plain": lambda: repeated(
        written(pl.DataFrame({"x": [1.5] * 100_000}), compression="zstd"), 2_000
    ),
}
WRONG: dict[str, Callable[[], bytes]] = {
    "few rows": lambda: changed(equal_rows(_NUMBER, _ROWS), wrong_rows),
    "few values": lambda: changed(equal_rows(_NUMBER, _ROWS), wrong_values),
    "more rows": lambda: changed(written(_NUMBER), lambda fields: fields.update({3: (6, 10**15)})),
    "negative rows": lambda: changed(written(_NUMBER), lambda fields: fields.update({3: (6, -1)})),
    "no groups": lambda: changed(written(_NUMBER), lambda one: one.update({4: (9, (12, []))})),
    "lists in many lists": lambda: changed(written(nested(2, 10)), deeper),
    "another type": lambda: changed(
        written(_NUMBER), lambda one: one[2][1][1][1].update({1: (5, 1)})
    ),
    "no chunks": lambda: changed(
        written(_NUMBER), lambda one: one[4][1][1][0].update({1: (9, (12, []))})
    ),
    "a long footer": lambda: written(_NUMBER)[:-8] + b"\xff\xff\xff\x7fPAR1",
    "a deep footer": lambda: of_footer(b"\x1c" * 100_000),
    "a long list": lambda: of_footer(b"\x29\xfc\xff\xff\xff\xff\x07\0\0\0\0\0"),
}


def deeper(fields: Struct) -> None:
    """Put the column into a hundred more groups."""
    schema = fields[2][1][1]
    schema[1:1] = [schema[1]] * 100


def of_footer(footer: bytes) -> bytes:
    """Return a file without pages."""
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("shape", BIG)
def test_bombs_are_counted_before_they_are_decoded(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BIG[shape]()
    assert len(data) < 30 << 20
    monkeypatch.setattr("sojourn.memory.available_bytes", lambda: 150_000_000)
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("it was decoded"))
    with pytest.raises(NotEnoughMemoryError, match=r"^bomb, with [\d,]+ rows, needs about .*; ask"):
        parquet.read(data, "bomb", times=1, remedy="ask for less")


@pytest.mark.parametrize("shape", WRONG)
def test_wrong_counts_are_damage(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = WRONG[shape]()
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("it was decoded"))
    with pytest.raises(parquet.DamagedError, match=r"^bomb: not a Parquet file, or a damaged one"):
        parquet.read(data, "bomb", times=1, remedy="")


@pytest.mark.parametrize("rows", [200, 1000])
def test_bombs_by_hand_can_be_decoded(rows: int) -> None:
    """They are valid files, whose counted memory is above that of their frame."""
    for data in (
        one_page(pl.DataFrame({"x": [1]}), rows, 5, equal_deltas(rows, 5, 1)),
        delta_texts(rows, 100),
        fixed_texts(rows, 100),
        written(nested(6, rows), statistics=False),
    ):
        frame = parquet.read(data, "file", times=1, remedy="")
        assert frame.height == rows
        assert parquet.shape(data, "file").memory_bytes() >= frame.estimated_size()


# Each reader in turn, in one process; the greatest memory is that of the process.
_READERS = """
import contextlib, io, json, sys
from pathlib import Path
import sojourn
from sojourn import memory
from sojourn.cli import main
memory.available_bytes = lambda: 150_000_000
said = []
def told(read):
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        try:
            status = read()
        except (MemoryError, ValueError) as error:
            status = 2
            print(error, file=err)
    said.append([status, err.getvalue()])
told(lambda: main(["report", "kept"]))
told(lambda: main(["compare", "kept", "kept"]))
told(lambda: main(["sweep", "show", "swept"]))
told(lambda: sojourn.load("kept").flows)
told(lambda: sojourn.Dataset("swept").flows)
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
print(json.dumps([int(peak) * 1024, said]))
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc says what is used")
@pytest.mark.parametrize("shape", [*BIG, *WRONG])
def test_each_reader_refuses_each_shape(runs: Path, tmp_path: Path, shape: str) -> None:
    for name in ("kept", "swept"):
        shutil.copytree(runs / name, tmp_path / name)
    data = (BIG | WRONG)[shape]()
    (tmp_path / "kept" / "flows.parquet").write_bytes(data)
    batch = next((tmp_path / "swept" / "flows").iterdir())
    batch.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", _READERS],
        cwd=tmp_path,
        env={**environment(), "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES)),
    )
    peak, said = json.loads(done.stdout.splitlines()[-1])
    # Python with polars takes 90 MB; no shape takes a gigabyte.
    assert peak < 250 << 20
    for status, error in said:
        (line,) = error.splitlines()
        assert (status, "flows" in line) == (2, True), error


def list_of(kind: int, elements: bytes, count: int) -> bytes:
    """Return a footer whose field 4 is a list with more elements than 14."""
    size = bytes([count >> shift & 127 | 128 for shift in (0, 7, 14, 21)]) + b"\0"
    return b"\x49" + bytes([0xF0 | kind]) + size + elements + b"\0"


_MANY = 1 << 22
FOOTERS: dict[str, Callable[[], bytes]] = {
    "empty structs": lambda: list_of(12, b"\0" * _MANY, _MANY),
    "structs of one field": lambda: list_of(12, b"\x15\0\0" * _MANY, _MANY),
    "structs in structs": lambda: list_of(12, b"\x1c\0\0" * _MANY, _MANY),
    "empty lists": lambda: list_of(9, b"\x0c" * _MANY, _MANY),
    "flags": lambda: b"\x11" * _MANY + b"\0",
    "fields": lambda: b"\x15\0" * _MANY + b"\0",
    "strings": lambda: list_of(8, b"\x01a" * _MANY, _MANY),
}


@pytest.mark.parametrize("shape", FOOTERS)
@pytest.mark.parametrize("place", ["footer", "page"])
def test_small_parts_do_not_fill_the_memory(place: str, shape: str) -> None:
    """A footer, or a header of a page, takes at most some times its bytes once it is read."""
    header = FOOTERS[shape]()
    data = of_footer(header) if place == "footer" else of_page(header)
    tracemalloc.start()
    try:
        with pytest.raises(parquet.DamagedError):
            parquet.shape(data, "bomb")
        assert tracemalloc.get_traced_memory()[1] < 40 * len(header)
    finally:
        tracemalloc.stop()


def of_page(header: bytes) -> bytes:
    """Return a file with one page, which has this header."""
    footer = Footer(written(_NUMBER))
    about = footer.fields[4][1][1][0][1][1][1][0][3][1]
    footer.pages = b"PAR1" + header
    about.update({9: (6, 4), 7: (6, len(header))})
    about.pop(11, None)
    return footer.file()


@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize("columns", [1, 300])
@pytest.mark.parametrize("statistics", ["full", False])
def test_footers_with_many_parts(rows: int, columns: int, statistics: Any) -> None:
    """Each row is a group of its own."""
    frame = pl.DataFrame({f"{place}": [1.5] * rows for place in range(columns)})
    data = written(frame, row_group_size=1 if columns == 1 else 100, statistics=statistics)
    assert parquet.shape(data, "file").rows == rows


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "gzip", "lz4", "zstd"])
@pytest.mark.parametrize("statistics", [True, False])
def test_the_counted_memory_is_above_that_of_the_frame(compression: str, statistics: bool) -> None:
    frame = pl.DataFrame(
        {
            "a": [1.5, None, 3.0] * 1000,
            "b": [f"a text of some length {row}" if row % 3 else None for row in range(3000)],
            "c": [1, 2, 3] * 1000,
            "d": [True, None, False] * 1000,
            "e": [[1, 2], [], None] * 1000,
        },
        schema_overrides={"c": pl.UInt16},
    )
    options = {"compression": compression, "statistics": statistics}
    for data in (written(frame, **options), written(frame, row_group_size=700, **options)):
        found = parquet.shape(data, "file")
        assert (found.rows, list(found.bytes)) == (3000, frame.columns)
        assert found.memory_bytes() >= frame.estimated_size()
        assert found.memory_bytes(["a"]) >= frame["a"].estimated_size()
        assert parquet.read(data, "file", times=1, remedy="").equals(frame)


@pytest.mark.parametrize("what", ["flows", "links", "transfers", "frames"])
@pytest.mark.parametrize("reader", ["report", "compare"])
def test_run_directories(runs: Path, tmp_path: Path, what: str, reader: str) -> None:
    shutil.copytree(runs / "kept", tmp_path / "kept")
    source = what if what in ("flows", "links") else "flows"
    frame = pl.read_parquet(runs / "kept" / f"{source}.parquet")
    (tmp_path / "kept" / f"{what}.parquet").write_bytes(equal_rows(frame, _ROWS // 10))
    given = ["kept"] * (1 + (reader == "compare"))
    require_refused(bounded(tmp_path, reader, *given), f"kept/{what}.parquet")


@pytest.mark.parametrize("table", ["points", "runs", "flows", "links", "spikes"])
def test_sweeps(runs: Path, tmp_path: Path, table: str) -> None:
    shutil.copytree(runs / "swept", tmp_path / "swept")
    place = tmp_path / "swept"
    file = place / "points.parquet" if table == "points" else next((place / table).iterdir())
    file.write_bytes(equal_rows(pl.read_parquet(file), _ROWS // 10))
    require_refused(bounded(tmp_path, "sweep", "show", "swept"), str(file.relative_to(tmp_path)))


def test_series_of_sweeps(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(runs / "swept", tmp_path / "swept")
    file = next((tmp_path / "swept" / "series_flows").iterdir())
    file.write_bytes(equal_rows(pl.read_parquet(file), _ROWS))
    found = sojourn.Dataset(tmp_path / "swept")
    monkeypatch.setattr("sojourn.memory.available_bytes", lambda: 1_000_000_000)
    with pytest.raises(NotEnoughMemoryError, match=r"series_flows/.* rows, needs about"):
        found.series("flows")
    assert found.series("links").height > 0


def test_files_of_a_comparison_count_together(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run fits alone, and both do not."""
    run = sojourn.load(runs / "kept")
    needed = sum(3 * parquet.shape(data, "x").memory_bytes() for data in run.series.values())
    monkeypatch.setattr("sojourn.memory.available_bytes", lambda: needed * 3 // 2)
    assert sojourn.load(runs / "kept").flows.height
    with pytest.raises(NotEnoughMemoryError, match="3 more"):
        sojourn.compare(runs / "kept", runs / "kept")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc says what is used")
@pytest.mark.parametrize("reader", ["report", "compare", "show"])
def test_readers_take_at_most_the_memory_that_is_checked(
    runs: Path, tmp_path: Path, reader: str
) -> None:
    """Run each reader on 200,000 rows; the factors are measured, and allow for 100 MB of Python."""
    place = tmp_path / "kept"
    shutil.copytree(runs / ("swept" if reader == "show" else "kept"), place)
    rows = 200_000
    if reader == "show":
        files = [next((place / "flows").iterdir())]
    else:
        files = [place / "flows.parquet", place / "links.parquet"]
    checked = 0
    for file in files:
        frame = pl.read_parquet(file)
        grown = pl.concat([frame] * (rows // frame.height + 1)).head(rows)
        if reader != "show":
            # Times and counts rise.
            counts = [name for name in frame.columns if name.endswith(("_bytes", "_packets"))]
            row = pl.int_range(1, rows + 1)
            grown = grown.with_columns(
                (row * 6 / rows).alias("t_s"), *(row.alias(name) for name in counts)
            )
        grown.write_parquet(file)
        checked += parquet.shape(file.read_bytes(), "x").memory_bytes()
    checked *= 6 if reader == "show" else 3
    code = (
        "import sys; from pathlib import Path; from sojourn.cli import main\n"
        "status = main(sys.argv[1:])\n"
        "lines = Path('/proc/self/status').read_text().splitlines()\n"
        "peak = next(line.split()[1] for line in lines if line.startswith('VmHWM'))\n"
        "print(status, peak, file=sys.stderr)\n"
    )
    args = {
        "report": ["report", "kept"],
        "compare": ["compare", "kept", "kept", "--json"],
        "show": ["sweep", "show", "kept"],
    }[reader]
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    status, peak_kb = done.stderr.split()[-2:]
    assert status == "0", done.stderr
    sides = 2 if reader == "compare" else 1
    assert int(peak_kb) << 10 < sides * checked + (100 << 20), json.dumps([peak_kb, checked])
