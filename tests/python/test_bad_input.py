"""Bad input: exit status 2, a helpful message, no traceback, no output files."""

import subprocess
from pathlib import Path

import pytest
from support import SMALL, Sojourn


def refused(done: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    for word in words:
        assert word in done.stderr


# A text of the small scenario, its replacement, and words that the message must contain.
WRONG = {
    "misspelt key": ('title    = "A', 'titel    = "A', ["titel", "title", ":1:1"]),
    "unit": ('"12Mbit"', '"12MB"', ["12MB", ":7:"]),
    "missing unit": ('"12Mbit"', '"12"', ["12", ":7:"]),
    "negative rate": ('"12Mbit"', '"-12Mbit"', ["negative", ":7:"]),
    "controller": ('"dctcp"', '"dctpc"', ["dctpc", "dctcp", ":4:"]),
    "parameter": ("ecn = true", "ecm = true", ["ecm", "ecn", ":9:"]),
    "link of a path": ('["bottleneck"]', '["bottlneck"]', ["bottlneck", "bottleneck", ":15:"]),
    "missing trace": (
        '{ start = "12Mbit", steps = [{ at = "3s", rate = "6Mbit" }] }',
        '{ trace = "no.trace" }',
        ["no.trace", ":7:"],
    ),
    "time past the end": ('at = "3s"', 'at = "30s"', ["30s", ":7:"]),
    "syntax": ("duration = ", "duration : ", [":2:"]),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("command", ["run", "check"])
def test_scenario_is_refused_at_its_line(
    sojourn: Sojourn, small: Path, what: str, command: str
) -> None:
    before, after, words = WRONG[what]
    assert before in SMALL
    small.write_text(SMALL.replace(before, after))
    refused(sojourn(command, small), str(small), *words)
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "nowhere.toml"], ["nowhere.toml", "No such file"]),
        (["run", "."], ["Is a directory"]),
        (["run"], ["FILE"]),
        (["run", "small.toml", "--runs", "0"], ["--runs", "1 or more"]),
        (["run", "small.toml", "--jobs", "no"], ["--jobs"]),
        (["run", "small.toml", "--seed", "-1"], ["--seed", "0 or more"]),
        (["run", "small.toml", "--control", "cubic,,bbr"], ["--control"]),
        (["run", "small.toml", "--control", "cubc"], ["cubc", "cubic"]),
        (["run", "small.toml", "--set", "duration"], ["duration"]),
        (
            ["run", "small.toml", "--control", "cubic", "--set", "flow.upload.control.beta=0.3"],
            ["flow.upload.control.beta has no effect", "controls=["],
        ),
        (["run", "small.toml", "--set", "link.back.dealy=1ms"], ["dealy", "delay"]),
        (["run", "small.toml", "--spread", "5"], ["5"]),
        (["theory", "spike", "--from", "60", "--to", "20Mbit", "--delay", "50ms"], ["60", "unit"]),
        (["theory"], ["COMMAND"]),
        (["controllers", "cubc"], ["cubc", "cubic"]),
        (["queues", "sfq"], ["sfq", "codel"]),
        (["frobnicate"], ["frobnicate"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_arguments_are_refused(
    sojourn: Sojourn, small: Path, args: list[str], words: list[str]
) -> None:
    refused(sojourn(*args), *words)


def test_binary_file_is_refused(sojourn: Sojourn, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    refused(sojourn("run", "x.toml"), "x.toml", "UTF-8")


def test_folder_that_holds_something_is_refused(sojourn: Sojourn, small: Path) -> None:
    out = small.parent / "out"
    out.mkdir()
    (out / "precious.txt").write_text("keep")
    refused(sojourn("run", small, "--out", out), str(out), "not empty")
    assert [path.name for path in out.iterdir()] == ["precious.txt"]


def test_no_command_shows_help(sojourn: Sojourn) -> None:
    done = sojourn()
    assert done.returncode == 2
    assert "commands:" in done.stderr
    assert done.stdout == ""


def test_check_goes_on_to_the_next_file(sojourn: Sojourn, small: Path) -> None:
    wrong = small.with_name("wrong.toml")
    wrong.write_text(SMALL.replace("title", "titel"))
    done = sojourn("check", wrong, small)
    assert done.returncode == 2
    assert "titel" in done.stderr
    assert f"{small}: ok" in done.stdout


def test_more_memory_than_there_is_is_refused(sojourn: Sojourn, small: Path) -> None:
    # A million seconds sampled every microsecond: 10^12 rows, more than any machine holds.
    done = sojourn("run", small, "--set", "duration=1000000s", "--set", "record.interval=1us")
    refused(done, "memory", "available")
