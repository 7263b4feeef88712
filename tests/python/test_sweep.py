"""Sweeps: plans, datasets, resumption, and the commands."""

import itertools
import json
import math
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sojourn.cli import main
from sojourn.errors import UsageError
from sojourn.record import stats
from sojourn.sweep import axes, batch, cluster, expressions, figures, looks, plan
from sojourn.sweep.batch import Batch, Done, Part, Worker, from_json, to_json
from sojourn.sweep.engine import Queue, Tally
from sojourn.sweep.local import Lost
from sojourn.sweep.matrix.measure import jain
from sojourn.sweep.places import Argument
from sojourn.sweep.plan import Plan
from sojourn.sweep.quantities import Quantity, Value, parse, text_of
from sojourn.sweep.store import Folder
from support import SMALL

QUEUE = "link.bottleneck.queue"
TABLES = ("points", "runs", "flows", "links", "spikes")


def planned(small: Path, *vary: str, **others: Any) -> Plan:
    core = sojourn.Scenario.load(small).compile()
    core.set_controls(others.pop("control", ["cubic"]))
    core.check()
    return plan.plan(core, str(small), plan.study(core, vary=vary, **others))


def tables_of(folder: Path) -> dict[str, pl.DataFrame]:
    found = sojourn.Dataset(folder)
    return {name: getattr(found, name) for name in TABLES}


def test_ranges_are_even_on_their_scale() -> None:
    axis = axes.from_argument("link.back.delay=1ms..100ms:log:3")
    assert [level[0] for level in axis.levels()] == ["1ms", "10ms", "100ms"]
    axis = axes.from_argument("flow.a.count=1..4:lin:4")
    assert [level[0] for level in axis.levels()] == ["1", "2", "3", "4"]
    axis = axes.from_argument("link.a.delay+link.b.delay=1ms,2ms+3ms")
    assert axis.levels() == [("1ms", "1ms"), ("2ms", "3ms")]
    # Paths are no ranges, and commas inside a table belong to it.
    assert axes.from_argument("link.a.rate.trace=../a..b").levels() == [("../a..b",)]
    axis = axes.from_argument(f"{QUEUE}=droptail,{{ kind = 'codel', ecn = true }}")
    assert axis.levels()[1] == ("{ kind = 'codel', ecn = true }",)


_UNITS = {"rate": ("bit", 1.0), "time": ("ns", 1e-9), "data": ("B", 8.0)}


@given(
    st.sampled_from(sorted(_UNITS)),
    st.integers(1, 10**12),
    st.integers(1, 10**9),
    st.integers(2, 300),
)
def test_a_linear_range_has_every_step(kind: str, low: int, width: int, steps: int) -> None:
    """Each step is the exact one to the nearest bit/s, nanosecond or byte."""
    unit, scale = _UNITS[kind]
    step = Fraction(width, steps - 1)
    axis = f"x={low}{unit}..{low + width}{unit}:lin:{steps}"
    if width + 1 < steps:
        with pytest.raises(sojourn.ScenarioError, match=f"{width + 1} different values"):
            axes.from_argument(axis).levels()
        return
    texts = [text for (text,) in axes.from_argument(axis).levels()]
    found = [parse(text) for text in texts]
    assert all(isinstance(one, Quantity) and one.kind == kind for one in found)
    exact = [low + place * step for place in range(steps)]
    assert [round(one.value / scale) for one in found if isinstance(one, Quantity)] == [
        round(one) for one in exact
    ]


@given(
    st.floats(1e-6, 1e9),
    st.floats(1.001, 1e6),
    st.integers(2, 300),
    st.sampled_from(["lin", "log"]),
)
def test_a_range_of_numbers_has_every_step(
    low: float, factor: float, steps: int, scale: str
) -> None:
    high = low * factor
    texts = axes.from_argument(f"x={low!r}..{high!r}:{scale}:{steps}").levels()
    found = [float(text) for (text,) in texts]
    assert (len(found), found[0], found[-1]) == (steps, low, high)
    assert found == sorted(set(found))
    pairs = itertools.pairwise(found)
    parts = [b - a if scale == "lin" else math.log(b / a) for a, b in pairs]
    even = (high - low if scale == "lin" else math.log(factor)) / (steps - 1)
    assert parts == pytest.approx([even] * (steps - 1), rel=1e-6)


def test_narrow_and_fine_ranges_keep_their_points(small: Path) -> None:
    rate = axes.from_argument("x=10Mbit..10.01Mbit:lin:11").levels()
    between = [f"10.{n:03}Mbit" for n in range(1, 10)]
    assert [text for (text,) in rate] == ["10Mbit", *between, "10.01Mbit"]
    assert len(set(axes.from_argument("x=1Mbit..1Gbit:log:100000").levels())) == 100_000
    fractions = axes.from_argument("link.back.loss=0..1:lin:11").levels()
    assert [text for (text,) in fractions] == ["0", *(f"0.{n}" for n in range(1, 10)), "1"]
    counts = axes.from_argument("flow.upload.count=1..100:log:5").levels()
    assert [text for (text,) in counts] == ["1", "3", "10", "32", "100"]
    found = planned(small, "link.back.delay=10ms..10.01ms:lin:11")
    assert (len(found.points), len({task.key for task in found.tasks})) == (11, 11)
    with pytest.raises(UsageError, match="1,000,000,000 points, and at most 1,000,000"):
        planned(small, "link.back.delay=1ms..100s:lin:1000000000")


