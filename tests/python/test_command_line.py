"""Comfort of the command line: suggestions, completion, the version, and the names of files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sojourn import _core
from support import SMALL, environment
from support import Sojourn as Command


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (["rnu", "x.toml"], "there is no command 'rnu'; did you mean 'run'?"),
        (["theory", "spke"], "there is no command 'spke'; did you mean 'spike'?"),
        (["run", "x.toml", "--contrl", "cubic"], "no option --contrl; did you mean --control?"),
        (["run", "x.toml", "--contrl=cubic"], "no option --contrl; did you mean --control?"),
        (["live", "x.toml", "--stack", "upd"], "no value of --stack 'upd'; did you mean 'udp'?"),
        (["run", "x.toml", "--quux"], "there is no option --quux; --help lists the options"),
        (["run", "x.toml", "--queue", "codel"], "sojourn run FILE --set link.NAME.queue=..."),
        (["run", "x.toml", "y.toml"], "there is no place for the argument 'y.toml'"),
    ],
)
def test_misspelt_words_get_a_suggestion(sojourn: Command, line: list[str], right: str) -> None:
    done = sojourn(*line)
    assert done.returncode == 2
    assert right in done.stderr.splitlines()[-1]
    assert done.stdout == ""


@pytest.mark.parametrize("alias", ["pfifo", "bfifo"])
def test_an_alias_shows_its_queue(sojourn: Command, alias: str) -> None:
    done = sojourn("queues", alias)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == sojourn("queues", "droptail").stdout
    assert "Aliases: bfifo, pfifo\n" in done.stdout


def test_the_version_has_a_short_option(sojourn: Command) -> None:
    short, long = sojourn("-V"), sojourn("--version")
    assert short.returncode == long.returncode == 0
    assert short.stdout == long.stdout == f"sojourn {short.stdout.split()[1]}\n"


def completions(line: str, place: Path) -> set[str]:
    """Return the completions of a command line, as bash asks for them."""
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SHELL": "bash",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(place / "completions"),
    }
    command = [sys.executable, "-m", "sojourn"]
    subprocess.run(command, env={**environment(), **asked}, cwd=place, check=True)
    return {one.strip() for one in (place / "completions").read_text().split("\n") if one.strip()}


def test_the_shell_completes_commands_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "drop.toml").write_text(SMALL)
    assert completions("sojourn the", tmp_path) == {"theory"}
    assert completions("sojourn theory ", tmp_path) == {"spike", "trace", "rapid"}
    assert completions("sojourn run --cont", tmp_path) == {"--control", "--controller"}
    assert completions("sojourn run dr", tmp_path) == {"drop.toml"}
    assert completions("sojourn live x --stack ", tmp_path) == {"kernel", "udp"}
    assert completions("sojourn run x --control cubic,le", tmp_path) == {
        "cubic,ledbat",
        "cubic,ledbat++",
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_code_names_the_command(sojourn: Command, shell: str) -> None:
    done = sojourn("completion", shell)
    assert done.returncode == 0, done.stderr
    assert "sojourn" in done.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def test_every_output_is_named(sojourn: Command, small: Path, tmp_path: Path) -> None:
    out, events = tmp_path / "run", tmp_path / "events"
    done = sojourn("run", small, "--no-report", "--out", out, "--qlog", events)
    assert f"Run directory: {out}" in done.stdout
    assert done.stderr.splitlines()[-1] == f"wrote {events}"
    second = tmp_path / "second"
    done = sojourn("run", small, "--no-report", "--out", second, "--json")
    assert f"wrote {second}" in done.stderr.splitlines()
    figure = tmp_path / "spike.svg"
    spike = ["theory", "spike", "--from", "60Mbit", "--to", "20Mbit", "--delay", "50ms"]
    done = sojourn(*spike, "--plot", figure)
    assert done.stderr.splitlines() == [f"wrote {figure}"]


@pytest.mark.skipif(not hasattr(_core, "kernel_names"), reason="built without the kernel's part")
def test_the_list_says_that_controllers_of_the_kernel_are_not_loaded(sojourn: Command) -> None:
    shown = sojourn("kernel", "list").stdout
    assert "name when loaded" in shown.splitlines()[1]
    found = json.loads(sojourn("kernel", "list", "--json").stdout)
    assert "sojourn_lola" in [one["kernel_name"] for one in found]
    assert all(one["title"] in shown for one in found)


def test_a_scenario_may_come_from_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sojourn", "run", "-", "--no-report"]
    done = subprocess.run(
        command, input=SMALL, text=True, capture_output=True, cwd=tmp_path, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert f"Run directory: {os.path.join('runs', 'stdin')}" in done.stdout  # noqa: PTH118
