"""The scenarios and papers of the package are found and copied without a checkout."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import sojourn
from sojourn.run import shipped
from support import ROOT, Sojourn

NAMES = sorted(
    file.relative_to(ROOT / "scenarios").with_suffix("").as_posix()
    for file in (ROOT / "scenarios").rglob("*.toml")
)


def test_every_scenario_ships(sojourn: Sojourn) -> None:
    listed = json.loads(sojourn("scenarios", "--json").stdout)
    assert [one["name"] for one in listed] == NAMES == shipped.names()
    assert {"name": "capacity-drop", "title": "A capacity drop"} in listed


def test_a_name_runs_as_its_file(sojourn: Sojourn, tmp_path: Path) -> None:
    given = ("--control", "cubic", "--set", "duration=31s", "--json")
    by_name = json.loads(sojourn("run", "capacity-drop", *given).stdout)
    file = ROOT / "scenarios" / "capacity-drop.toml"
    by_file = json.loads(sojourn("run", file, *given).stdout)
    assert by_name["scenario"] == "capacity-drop"
    assert by_name["runs"] == by_file["runs"]


def test_python_takes_names() -> None:
    assert sojourn.Scenario.load("ns3/cubic-50ms")["title"].startswith("ns-3")
    # The file that it names is found beside it.
    sojourn.Scenario.load("cellular").check()


def test_a_file_of_the_user_comes_first(sojourn: Sojourn, tmp_path: Path, small: Path) -> None:
    (tmp_path / "cellular").write_text(small.read_text("utf-8"), "utf-8")
    assert "A small drop" in sojourn("check", "cellular").stdout


def test_a_folder_hides_no_scenario(sojourn: Sojourn, tmp_path: Path, small: Path) -> None:
    (tmp_path / "cellular").mkdir()
    (tmp_path / "mine").mkdir()
    assert sojourn("check", "cellular").returncode == 0
    assert "mine: Is a directory" in sojourn("check", "mine").stderr
    os.mkfifo(tmp_path / "web")
    with subprocess.Popen(["cp", small, tmp_path / "web"]):
        assert "A small drop" in sojourn("check", "web").stdout


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("scenarios/capacity-drop.toml", "the shipped scenario has the name `capacity-drop`"),
        ("my/ns3/dctcp-10ms.toml", "the shipped scenario has the name `ns3/dctcp-10ms`"),
        ("capacity-drp", "did you mean the shipped scenario `capacity-drop`?"),
        ("mine.toml", "No such file or directory"),
    ],
)
def test_a_missing_file_names_the_remedy(sojourn: Sojourn, given: str, hint: str) -> None:
    for command in ("run", "check"):
        done = sojourn(command, given)
        assert done.returncode == 2
        assert hint in done.stderr


def test_a_misspelt_file_suggests_the_one_in_its_folder(
    sojourn: Sojourn, tmp_path: Path, small: Path
) -> None:
    (tmp_path / "mine").mkdir()
    for place in ("", "mine/"):
        (tmp_path / place / "drop.toml").write_bytes(small.read_bytes())
        done = sojourn("run", f"{place}dorp.toml")
        assert done.returncode == 2
        assert f"did you mean `{place}drop.toml`?" in done.stderr


def test_copies_run_without_the_package(sojourn: Sojourn, tmp_path: Path) -> None:
    done = sojourn("scenarios", "--copy", "mine")
    assert done.returncode == 0, done.stderr
    copied = {file.relative_to(tmp_path / "mine") for file in (tmp_path / "mine").rglob("*.*")}
    source = ROOT / "scenarios"
    assert copied == {file.relative_to(source) for file in source.rglob("*.*")}
    for file in copied:
        assert (tmp_path / "mine" / file).read_bytes() == (source / file).read_bytes()
    assert sojourn("check", "mine/cellular.toml").returncode == 0


def test_a_copy_replaces_no_other_file(sojourn: Sojourn, tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text("mine", "utf-8")
    done = sojourn("scenarios", "web", "queues", "--copy", ".")
    assert done.returncode == 2
    assert "web.toml: a file of another content is in the way" in done.stderr
    assert not (tmp_path / "queues.toml").exists(), "nothing was written"
    assert (tmp_path / "web.toml").read_text("utf-8") == "mine"


def test_one_scenario_is_printed(sojourn: Sojourn) -> None:
    done = sojourn("scenarios", "web")
    assert done.stdout == (ROOT / "scenarios" / "web.toml").read_text("utf-8")
    assert "did you mean `web`?" in sojourn("scenarios", "wbe").stderr
    assert sojourn("scenarios", "web", "queues").returncode == 2


def test_papers_are_found_without_a_folder(sojourn: Sojourn) -> None:
    listed = json.loads(sojourn("paper", "list", "--json").stdout)
    assert len(listed) == len(list((ROOT / "papers").glob("*/paper.py")))
    assert sojourn("paper", "list", "--papers", "papers").returncode == 2
