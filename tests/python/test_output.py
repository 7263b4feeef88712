"""Standard output and error have no control characters, and never fail to encode."""

import json
import os
import subprocess
import unicodedata
from pathlib import Path

import pytest
from support import SMALL, Sojourn, command, environment

# Clear the screen, the same with a C1 character, DEL, and a reversal of the text direction.
HOSTILE = "a\x1b[2Jb\x9b2Jc\x7fd\u202ee"
TOML = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")


def hostile_scenario(folder: Path) -> Path:
    text = SMALL.replace('"A small drop"', f'"{TOML}\\nsojourn: all is well"')
    file = folder / f"{HOSTILE}.toml"
    file.write_text(text.replace('duration = "6s"', 'duration = "4s"'))
    return file


def controls(text: str) -> set[str]:
    """Characters of the kinds Cc and Cf, and Python's surrogates for bytes that are not text."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {one for one in text if unicodedata.category(one) in kinds} - {"\n"}


def require_harmless(done: "subprocess.CompletedProcess[str]") -> None:
    assert not controls(done.stdout), done.stdout
    assert not controls(done.stderr), done.stderr
    assert "internal error" not in done.stderr
    assert "\nsojourn: all is well" not in done.stdout + done.stderr


def test_names_of_a_scenario(sojourn: Sojourn, tmp_path: Path) -> None:
    file = hostile_scenario(tmp_path)
    checked = sojourn("check", file)
    require_harmless(checked)
    assert checked.returncode == 0
    assert r"a\x1b[2Jb\x9b2Jc\x7fd\u202ee\nsojourn: all is well, 4 s" in checked.stdout
    ran = sojourn("run", file, "--control", "cubic", "--json")
    require_harmless(ran)
    assert HOSTILE in json.loads(ran.stdout)["scenario"]
    file.write_text(SMALL)
    refused = sojourn("run", file, "--out", HOSTILE)
    require_harmless(refused)
    assert refused.returncode == 2
    assert "a name cannot have control characters" in refused.stderr
    ran = sojourn("run", file, "--control", "cubic", "--out", "out")
    require_harmless(ran)
    (tmp_path / "out").rename(tmp_path / HOSTILE)
    summary = sojourn("compare", HOSTILE, HOSTILE, "--json")
    require_harmless(summary)
    assert json.loads(summary.stdout)["a"]["directory"] == HOSTILE


def test_names_of_a_qlog(sojourn: Sojourn, tmp_path: Path) -> None:
    event = {"time": 1, "name": "congestion_state_updated", "data": {"new": HOSTILE}}
    trace = {"title": HOSTILE, "vantage_point": {"name": HOSTILE}, "events": [event]}
    file = tmp_path / "x.qlog"
    file.write_text(json.dumps({"traces": [trace, trace]}))
    done = sojourn("qlog", file)
    require_harmless(done)
    assert done.returncode == 0, done.stderr
    file.write_text("{\x1b[2J")
    require_harmless(sojourn("qlog", file))


@pytest.mark.parametrize(
    "args",
    [
        [HOSTILE],
        ["run", HOSTILE],
        ["run", "x", f"--{HOSTILE}"],
        ["run", "small.toml", "--set", f"{HOSTILE}=1"],
        ["run", "small.toml", "--set", f"title={HOSTILE}", "--control", HOSTILE],
        ["run", "small.toml", "--controller", f"{HOSTILE}.py:Mine"],
        ["run", "small.toml", "--runs", HOSTILE],
        ["check", HOSTILE, f"{HOSTILE}\nsojourn: all is well"],
        ["rtt", HOSTILE],
        ["qlog", HOSTILE],
        ["compare", HOSTILE, HOSTILE],
        ["controllers", HOSTILE],
        ["matrix", "--controls", HOSTILE],
        ["theory", "trace", HOSTILE, "--delay", "10ms"],
        ["theory", "spike", "--from", HOSTILE, "--to", "1Mbit", "--delay", "1s"],
        ["paper", "list", "--papers", HOSTILE],
        ["bench", "--case", HOSTILE],
    ],
)
def test_arguments(sojourn: Sojourn, small: Path, args: list[str]) -> None:
    done = sojourn(*args)
    require_harmless(done)
    assert done.returncode == 2, done.stderr
    assert r"a\x1b[2Jb" in done.stderr


def test_a_controller_says_what_it_likes(sojourn: Sojourn, small: Path, tmp_path: Path) -> None:
    said = json.dumps(f"{HOSTILE}\nsojourn: all is well")
    text = f"""
