"""The benchmark's measurements are correct. No test here depends on timing."""

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sojourn
from rich.console import Console
from sojourn import _core
from sojourn.errors import UsageError
from sojourn_bench import bare, cases, measure, worker
from sojourn_bench import command as command_of
from sojourn_bench.cases import CASES, FULL, QUICK, Case
from sojourn_bench.figures import Parts
from support import ROOT, Sojourn, command, environment

QUICKEST = ("bench", "--quick", "--case", "A")


def test_everything_is_measured(sojourn: Sojourn, tmp_path: Path) -> None:
    done = sojourn("bench", "--quick", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    # A slow machine shows its progress too.
    said = [line for line in done.stderr.splitlines() if not line.startswith("Measuring ")]
    assert said == ["wrote out"]
    found = json.loads(done.stdout)
    assert 0 < found["bare_loop_low_pps"] <= found["bare_loop_pps"] <= found["bare_loop_high_pps"]
    assert list(found["cases"]) == [case.name for case in CASES]
    for name, case in found["cases"].items():
        of = case.pop("parts_ns")
        assert all(figure > 0 for key, figure in case.items() if key != "dropped_packets"), name
        # The few samples of a quick run beside other work may miss a small part.
        assert all(ns >= 0 for ns in of.values()), name
        assert sum(of.values()) == pytest.approx(1e9 / case["sampled_pps"]), name
        assert case["ratio_low"] <= case["ratio"] <= case["ratio_high"]
    assert [one["flows"] for one in found["scaling"]] == list(QUICK.flows)
    assert all(
        one["ns_per_packet"] > 0 and one["delivered_packets"] > 0 for one in found["scaling"]
    )
    for one in found["scaling"]:
        assert one["rounds"] == 1
        assert one["ns_per_packet_low"] == one["ns_per_packet"] == one["ns_per_packet_high"]
    memory = found["memory"]
    assert memory["in_flight_packets"] > 10_000
    # The number, size and sending time of a packet take at least 16 bytes.
    assert memory["bytes_per_packet"] > 16
    assert all(seconds > 0 for seconds in found["startup"].values())
    assert all(found["jobs"][key] > 0 for key in ("1", "2", "speedup"))
    assert json.loads((tmp_path / "out" / "bench.json").read_text()) == json.loads(done.stdout)
    assert "Nanoseconds a packet" in (tmp_path / "out" / "bench.svg").read_text()
    assert (tmp_path / "out" / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_without_the_bare_loop_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="`make bench` in the repository builds it"):
        bare.program()


def test_many_flows_are_measured_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1,000, 250 and 500 ns per packet, beside a bare loop of 10 M packets per second.
    speeds = iter((1e6, 4e6, 2e6))
    told: list[tuple[str, int]] = []

    def measured(*_: object) -> worker.Figures:
        return {
            "pps": next(speeds),
            "bare_loop_pps": 1e7,
            "setup_cpu_s": 0.0,
            "peak_memory_bytes": 1,
            "delivered_packets": 1,
            "dropped_packets": 0,
            "in_flight_packets": None,
            "samples": {},
        }

    monkeypatch.setattr(measure, "run_worker", measured)
    progress = measure.Progress(lambda what, done, _: told.append((what, done)), 3)
    found = measure._scaling(FULL, 10, measure._Bare(), progress)
    assert found["rounds"] == 3
    assert (found["ns_per_packet_low"], found["ns_per_packet"]) == (250, 500)
    assert (found["ns_per_packet_high"], found["ratio"]) == (1000, 0.2)
    assert told == [("10 flows", 0), ("10 flows", 1), ("10 flows", 2)]
    assert [FULL.scaling_rounds(flows) for flows in FULL.flows] == [3, 3, 3, 3, 3, 1]


def test_a_case_alone(sojourn: Sojourn) -> None:
    done = sojourn(*QUICKEST)
    assert done.returncode == 0, done.stderr
    speed, of = (line.split() for line in done.stdout.splitlines() if line.startswith(" A "))
    assert (len(speed), len(of)) == (9, 6)
    assert all(float(cell) >= 0 for cell in (*speed[1:], *of[1:]))
    assert "Start-up" not in done.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [(("--case", "D"), "there are: A, B"), (("--case", "A", "--out", "."), "is not a new name")],
)
def test_bad_input_is_told_before_anything_runs(
    sojourn: Sojourn, small: Path, args: tuple[str, ...], says: str
) -> None:
    done = sojourn("bench", *args)
    assert done.returncode == 2
    assert says in done.stderr