def test_samples_of_a_narrow_range_all_differ(small: Path) -> None:
    for axis in ("link.back.delay=10ms..10.001ms", "link.bottleneck.rate=10Mbit..10.01Mbit:log"):
        found = planned(small, axis, design="random", points=20)
        assert (len({point.values for point in found.points}), found.note) == (20, "")


def test_repeated_samples_are_said(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axis = f"{QUEUE}=droptail,codel"
    args = ["sweep", str(small), "--vary", axis, "--design", "random", "--points", "9", "--dry-run"]
    assert main(args) == 0
    assert "note: 9 points were drawn, and 2 of them are different" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="9 points were drawn"):
        sojourn.sweep(
            small, {QUEUE: ["droptail", "codel"]}, control="cubic", design="random", points=9
        )


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("link.back.delay", 1, "not an axis"),
        ("link.back.delay=1ms,,2ms", 1, "empty value"),
        ("link.back.delay=1ms,1ms", 21, "twice"),
        ("link.back.delay=2ms..1ms:3", 17, "does not rise"),
        ("link.back.delay=0ms..1ms:log:3", 17, "reaches 0"),
        ("link.back.delay=1ms..2ms:cubic:3", 26, "not a scale"),
        ("link.back.delay=1ms..2ms", 1, "no number of steps"),
        ("link.back.delay=1ms,2Mbit", 21, "duration"),
        ("link.back.dealy=1ms,2ms", 1, "dealy"),
        ("link.a.x+link.b.x=1+2+3,2", 19, "3 parts for 2 keys"),
    ],
)
def test_bad_axes_are_refused_with_their_column(
    text: str, column: int, message: str, small: Path
) -> None:
    with pytest.raises(sojourn.ScenarioError, match=message) as caught:
        planned(small, text)
    item = caught.value.items[0]
    if message != "dealy":
        assert (item["origin"], item["line"], item["column"]) == ("--vary", 1, column)


def test_a_document_is_a_sweep_and_its_faults_have_lines(small: Path, tmp_path: Path) -> None:
    text = small.read_text("utf-8") + (
        "\n[sweep]\nruns = 2\nwhere = 'delay < 30ms'\n[sweep.vary]\n"
        "'link.back.delay' = ['10ms', '20ms', '40ms']\n"
        "\"link.bottleneck.queue\" = ['droptail', { kind = 'codel', ecn = true }]\n"
        "[sweep.let]\n'link.bottleneck.buffer' = '10Mbit * (delay + 5ms)'\n"
    )
    file = tmp_path / "study.toml"
    file.write_text(text, "utf-8")
    found = planned(file)
    assert found.columns == ("delay", "queue", "buffer")
    assert [point.values[2] for point in found.points] == ["18.75kB"] * 2 + ["31.25kB"] * 2
    assert len(found.tasks) == 8
    # `sojourn run` leaves the study out.
    assert sojourn.run(file, control="cubic").runs

    faults = {
        "'20ms'": ("'20m'", "one of its units"),
        "delay < 30ms": ("delay < 30Mbit", "time and rate"),
        "(delay + 5ms)": ("delay)", "malformed"),
        "runs = 2": ("rnus = 2", "rnus"),
    }
    for old, (new, message) in faults.items():
        file.write_text(text.replace(old, new), "utf-8")
        line = next(at for at, one in enumerate(text.splitlines(), start=1) if old in one)
        with pytest.raises(sojourn.ScenarioError, match=message) as caught:
            planned(file)
        assert caught.value.items[0]["line"] == line


def test_expressions_have_dimensions() -> None:
    def value(text: str) -> Any:
        names: dict[str, Value] = {"rate": Quantity(8e6, (1, -1)), "queue": "codel"}
        return expressions.parse(text, Argument("--let", text)).value(names.__getitem__)

    assert text_of(value("2 * rate * 10ms")) == "20kB"
    assert text_of(value("max(1kB, 0.5 * 4kB) / rate")) == "2ms"
    assert value("rate >= 8Mbit and queue in ['codel', 'pie'] and not queue == 'pie'") is True
    assert value("1ms < 2ms < 3ms") is True
    for text in (
        "rate + 1ms",
        "rate < 'codel'",
        "1/0",
        "queue * 2",
        "__import__('os')",
        "rate ** 2",
    ):
        with pytest.raises(sojourn.ScenarioError):
            value(text)


