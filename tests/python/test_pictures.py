"""A failed picture does not affect the data; the command reports it with the reason."""

import re
import resource
import subprocess
from pathlib import Path

import pytest
import sojourn as api
from sojourn.cli import main
from sojourn.errors import PictureError, PictureWarning
from sojourn.picture import Chart, page, static
from sojourn.picture.chart import Document
from support import SMALL, Sojourn, command, environment

DATA = {"summary.json", "flows.parquet", "links.parquet", "scenario.toml"}
REPORT = {"report.html", "report.png", "report.svg"}
# Characters that XML 1.0 forbids.
FORBIDDEN = [*map(chr, (0, 1, 8, 0xB, 0xC, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF))]


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renderers that fail."""

    def fail(*_: object, **__: object) -> str:
        raise PictureError("no renderer")

    monkeypatch.setattr(page, "html", fail)
    monkeypatch.setattr(static, "figure", fail)


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
    assert "no renderer" in said.err
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
    with pytest.warns(PictureWarning, match="no renderer"):
        out = run.save(small.parent / "out")
    assert names(out) == DATA
    with pytest.raises(PictureError, match="no renderer"):
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
    assert f"{file}: the picture could not be written" in said.err
    assert names(tmp_path) == set()


@pytest.mark.parametrize("sign", FORBIDDEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_text_that_xml_cannot_carry_is_replaced(sign: str) -> None:
    drawn = Chart(Document(f"a{sign}b", "", []))
    for text in (drawn.svg, drawn.html):
        assert "a\ufffdb" in text
    assert drawn.png.startswith(b"\x89PNG")


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
    drawn = Chart(Document("A" * 1_000_000, "", [])).svg
    assert len(drawn) < 10_000
    assert "A…<" in drawn


# The data have up to 35 kB, and the report has 76 kB without the page of a full build.
@pytest.mark.parametrize(("room", "file"), [(1_000, "summary.json"), (50_000, "report.html")])
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
