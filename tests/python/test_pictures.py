"""A failed picture does not affect the data; the command reports it with the reason."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest
import sojourn as api
import vl_convert
from sojourn.cli import main
from sojourn.errors import PictureError, PictureWarning
from sojourn.pictures import Pictures
from sojourn.report import Drawing, page, render
from support import SMALL, Sojourn, command, environment

DATA = {"summary.json", "flows.parquet", "links.parquet", "scenario.toml"}
REPORT = {"report.html", "report.png", "report.svg"}
POINT = {"data": {"values": [{}]}, "mark": "point"}
# More rows than the limits in these tests allow.
HEAVY = {"data": {"sequence": {"start": 0, "stop": 100_000_000}}, "mark": "point"}
# Characters that XML 1.0 forbids.
FORBIDDEN = [*map(chr, (0, 1, 8, 0xB, 0xC, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF))]


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing process that crashes like V8."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    script = tmp_path / "broken.py"
    script.write_text("import os, sys\nsys.stdin.readline()\nos.kill(os.getpid(), 5)\n")
    render._end()
    page._script.cache_clear()
    monkeypatch.setattr(render, "_WORKER", str(script))


def limited(kind: int, limit: int, *args: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*args),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
    )


@pytest.mark.usefixtures("broken")
def test_a_run_whose_pictures_fail_keeps_its_data(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = small.parent / "out"
    assert main(["run", str(small), "--png", "--svg", "--out", str(out)]) == 1
    assert names(out) == DATA
    said = capsys.readouterr()
    assert "cubic" in said.out
    assert re.search("out: report.html, report.svg, report.png could not be drawn", said.err)
    assert "SIGTRAP" in said.err
    assert f"`sojourn report {out} --svg --png` draws again" in said.err
    assert api.load(out).runs


def test_the_report_is_drawn_again_from_the_data(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = small.parent / "out"
    assert main(["run", str(small), "--svg", "--png", "--out", str(out)]) == 0
    first = {name: (out / name).read_bytes() for name in REPORT}
    for name in ("report.svg", "report.png"):
        (out / name).unlink()
    (out / "report.html").write_text("old")
    capsys.readouterr()
    assert main(["report", str(out)]) == 0
    assert capsys.readouterr().out == f"Report: {out / 'report.html'}\n"
    assert names(out) == DATA | {"report.html"}
    assert main(["report", str(out), "--png", "--svg"]) == 0
    files = [str(out / f"report.{one}") for one in ("html", "svg", "png")]
    assert capsys.readouterr().out == f"Report: {', '.join(files)}\n"
    assert {name: (out / name).read_bytes() for name in REPORT} == first
    assert names(out) == DATA | REPORT
    assert main(["report", str(small.parent)]) == 2


@pytest.mark.usefixtures("broken")
def test_saving_from_python_warns_of_missing_pictures(small: Path) -> None:
    run = api.run(small, control="cubic")
    with pytest.warns(PictureWarning, match="SIGTRAP"):
        out = run.save(small.parent / "out")
    assert names(out) == DATA
    with pytest.raises(PictureError, match="SIGTRAP"):
        run.plot().save(small.parent / "x.svg")
    assert not (small.parent / "x.svg").exists()


@pytest.mark.usefixtures("broken")
def test_a_plot_that_fails_leaves_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.svg"
    args = ["theory", "spike", "--from", "60Mbit", "--to", "20Mbit", "--delay", "50ms"]
    assert main([*args, "--plot", str(file)]) == 1
    said = capsys.readouterr()
    assert "100" in said.out
    assert f"{file}: the figure could not be written" in said.err
    assert names(tmp_path) == {"broken.py"}


@pytest.mark.parametrize("sign", FORBIDDEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_text_that_xml_cannot_carry_is_replaced(sign: str) -> None:
    drawn = render.svg({**POINT, "title": f"a{sign}b"})
    assert "a\ufffdb" in drawn
    assert render.png(drawn).startswith(b"\x89PNG")


def test_control_characters_in_a_title_are_drawn_and_kept(small: Path, sojourn: Sojourn) -> None:
    small.write_text(SMALL.replace("A small drop", r"A\u0000B\u0001C\u000B\uFFFED"))
    done = sojourn("run", small, "--control", "cubic", "--out", "out", "--svg", "--png")
    assert done.returncode == 0, done.stderr
    out = small.parent / "out"
    assert names(out) == DATA | REPORT
    for name in ("report.svg", "report.html"):
        assert "A\ufffdB\ufffdC\ufffd\ufffdD" in (out / name).read_text("utf-8")
    assert api.load(out).title == "A\0B\1C\x0b\ufffeD"


def test_a_long_title_does_not_widen_the_picture() -> None:
    drawn = render.svg({**POINT, "title": {"text": "A" * 1_000_000}})
    assert len(drawn) < 10_000
    assert "A…<" in drawn


def test_a_limit_on_the_address_space_costs_no_data(small: Path) -> None:
    out = small.parent / "out"
    args = ("run", small, "--control", "cubic", "--out", out, "--svg", "--png")
    done = limited(resource.RLIMIT_AS, 4_000_000_000, *args)
    if done.returncode == 0:
        # A user who may raise the limit draws within a memory limit instead.
        assert names(out) == DATA | REPORT
    else:
        # The browser draws the page, so it is present.
        assert done.returncode == 1, done.stderr
        assert names(out) == DATA | {"report.html"}
        assert "ulimit -v" in done.stderr
    assert api.load(out).runs


@pytest.mark.parametrize(("room", "file"), [(1_000, "summary.json"), (100_000, "report.html")])
def test_a_full_disk_is_told_with_the_file(small: Path, room: int, file: str) -> None:
    out = small.parent / "out"
    done = limited(resource.RLIMIT_FSIZE, room, "run", small, "--out", out)
    assert file in done.stderr
    assert "File too large" in done.stderr
    if file in REPORT:
        assert done.returncode == 1
        assert names(out) >= DATA
        assert all(one in REPORT | DATA for one in names(out))
    else:
        assert done.returncode == 1
        assert names(small.parent) == {"small.toml"}


def test_a_plot_on_a_full_disk_leaves_no_part(tmp_path: Path) -> None:
    file = tmp_path / "x.svg"
    args = ("theory", "spike", "--from", "60Mbit", "--to", "20Mbit", "--delay", "50ms")
    done = limited(resource.RLIMIT_FSIZE, 1_000, *args, "--plot", file)
    assert done.returncode == 1
    assert f"{file}: " in done.stderr
    assert "File too large" in done.stderr
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("_MEMORY_BYTES", 1_000_000_000, "memory"), ("_CPU_S", 1, "more than 1 s of CPU time")],
)
def test_a_picture_that_takes_too_much_is_given_up(
    limit: str, value: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    render._end()
    monkeypatch.setattr(render, limit, value)
    with pytest.raises(PictureError, match=said):
        render.svg(HEAVY)
    # The next picture gets a new process.
    assert render.svg(POINT).startswith("<svg")
    render._end()


def test_a_drawing_process_that_waits_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "waits.py"
    script.write_text("import time\ntime.sleep(600)\n")
    render._end()
    monkeypatch.setattr(render, "_WORKER", str(script))
    monkeypatch.setattr(render, "_WALL_S", 1)
    with pytest.raises(PictureError, match="no answer within 1 s"):
        # More than a pipe holds.
        render.png("x" * 1_000_000)
    assert render._worker is None


def test_a_limit_on_addresses_is_blamed_only_for_its_own_deaths(
    broken: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "_address_space_limit", lambda: 4_000_000_000)
    with pytest.raises(PictureError, match="ended with SIGTRAP") as told:
        render.svg(POINT)
    assert "ulimit" not in str(told.value)


def test_a_png_without_svg_has_the_reason_of_its_svg(tmp_path: Path) -> None:
    told: list[str] = []
    drawn = Pictures(told.append, ("html", "svg", "png"), live=False)

    class Broken:
        def save(self, file: Path, dark: bool) -> None:
            raise PictureError("one" if file.suffix == ".svg" else "two")

    def fail(reason: str) -> str:
        raise PictureError(reason)

    # The reason of the SVG is there already, and is not the newest.
    drawn.picture(lambda: fail("one"), tmp_path / "first")
    drawn.picture(lambda: fail("two"), tmp_path / "second")
    drawn.report(cast(Drawing, Broken()), tmp_path)
    drawn.finish("out")
    assert "first.svg and .png, report.svg, report.png could not be drawn: one." in told[0]
    assert "second.svg and .png, report.html could not be drawn: two." in told[1]


def test_pictures_are_drawn_where_only_the_path_has_the_libraries(small: Path) -> None:
    """As after `pip install --target`: an interpreter that does not know their folder."""
    if sys.prefix == sys.base_prefix:
        pytest.skip("the libraries are the interpreter's own")
    places = [str(Path(one.__file__ or "").parents[1]) for one in (vl_convert, api)]
    args = command("run", small, "--out", "out", "--png")
    done = subprocess.run(
        [str(Path(sys.executable).resolve()), *args[1:]],
        cwd=small.parent,
        env={**environment(), "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert names(small.parent / "out") == DATA | {"report.html", "report.png"}


def test_a_forked_process_does_not_keep_the_drawing_process(tmp_path: Path) -> None:
    script = (
        "import os, time\n"
        "from sojourn.report import render\n"
        f"render.svg({POINT})\n"
        "worker = render._worker._process.pid\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        f"    assert render.svg({POINT}).startswith('<svg')\n"
        "    render._end()\n"
        "    os.write(1, b'drawn\\n')\n"
        "    time.sleep(600)\n"
        "print(worker, child, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert parent.stdout is not None
    lines = sorted(parent.stdout.readline() for _ in range(2))
    assert lines[1] == "drawn\n"
    worker, child = map(int, lines[0].split())
    try:
        parent.kill()
        parent.wait()
        until = time.monotonic() + 20
        while is_alive(worker) and time.monotonic() < until:
            time.sleep(0.05)
        assert is_alive(child)
        assert not is_alive(worker)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()


@pytest.mark.parametrize("limit", [102_400_000, 400_000_000])
def test_data_are_complete_where_polars_cannot_be_loaded(small: Path, limit: int) -> None:
    out = small.parent / "out"
    args = ("run", small, "--control", "cubic", "--out", out)
    done = limited(resource.RLIMIT_AS, limit, *args, "--jobs", "1")
    assert done.returncode == 1, done.stderr
    assert names(out) == DATA
    assert "polars cannot be loaded within this limit of memory" in done.stderr
    assert "Warning" not in done.stderr
    assert api.load(out).runs
    again = limited(resource.RLIMIT_AS, limit, "report", out)
    assert again.returncode == 2
    assert "polars cannot be loaded within this limit of memory" in again.stderr


@pytest.mark.parametrize("busy", [False, True])
def test_the_drawing_process_ends_with_its_parent(busy: bool, tmp_path: Path) -> None:
    script = (
        "import threading, time\n"
        "from sojourn.report import render\n"
        f"render.svg({POINT})\n"
        "print(render._worker._process.pid, flush=True)\n"
        f"{'render.svg(' + repr(HEAVY) + ')' if busy else 'time.sleep(600)'}\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + 20
    while is_alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_alive(worker)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_files_beside_the_user_stand_in_for_no_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("vl_convert.py", "json.py", "resource.py"):
        (tmp_path / name).write_text("raise SystemExit('shadowed')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    render._end()
    assert render.svg(POINT).startswith("<svg")