def test_conditions_and_variables_choose_points(small: Path) -> None:
    found = planned(
        small,
        "bdp=0.5,1",
        f"{QUEUE}=droptail,codel",
        let=["link.bottleneck.buffer=bdp*12Mbit*20ms"],
        where="not (control == 'dctcp' and queue == 'droptail')",
        control=["cubic", "dctcp"],
    )
    assert len(found.points) == 4
    assert sorted(found.labels.values()) == ["cubic"] * 4 + ["dctcp"] * 2
    assert all("bdp" not in text for point in found.points for text in point.assignments)
    with pytest.raises(UsageError, match="no point"):
        planned(small, f"{QUEUE}=droptail,codel", where="queue == 'pie'")
    with pytest.raises(UsageError, match="two axes set"):
        planned(small, f"{QUEUE}=droptail,codel", f"{QUEUE}=pie,red")


def test_random_designs_repeat_by_seed(small: Path) -> None:
    asked = {"design": "random", "points": 5}
    first, again = (planned(small, "link.back.delay=1ms..50ms:log", **asked) for _ in "ab")
    assert len(first.points) == 5
    assert [task.key for task in first.tasks] == [task.key for task in again.tasks]
    with pytest.raises(UsageError, match="--points"):
        planned(small, "link.back.delay=1ms..50ms", design="random")


def test_runs_are_known_by_their_meaning(small: Path) -> None:
    base = planned(small, f"{QUEUE}=codel,droptail")
    spelt = planned(small, f"{QUEUE}={{ kind = 'codel' }},droptail")
    assert [task.key for task in base.tasks] == [task.key for task in spelt.tasks]
    other = planned(small, f"{QUEUE}={{ kind = 'codel', target = '9ms' }},droptail")
    assert [a.key == b.key for a, b in zip(base.tasks, other.tasks, strict=True)] == [False, True]


def test_a_dataset_has_the_figures_of_its_runs(small: Path, tmp_path: Path) -> None:
    vary = {QUEUE: ["droptail", "codel"], "link.back.delay": "10ms..20ms:lin:2"}
    found = sojourn.sweep(small, vary, tmp_path / "out", control="cubic", runs=2, series=True)
    assert found.axes == ["queue", "delay_s"]
    assert found.points["delay_s"].to_list() == [0.01, 0.01, 0.02, 0.02] * 2
    asked = {QUEUE: "codel", "link.back.delay": "20ms"}
    alone = sojourn.run(small, control="cubic", seed=2, set=asked)
    flow = found.flows.row(7, named=True)
    assert (flow["queue"], flow["delay_s"], flow["seed"]) == ("codel", 0.02, 2)
    assert flow["goodput_bps"] == alone.runs[0]["flows"][0]["goodput_bps"]
    assert found.spikes.height == 8
    own = found.series("links").filter(pl.col("run") == flow["run"])
    assert own["queue_delay_s"].to_list() == alone.links["queue_delay_s"].to_list()