def test_parts_are_shares_of_the_whole() -> None:
    samples = {"queue": 1, "transport": 5, "controller": 1, "engine": 2, "recording": 1}
    of = measure.by_share(80.0, samples)
    assert of == {
        "queue": 8.0,
        "transport": 40.0,
        "controller": 8.0,
        "engine": 16.0,
        "recording": 8.0,
    }


def test_parts_are_shown_where_something_tells_them() -> None:
    told: Parts = {
        "queue": 10.5,
        "transport": 20.5,
        "controller": 3.5,
        "engine": 30.5,
        "recording": 0.0,
    }
    asked: list[str] = []

    def parts_of(case: Case, _: float) -> Parts:
        asked.append(case.name)
        return told

    found = measure.bench(QUICK, ["a"], lambda *_: None, parts_of)
    assert asked == ["A"]
    assert found["cases"]["A"]["parts_ns"] == told
    out = io.StringIO()
    command_of.show(found, Console(file=out, width=160))
    assert "20.5" in out.getvalue()


def test_cases_are_what_they_say() -> None:
    """The bottleneck carries only data, and every case keeps the default packet size."""
    every = [*CASES, cases.IN_FLIGHT, cases.FULL.scaling(10)[1]]
    for case in every:
        document = json.loads(worker.scenario(case).to_json())
        for flow in document["flow"].values():
            assert flow["path"] == ["bottleneck"]
            assert "bottleneck" not in flow["back"]
            assert "mss" not in flow.get("host", {})
        assert ("-" in case.name) or document.get("title")


def test_case_files_are_the_ones_in_the_repository() -> None:
    files = {path.stem: path.read_text() for path in (ROOT / "benches" / "cases").glob("*.toml")}
    assert dict(_core.bench_cases()) == files


def test_b_loses_and_its_twin_does_not() -> None:
    lossy = sojourn.run(json.loads(worker.scenario(QUICK.case("B")).to_json()))
    spared = sojourn.run(json.loads(worker.scenario(QUICK.case("B-lossless")).to_json()))
    assert lossy.runs[0]["links"][0]["dropped_packets"] > 1000
    assert spared.runs[0]["links"][0]["dropped_packets"] == 0


def test_every_plan_has_every_case() -> None:
    for one in (QUICK, FULL):
        for case in CASES:
            worker.scenario(one.case(case.name))
        for flows in one.flows:
            worker.scenario(one.scaling(flows)[1])


# Libraries for plotting and tables, whose import takes longer than a short simulation.
HEAVY = {"polars", "matplotlib", "pyarrow", "numpy", "pandas", "subprocess"}


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "args",
    [
        ["run", "SMALL", "--json"],
        ["check", "SMALL"],
        ["controllers"],
        ["schema"],
        ["theory", "spike", "--from", "2Mbit", "--to", "1Mbit", "--delay", "1ms"],
    ],
)
def test_commands_that_draw_nothing_load_nothing_heavy(small: Path, args: list[str]) -> None:
    typed = [str(small) if arg == "SMALL" else arg for arg in args]
    before = modules_after("")
    after = modules_after(f"from sojourn.cli import main\nassert main({typed!r}) == 0")
    assert after - before >= {"sojourn._core"}
    assert (after - before) & HEAVY == set()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_its_measurements_end_with_it(tmp_path: Path, ending: signal.Signals) -> None:
    asked = command("bench", "--case", "A")
    process = subprocess.Popen(asked, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL)
    within(60, lambda: bool(_children(process.pid)))
    children = _children(process.pid)
    process.send_signal(ending)
    process.wait(timeout=30)
    within(30, lambda: not any(_is_alive(child) for child in children))


def within(seconds: float, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def _children(of: int) -> list[int]:
    found = Path(f"/proc/{of}/task/{of}/children")
    if not found.exists():
        pytest.skip("this system does not say which processes are children")
    # Only processes that already run Python: a forked child before `exec` has the parent's pipes.
    pids = [int(pid) for pid in found.read_text().split()]
    return [pid for pid in pids if b"-I" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]


def _is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
