"""Output targets are checked before any simulation; output is complete or absent."""

import errno
import fcntl
import os
from pathlib import Path

import pytest
from sojourn import _core, output
from sojourn.errors import OutputExistsError, UsageError
from support import Sojourn

# A simulation too long for any test, so that refusals must come before it.
ENDLESS = ("--set", "duration=1000000s", "--set", "record.interval=1000s")

LONG = "x" * 256


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--out", "."], ["--out '.'", "add one"]),
        (["--out", ""], ["--out ''", "add one"]),
        (["--out", "y/.."], ["--out 'y/..'", "add one"]),
        (["--out", "/"], ["--out '/'", "add one"]),
        (["--out", "small.toml"], ["small.toml", "is no folder", "--out"]),
        (["--out", "small.toml/x"], ["small.toml is no folder", "--out"]),
        (["--out", "/dev/null"], ["/dev/null", "is no folder"]),
        (["--out", LONG], [LONG, "too long"]),
        (["--out", f"{LONG}/x"], [LONG, "too long"]),
        (["--out", "a\nb"], ["--out 'a\\nb'", "control characters"]),
        (["--out", "dangling"], ["dangling", "is no folder"]),
        (["--out", "dangling/x"], ["dangling is no folder"]),
        (["--out", "/proc/x"], ["/proc"]),
        (["--out", "o", "--pcapng", "o/p"], ["--out o", "--pcapng o/p", "contains the other"]),
        (["--out", "o/p", "--pcapng", "o"], ["--out o/p", "--pcapng o", "contains the other"]),
        (["--out", "o", "--qlog", "./o"], ["--out and --qlog both name o"]),
        (["--out", "o", "--qlog", "here/o"], ["--out and --qlog both name here/o"]),
        (["--pcapng", "o", "--qlog", "o/p"], ["--pcapng o", "--qlog o/p", "contains the other"]),
        (["--pcapng", "small.toml"], ["small.toml", "is no folder", "--pcapng"]),
        (["--qlog", "small.toml/x"], ["--qlog small.toml/x", "is no folder"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_a_run_refuses_bad_targets(
    sojourn: Sojourn, small: Path, args: list[str], words: list[str]
) -> None:
    (small.parent / "dangling").symlink_to("nowhere")
    (small.parent / "here").symlink_to(".")
    done = sojourn("run", small, *ENDLESS, *args)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert {path.name for path in small.parent.iterdir()} == {"small.toml", "dangling", "here"}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["matrix", "--out", "."], ["--out '.'"]),
        (["bench", "--out", "small.toml/x"], ["small.toml is no folder"]),
        (["paper", "run", "all", "--out", ""], ["--out ''"]),
        (["compare", "a", "b", "--out", "y/.."], ["--out 'y/..'"]),
        (["compare", "a", "b", "--plot", "no/x.svg"], ["no/x.svg", "there is no folder no"]),
        (["qlog", "x.sqlog", "--out", "small.toml"], ["small.toml", "is no folder"]),
        (["qlog", "x.sqlog", "--plot", "small.toml/x.svg"], ["small.toml is no folder"]),
        (["rtt", "-", "--plot", f"{LONG}.svg"], ["too long"]),
        (["rtt", "-", "--plot", "a\nb.svg"], ["control characters"]),
        (["theory", "trace", "x", "--delay", "1ms", "--plot", "x.gif"], ["saved as"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_other_commands_refuse_bad_targets(
    sojourn: Sojourn, small: Path, args: list[str], words: list[str]
) -> None:
    done = sojourn(*args)
    assert done.returncode == 2, done.stderr
    for word in words:
        assert word in done.stderr
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_a_folder_that_cannot_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write anywhere, so the test replaces the system's answer.
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    for refused in (output.require_free, output.require_free_file):
        with pytest.raises(UsageError, match="cannot be written to; name a place elsewhere"):
            refused(tmp_path / "x")


def test_a_long_name_is_written(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 255)
    output.write_folder(target, lambda place: (place / "file").write_text("whole"))
    assert (target / "file").read_text() == "whole"


def test_a_base_leaves_room_for_its_number(tmp_path: Path) -> None:
    for number in range(2):
        with output.choose(None, tmp_path / ("é" * 127)).opened() as opened:
            (opened.place / "file").write_text(str(number))
        assert (opened.target / "file").read_text() == str(number)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_fault_leaves_nothing(tmp_path: Path) -> None:
    def faulty(place: Path) -> None:
        (place / "file").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        output.write_folder(tmp_path / "a" / "b" / "target", faulty)
    with pytest.raises(ZeroDivisionError):
        output.write_new_file(tmp_path / "target.svg", lambda file: faulty(file.parent))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over_what_came_meanwhile(tmp_path: Path) -> None:
    target, file = tmp_path / "target", tmp_path / "target.svg"

    def meanwhile(_: Path) -> None:
        target.mkdir()
        (target / "other").write_text("kept")

    with pytest.raises(OutputExistsError, match="another process"):
        output.write_folder(target, meanwhile)
    with pytest.raises(OutputExistsError, match="another process"):
        output.write_new_file(file, lambda part: (part.write_text("new"), file.write_text("kept")))
    assert (target / "other").read_text() == file.read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target", "target.svg"]


def test_another_fault_is_not_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "target"

    def refuse(place: Path, path: Path) -> None:
        target.mkdir()
        raise OSError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(_core, "complete", refuse)
    for numbered in (False, True):
        with (
            pytest.raises(PermissionError),
            output.Choice(target, numbered=numbered).opened() as opened,
        ):
            (opened.place / "file").write_text("whole")
        target.rmdir()


def _abandoned(target: Path) -> Path:
    """Return a hidden folder of a killed process."""
    with output.Choice(target, numbered=False).opened() as opened:
        place = opened.place
    place.mkdir()
    (place / "half").write_text("half")
    for one in target.iterdir():
        one.unlink()
    return place


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    left, other = _abandoned(target), _abandoned(tmp_path / "other")
    output.write_folder(target, lambda place: (place / "file").write_text("whole"))
    assert not left.exists()
    assert other.exists(), "that belongs to another target"


def test_what_a_living_process_writes_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "target"
    place = _abandoned(target)
    lock = os.open(place, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(OutputExistsError, match="is being written by another command"):
        output.write_folder(target, lambda place: (place / "file").write_text("whole"))
    os.close(lock)
    assert (place / "half").exists()
    with output.Choice(tmp_path / "own", numbered=False).opened() as opened:
        (opened.place / "file").write_text("first")
        # A second process that writes to the same place at the same time.
        with output.Choice(tmp_path / "own", numbered=True).opened() as second:
            (second.place / "file").write_text("second")
        assert (opened.place / "file").read_text() == "first"
        (second.target / "file").unlink()