def test_a_second_sweep_runs_only_what_is_new(small: Path, tmp_path: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    sojourn.sweep(small, {QUEUE: ["droptail", "codel"]}, out, control="cubic")
    before = {file: file.stat().st_mtime_ns for file in (out / "runs").iterdir()}
    # The delay of the scenario is 10ms: these runs are known, also with another axis.
    both = {QUEUE: ["droptail", "codel"], "link.back.delay": ["10ms", "20ms"]}
    found = sojourn.sweep(small, both, out, control="cubic")
    assert all(file.stat().st_mtime_ns == at for file, at in before.items())
    assert found.axes == ["queue", "delay_s"]
    assert found.runs.height == 4
    sojourn.sweep(small, both, whole, control="cubic", jobs=1)
    for name, frame in tables_of(whole).items():
        assert_frame_equal(tables_of(out)[name], frame)


def test_tables_have_the_last_plan_alone(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, vary = tmp_path / "out", {QUEUE: ["droptail", "codel"]}
    slow = sojourn.sweep(small, vary, out, control="cubic", set={"link.back.delay": "60ms"})
    rows = slow.flows["rtt_min_s"].to_list()
    held = len(list((out / "runs").iterdir()))
    fast = sojourn.sweep(small, vary, out, control="cubic", seed=5)
    assert fast.points["seed"].to_list() == [5, 5]
    assert max(fast.flows["rtt_min_s"].to_list()) < 0.03 < 0.06 < min(rows)
    assert main(["sweep", "show", str(out), "--json", "--metric", "flows.rtt_min_s"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(row["n"], row["flows.rtt_min_s"] < 0.03) for row in shown] == [(1, True)] * 2
    # The first plan needs no simulation to return.
    written = len(list((out / "runs").iterdir()))
    again = sojourn.sweep(small, vary, out, control="cubic", set={"link.back.delay": "60ms"})
    assert again.flows["rtt_min_s"].to_list() == rows
    assert held < written == len(list((out / "runs").iterdir()))


def test_axes_have_no_names_of_other_columns(small: Path, tmp_path: Path) -> None:
    vary = {"flow.upload.control": ["cubic", "reno"], "duration": ["5s", "6s"]}
    own = {"controls": [], "flow.upload.control": "cubic"}
    found = sojourn.sweep(small, vary, tmp_path / "out", set=own)
    assert found.axes == ["upload_control", "axis_duration_s"]
    assert found.runs["axis_duration_s"].to_list() == found.runs["duration_s"].to_list()
    assert found.flows["flow_control"].to_list() == found.flows["upload_control"].to_list()
    assert planned(small, "flow.upload.start=0s,1s").columns == ("upload_start",)
    for key, remedy in (("seed", "--runs"), ("control", "--control")):
        with pytest.raises(sojourn.ScenarioError, match="cannot be an axis") as caught:
            planned(small, f"{key}=1,2")
        assert remedy in (caught.value.items[0]["help"] or "")


def test_a_new_dataset_survives_a_kill_at_its_start(small: Path, tmp_path: Path) -> None:
    out, vary = tmp_path / "out", {QUEUE: ["droptail", "codel"]}
    out.mkdir()
    for name in (".lock", "points.parquet", ".sweep.json.7.partial"):
        (out / name).write_bytes(b"half")
    assert sojourn.sweep(small, vary, out, control="cubic").runs.height == 2
    assert not list(out.glob(".*.partial"))
    (out / "sweep.json").unlink()
    with pytest.raises(UsageError, match="not a dataset"):
        sojourn.sweep(small, vary, out, control="cubic")


def test_an_interrupted_sweep_counts_the_runs_it_has(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, vary = tmp_path / "out", {QUEUE: ["droptail", "codel"]}
    whole = sojourn.sweep(small, vary, out, control="cubic", runs=7)
    # The tables of an interrupted sweep lack the later runs of its plan.
    first = whole.points["run"][0]
    for table in ("runs", "flows", "links", "spikes"):
        for file in (out / table).iterdir():
            pl.read_parquet(file).filter(pl.col("run") == first).write_parquet(file)
    about = json.loads((out / "sweep.json").read_text())
    (out / "sweep.json").write_text(json.dumps({**about, "complete": False}))
    assert sojourn.Dataset(out).medians()["n"].to_list() == [1, 0]
    assert main(["sweep", "show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "1 of 14 runs; the same command continues" in shown
    assert "medians over the seeds" not in shown
    assert [line.split()[1] for line in shown.splitlines() if " codel " in f" {line} "] == ["–"]
    assert main(["sweep", "show", str(out), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["n"] for row in rows] == [1, 0]
    assert rows[0]["flows.goodput_low_bps"] is None
    assert rows[1]["flows.goodput_bps"] is None


def test_interrupted_batches_are_removed(small: Path, tmp_path: Path) -> None:
    out, vary = tmp_path / "out", {QUEUE: ["droptail", "codel"]}
    sojourn.sweep(small, vary, out, control="cubic")
    before = tables_of(out)
    batch = next((out / "runs").iterdir())
    shutil.copy(out / "flows" / batch.name, out / "flows" / "interrupted.parquet")
    (out / "links" / ".x.parquet.1.partial").write_bytes(b"half")
    assert tables_of(out)["flows"].equals(before["flows"])
    sojourn.sweep(small, vary, out, control="cubic")
    assert not list(out.rglob("*.partial"))
    assert not (out / "flows" / "interrupted.parquet").exists()


def test_other_versions_and_folders_are_refused(small: Path, tmp_path: Path) -> None:
    out, vary = tmp_path / "out", {QUEUE: ["droptail", "codel"]}
    sojourn.sweep(small, vary, out, control="cubic")
    about = json.loads((out / "sweep.json").read_text("utf-8"))
    (out / "sweep.json").write_text(json.dumps({**about, "version": "0.0.1"}), "utf-8")
    with pytest.raises(UsageError, match=r"written by Sojourn 0\.0\.1"):
        sojourn.sweep(small, vary, out, control="cubic")
    with pytest.raises(UsageError, match="not a dataset"):
        sojourn.sweep(small, vary, small.parent, control="cubic")


def test_a_failing_run_is_a_row(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = small.parent / "bad.py"
    code.write_text(
        "import sojourn\nclass Bad:\n    def __init__(self, setup): self.seed = setup.seed\n"
        "    def on_feedback(self, now_ns, feedback): raise ValueError('too bad')\n"
        "    def on_timeout(self, now_ns, in_flight): pass\n"
        "    def limits(self): return sojourn.Limits(cwnd_bytes=15000)\n",
        "utf-8",
    )
    out = small.parent / "out"
    line = ["sweep", str(small), "--vary", "link.back.delay=10ms,20ms", "--out", str(out)]
    assert main([*line, "--controller", f"{code}:Bad", "--control", "bad,cubic"]) == 1
    found = sojourn.Dataset(out).runs
    assert found.filter(pl.col("control") == "bad")["error"].str.contains("too bad").all()
    assert found.filter(pl.col("control") == "cubic")["error"].null_count() == 2
    assert "2 runs failed" in capsys.readouterr().out
    # The same command repeats the failed runs alone, and their new rows count.
    code.write_text(code.read_text("utf-8").replace("raise ValueError('too bad')", "pass"), "utf-8")
    assert main([*line, "--controller", f"{code}:Bad", "--control", "bad,cubic"]) == 0
    assert "2 runs in" in capsys.readouterr().err
    again = sojourn.Dataset(out).runs
    assert again.height == 4
    assert again["error"].null_count() == 4


def test_a_lost_worker_is_retried_and_its_killer_found(small: Path, tmp_path: Path) -> None:
    found = planned(small, "link.back.delay=10ms,20ms,30ms")
    queue, tally = Queue(found, found.tasks), Tally(3)
    batch = queue.take(tally, 1)
    assert len(batch) == 2
    assert from_json(to_json(batch)) == batch
    assert not queue.lose(Lost(batch, "killed"))
    alone = queue.take(tally, 1)
    assert len(alone) == 1
    assert not queue.lose(Lost(alone, "killed"))
    # The other suspect comes before the one that was lost alone.
    queue.end(Done(queue.take(tally, 1).name, 1, 0, 0.1))
    last = queue.take(tally, 1)
    assert queue.lose(Lost(last, "killed"))
    queue.end(Done(queue.take(tally, 1).name, 1, 0, 0.1))
    assert not queue
    assert not queue.has_out
    worker = Worker(found.base, Folder(tmp_path))
    assert worker.fail(last, "killed") == Done(last.name, 1, 1, 0.0)
    assert pl.read_parquet(tmp_path / "runs" / f"{last.name}.parquet")["error"].to_list() == [
        "killed"
    ]


def test_a_batch_ends_in_time(small: Path, tmp_path: Path) -> None:
    core = sojourn.Scenario.load(small).compile()
    core.set_controls(["cubic"])
    worker = Worker(core, Folder(tmp_path))
    part = Part((), (("a", 0, 1), ("b", 0, 2)))
    assert worker.execute(Batch("one", (part,), 0.0)).runs == 1


def test_threads_share_a_worker(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = sojourn.Scenario.load(small).compile()
    delays = [f"link.back.delay={ms}ms" for ms in range(1, 41)]

    def delay(own: Any, control: int, seed: int) -> None:
        raise ValueError(json.loads(own.to_json())["link"]["back"]["delay"])

    monkeypatch.setattr(batch, "_simulated", delay)
    worker = Worker(core, Folder(tmp_path))
    batches = [
        Batch(name, tuple(Part((text,), ((text, 0, 1),) * 3) for text in texts), 60.0)
        for name, texts in (("up", delays), ("down", delays[::-1]))
    ]
    held, before = dict(vars(worker)), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(worker.execute, batches))
    finally:
        sys.setswitchinterval(before)
    # A scenario that the worker keeps could change between two lines of the other thread.
    assert vars(worker) == held
    rows = pl.read_parquet(tmp_path / "runs" / "*.parquet")
    assert rows.height == 240
    for key, error in rows.select("run", "error").iter_rows():
        assert error == f"ValueError: {key.partition('=')[2]}"


@pytest.mark.long
def test_three_kills_leave_the_same_dataset(small: Path, tmp_path: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    line = [sys.executable, "-m", "sojourn", "sweep", str(small), "--control", "cubic,reno"]
    line += ["--vary", f"{QUEUE}=droptail,codel", "--vary", "link.back.delay=1ms..50ms:log:10"]
    line += ["--runs", "20", "--out"]
    for after_s in (4.0, 5.0, 6.0):
        with subprocess.Popen([*line, str(out)], stdout=subprocess.DEVNULL) as process:
            time.sleep(after_s)
            process.send_signal(signal.SIGKILL)
        held = sojourn.Dataset(out).runs.height
        assert 0 < held <= 800
    assert subprocess.run([*line, str(out)], stdout=subprocess.DEVNULL).returncode == 0
    assert subprocess.run([*line, str(whole)], stdout=subprocess.DEVNULL).returncode == 0
    for name, frame in tables_of(whole).items():
        assert_frame_equal(tables_of(out)[name], frame)


def test_medians_have_their_intervals(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, goodput = small.parent / "out", ["--metric", "flows.goodput_bps"]
    line = ["sweep", str(small), "--control", "cubic", "--vary", f"{QUEUE}=droptail,codel"]
    line += ["--out", str(out), "--jobs", "1", "--runs"]
    shown = ["sweep", "show", str(out), *goodput]
    assert main([*line, "5"]) == 0
    assert main([*shown, "--json"]) == 0
    text = capsys.readouterr().out
    assert "from 6 runs of a point on, with confidence intervals" in text
    assert json.loads(text[text.index("[\n") :])[0]["flows.goodput_low_bps"] is None
    assert main([*line, "7"]) == 0
    capsys.readouterr()
    assert main([*shown, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    flows = sojourn.Dataset(out).flows
    for row in rows:
        values = flows.filter(pl.col("queue") == row["queue"])["goodput_bps"].to_list()
        expected = stats.spread(values)
        assert (row["n"], len(set(values))) == (7, 7)
        assert row["flows.goodput_bps"] == expected["median"]
        # The interval of seven values is their whole range: the second to the sixth hold the
        # median with 87.5 % only.
        assert row["flows.goodput_low_bps"] == expected["low"] == min(values)
        assert row["flows.goodput_high_bps"] == expected["high"] == max(values)
    assert main(shown) == 0
    table = capsys.readouterr().out
    assert "medians over the seeds, with their 95 % confidence intervals" in table
    low, high = (f"{rows[0][f'flows.goodput_{end}_bps'] / 1e6:,.4g}" for end in ("low", "high"))
    assert low == high or f"{low}–{high}" in table


def test_the_command_plans_runs_and_shows(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "out"
    line = ["sweep", str(small), "--control", "cubic,reno", "--out", str(out)]
    line += ["--vary", f"{QUEUE}=droptail,fq_codel", "--vary", "link.back.delay=10ms,20ms"]
    assert main([*line, "--dry-run"]) == 0
    assert not out.exists()
    shown = capsys.readouterr()
    assert "4 points, 8 runs" in shown.out
    assert main([*line, "--jobs", "1"]) == 0
    shown = capsys.readouterr()
    # Droptail marks no packets, so the queues have no setting in which they could differ.
    assert "differ in their default of `ecn`" not in shown.err
    assert "8 runs in" in shown.err
    assert "fq_codel" in shown.out
    assert main(["sweep", "show", str(out), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 8
    assert rows[0]["flows.goodput_bps"] > 5e6
    for extra in (["--x", "delay"], ["--x", "queue", "--y", "delay", "--facet", "control"]):
        plot = small.parent / f"plot-{len(extra)}.png"
        chosen = ["--metric", "links.queue_delay_p99_s", "--plot", str(plot), *extra]
        assert main(["sweep", "show", str(out), *chosen]) == 0
        assert plot.stat().st_size > 1000
        capsys.readouterr()
    found = sojourn.Dataset(out)
    assert figures.over(found, ["delay_s", "control"]) == "seeds and queue"
    assert figures.over(found, ["queue"]) == "seeds, delay and control"
    assert figures.over(found, ["queue", "delay_s", "control"]) == "seeds"
    queues = ["--vary", f"{QUEUE}=codel,fq_codel", "--dry-run"]
    assert main(["sweep", str(small), *queues]) == 0
    assert "differ in their default of `ecn`" in capsys.readouterr().err
    both = ["--metric", "flows.goodput_bps", "--metric", "links.queue_delay_p99_s"]
    assert main(["sweep", "show", str(out), *both, "--name", "back"]) == 0
    table = capsys.readouterr().out
    assert "queue p99: back" in " ".join(table.split())
    assert main(["sweep", "show", str(out), *both, "--name", "back", "--json"]) == 0
    links = json.loads(capsys.readouterr().out)
    # The acknowledgements' link has no rate, and so no queue.
    assert [row["links.queue_delay_p99_s"] for row in links] == [None] * 8
    assert all(row["flows.goodput_bps"] > 5e6 for row in links)
    assert main(["sweep", "show", str(out), *both, "--name", "bach"]) == 2
    assert "did you mean `back`" in capsys.readouterr().err
    capsys.readouterr()
    assert main(["sweep", "show", str(out), "--metric", "links.delay"]) == 2
    listed = capsys.readouterr().err
    assert "did you mean `links.queue_delay_p50_s` or " in listed
    assert "It has " in listed
    assert "queue_delay_p99_s" in listed
    assert main(["sweep", "show", str(out), "--metric", "flows.mos"]) == 2
    assert "did you mean `flows.quality_mos`?" in capsys.readouterr().err
    assert main(["sweep", "show", str(out), "--metric", "queue_delay_p99_s"]) == 2
    assert "did you mean `links.queue_delay_p99_s`?" in capsys.readouterr().err
    assert main(["sweep", "show", str(small.parent)]) == 2


@pytest.mark.long
def test_queries_read_the_dataset(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    out = small.parent / "out"
    found = sojourn.sweep(small, {QUEUE: ["droptail", "codel"]}, out, control="cubic", runs=2)
    sql = "select queue, avg(goodput_bps) from flows group by queue order by queue"
    assert main(["sweep", "query", str(out), sql, "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("codel,")
    mean = found.flows.filter(pl.col("queue") == "codel")["goodput_bps"].mean()
    assert float(lines[1].split(",")[1]) == pytest.approx(mean)
    assert main(["sweep", "query", str(out), "select * from nowhere"]) == 2


# Statements that write, read other files, change settings or load code; `{}` is the test's folder.
_REFUSED = (
    "copy (select 1) to '{}/new.csv'",
    "copy flows to '{}/out/points.parquet'",
    "copy flows from '{}/secret.csv'",
    "select * from '{}/secret.csv'",
    "select * from read_csv('{}/secret.csv')",
    "select * from read_text('{}/secret.csv')",
    "select * from read_blob('/etc/passwd')",
    "select * from read_parquet('{}/other/points.parquet')",
    "select * from read_csv('/dev/zero')",
    "select * from glob('{}/*')",
    "select * from sniff_csv('{}/secret.csv')",
    "select * from parquet_metadata('{}/other/points.parquet')",
    "select * from query('copy flows to ''{}/new.csv'' ')",
    "select * from read_csv('https://example.org/a.csv')",
    "attach '{}/new.db'",
    "attach '{}/out/points.parquet' as other",
    "export database '{}/new'",
    "install httpfs",
    "load httpfs",
    "set threads = 1",
    "set enable_external_access = true",
    "reset enable_external_access",
    "pragma enable_profiling",
    "call pragma_version()",
    "create table mine as select 1",
    "create view mine as select 1",
    "create secret (type s3)",
    "insert into counted_executions values ('a', 'b')",
    "delete from counted_executions",
    "drop view flows",
    "explain analyze copy flows to '{}/new.csv'",
    "prepare mine as select 1",
    "begin",
    "checkpoint",
    "vacuum",
    "select 1; select 2",
    "select 1; drop view flows",
    "select * from args",
    "select * from rows",
    "selec",
    "",
    ";",
    "select cast(queue as int) from flows",
)


@pytest.mark.parametrize("sql", _REFUSED)
def test_queries_only_read_the_tables(
    sql: str, queried: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file: file.read_bytes() for file in queried.rglob("*") if file.is_file()}
    assert main(["sweep", "query", str(queried / "out"), sql.format(queried)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "internal error" not in said.err
    after = {file: file.read_bytes() for file in queried.rglob("*") if file.is_file()}
    assert before == after


def test_queries_are_any_select(queried: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {
        "select queue from points order by queue": ["codel", "droptail"],
        "from runs select count(*)": ["2"],
        "with own as (select 5 as five) select five from own;": ["5"],
        "select count(*) from (summarize flows) where column_name = 'queue'": ["1"],
        "select i from range(2500) own(i)": [str(one) for one in range(2500)],
    }
    for sql, expected in rows.items():
        assert main(["sweep", "query", str(queried / "out"), sql, "--csv"]) == 0
        assert capsys.readouterr().out.splitlines()[1:] == expected
    assert main(["sweep", "query", str(queried / "out"), "select i from range(2500) own(i)"]) == 0
    assert "the first 1,000 rows; --csv has the others" in capsys.readouterr().out


def test_the_name_of_a_folder_is_no_column(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB takes `queue=pie` in a path for the partition of a table, as Hive writes it."""
    pytest.importorskip("duckdb", "1.2")
    out = tmp_path / "queue=pie" / "goodput_bps=1" / "out"
    args = ["--vary", f"{QUEUE}=droptail,codel", "--control", "cubic"]
    assert main(["sweep", str(small), *args, "--out", str(out)]) == 0
    capsys.readouterr()
    for table in ("points", "flows"):
        sql = f"select queue from {table} order by queue"
        assert main(["sweep", "query", str(out), sql, "--csv"]) == 0
        assert capsys.readouterr().out.split() == ["queue", "codel", "droptail"]
    sql = "select min(goodput_bps) > 1 from flows"
    assert main(["sweep", "query", str(out), sql, "--csv"]) == 0
    assert capsys.readouterr().out.split()[-1].lower() == "true"


@pytest.fixture(scope="module")
def queried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset `out`, another one, and a file that no query may read."""
    pytest.importorskip("duckdb", "1.2")
    folder = tmp_path_factory.mktemp("queried")
    (folder / "secret.csv").write_text("secret\n1\n")
    for name in ("out", "other"):
        sojourn.sweep(SMALL, {QUEUE: ["droptail", "codel"]}, folder / name, control="cubic")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("design", ["latin-hypercube", "sobol"])
def test_sampled_designs_fill_the_axes(design: str, small: Path) -> None:
    pytest.importorskip("scipy")
    axis = "link.back.delay=1ms..100ms:log"
    found = planned(small, axis, f"{QUEUE}=droptail,codel", design=design, points=16)
    queues = [point.values[1] for point in found.points]
    assert queues.count("codel") == 8
    again = planned(small, axis, f"{QUEUE}=droptail,codel", design=design, points=16)
    assert [point.values for point in found.points] == [point.values for point in again.points]


def test_derived_values_are_no_columns_of_the_table(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A derived value follows from its axis, and a table wider than the terminal has no rows."""
    out = str(tmp_path / "out")
    let = [f"--let=link.bottleneck.{key}={value}" for key, value in (("buffer", "3*delay*9Mbit"),)]
    line = ["sweep", str(small), "--vary", "link.back.delay=5ms,10ms", *let]
    assert main([*line, "--control", "cubic", "--out", out]) == 0
    shown = capsys.readouterr().out
    assert "delay   runs" in shown
    assert "derived from these axes, and in --json: buffer" in shown
    assert sojourn.Dataset(out).derived == ["buffer_bytes"]
    assert main(["sweep", "show", out, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["buffer_bytes"] for row in rows] == [16875, 33750]


@pytest.mark.parametrize(
    ("status", "page", "expected"),
    [
        (200, b"<html>Dask: Status</html>", True),
        (200, b"<p>Dask needs bokeh>=3.1.0 for the dashboard.</p>", False),
        (404, b"", False),
    ],
)
def test_a_dashboard_is_named_if_it_is_served(status: int, page: bytes, expected: bool) -> None:
    """Dask names an address also without bokeh, whose page then only asks for bokeh."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert cluster._is_served(f"http://127.0.0.1:{server.server_port}/status") == expected
    assert not cluster._is_served(f"http://127.0.0.1:{server.server_port}/status")


@pytest.fixture
def shared(tmp_path: Path) -> sojourn.Dataset:
    """A dataset of three flows over one link, with seven seeds of two capacities."""
    file = tmp_path / "shared.toml"
    flow = SMALL[SMALL.index("[flow.upload]") :]
    flows = "".join(flow.replace("upload", name) for name in ("second", "third"))
    file.write_text(f"start_jitter = '50ms'\n{SMALL}\n{flows}")
    vary = {"link.back.delay": ["5ms", "10ms"]}
    return sojourn.sweep(file, vary, tmp_path / "out", ["cubic", "dctcp"], runs=7, jobs=1)


def test_medians_are_a_frame_with_intervals(shared: sojourn.Dataset) -> None:
    """A reader who draws or compares medians needs their intervals as numbers."""
    rows = shared.medians("flows.rtt_p99_s")
    assert rows.columns[:3] == ["delay_s", "control", "n"]
    ends = [rows[f"flows.rtt_p99{end}_s"] for end in ("_low", "", "_high")]
    assert all(low <= median <= high for low, median, high in zip(*ends, strict=True))
    assert (rows["n"] == 7).all()
    few = shared.only(shared.points.filter(pl.col("seed") < 3)["run"])
    assert few.medians("flows.rtt_p99_s")["flows.rtt_p99_low_s"].is_null().all()


def test_fairness_is_a_figure(shared: sojourn.Dataset) -> None:
    """Jain's index of the chosen flows, and shares of the goodput of all, by their definition."""
    (run, *_), flows = shared.points["run"], shared.flows
    own = flows.filter(pl.col("run") == run)
    goodputs = dict(own.select("name", "goodput_bps").iter_rows())
    expected = {name: one / sum(goodputs.values()) for name, one in goodputs.items()}
    assert dict(own.select("name", "goodput_share").iter_rows()) == pytest.approx(expected)
    assert own["jain"].to_list() == pytest.approx([jain(list(goodputs.values()))] * 3)
    names = ["second", "third"]
    alone = shared.only([run])
    both = alone.medians(["flows.jain", "flows.goodput_share"], names)
    assert both["flows.jain"].to_list() == pytest.approx([jain([goodputs[n] for n in names])])
    assert both["flows.goodput_share"].to_list() == pytest.approx([sum(expected[n] for n in names)])


def test_a_dataset_draws_itself(shared: sojourn.Dataset, tmp_path: Path) -> None:
    figure = shared.plot(
        "flows.jain",
        x="delay",
        labels={"delay": "return path", "cubic": "CUBIC", "flows.jain": "Jain"},
        colours={"cubic": "#123456"},
        log="x",
        title="Fair",
    )
    for words in ("return path", "CUBIC", "Jain", "#123456", "Fair"):
        assert words in figure.svg
    assert figure.save(tmp_path / "fair.svg").exists()
    heat_map = shared.plot(x="control", y="delay", where="delay > 5ms", labels={"10ms": "far"})
    assert "far" in heat_map.svg
    with pytest.raises(UsageError, match="log is 'z'"):
        shared.plot(log="z")


def test_a_logarithmic_axis_shows_no_zero() -> None:
    """The logarithm of zero is no place on an axis, and would hide the whole line."""
    points = pl.DataFrame({"x": [0, 1, 2], "median": [3, 0, 4], "p5": 0, "p95": [6, 0, 8]})
    shown = looks.Looks(log="xy").drawable(points, "x")
    assert shown.rows() == [(2, 4, 4, 8)]
    assert looks.Looks().drawable(points, "x").equals(points)