class Mine:
    title = source = {said}
    def __init__(self, setup): raise ValueError({said})
    def on_feedback(self, now_ns, feedback): pass
    def limits(self): pass
"""
    (tmp_path / "mine.py").write_text(text)
    own = ("--controller", "mine.py:Mine")
    for args in (("controllers", *own), ("controllers", "mine", *own), ("schema", *own)):
        done = sojourn(*args)
        require_harmless(done)
        assert done.returncode == 0, done.stderr
    done = sojourn("run", small, *own, "--control", "mine")
    assert not controls(done.stderr)
    assert done.returncode == 1
    assert r"ValueError: a\x1b[2Jb" in done.stderr


def test_an_argument_that_is_no_text(small: Path) -> None:
    for arg in (b"\xff\x1b.toml", b"--set=title=\xff"):
        done = _run([*map(os.fsencode, command("check", small)), arg])
        assert done.returncode == 2
        assert b"argument 3, " in done.stderr
        assert rb"\xff" in done.stderr
        assert b"is not text" in done.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp437"])
def test_encodings_that_lack_characters(small: Path, encoding: str) -> None:
    small.write_text(SMALL.replace("A small drop", "Größe – 中").replace("6s", "4s"))
    changed = {"PYTHONIOENCODING": encoding}
    for args in (["run", small, "--control", "cubic"], ["check", small], ["check", "中–"]):
        done = _run(command(*args), **changed)
        assert done.returncode == (2 if "中–" in args else 0), done.stderr
        text = (done.stdout + done.stderr).decode(encoding)
        assert r"\u4e2d" in text
        assert " - " in text or r"\u4e2d-" in text
        assert "Traceback" not in text
        assert "internal error" not in text


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(small: Path, tmp_path: Path, closed: str) -> None:
    small.write_text(SMALL.replace("6s", "4s"))
    ran: list[str | Path] = ["run", small, "--control", "cubic", "--out", "out"]
    done = _shell(f'"$@" {closed}', tmp_path, ran)
    assert done.returncode == 0, done.stderr
    assert b"internal error" not in done.stderr
    # No file got the number of a closed stream, and with it the output for that stream.
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["runs"]
    done = _shell(f'"$@" {closed}', tmp_path, ["check", "missing.toml"])
    assert done.returncode == 2
    assert (b"missing.toml" in done.stderr) == ("2>" not in closed)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_standard_output_is_named(small: Path, tmp_path: Path) -> None:
    shown: list[list[str | Path]] = [["check", small], ["controllers", "--json"], ["--help"]]
    for args in shown:
        done = _shell('"$@" >/dev/full', tmp_path, args)
        assert done.returncode == 1
        assert done.stderr == (
            b"sojourn: standard output: No space left on device; free space, or write to another "
            b"disk\n"
        )
    done = _shell('"$@" 2>/dev/full', tmp_path, ["check", "missing.toml"])
    assert done.returncode == 2


def test_help_needs_no_colours_of_its_own() -> None:
    done = _run(command("--help"), FORCE_COLOR="1", PYTHON_COLORS="1")
    assert not controls(done.stdout.decode())


def _run(args: list[str] | list[bytes], **env: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(args, env={**environment(), **env}, capture_output=True, timeout=120)


def _shell(script: str, cwd: Path, args: list[str | Path]) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        ["sh", "-c", script, "sh", *command(*args)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        timeout=120,
    )
