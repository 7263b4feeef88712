"""A key with a wrong name is refused with the nearest right one, whole and first."""

import pytest
from sojourn.cli import main

Captured = pytest.CaptureFixture[str]

NEAREST = {
    "link.botleneck.rate=1Mbit": "link.bottleneck.rate",
    "flow.uplaod.control=cubic": "flow.upload.control",
    'flow."up load".count=2': "flow.upload.count",
    "bottleneck.rate=5Mbit": "link.bottleneck.rate",
    "upload.control=bbr": "flow.upload.control",
    "rate=5Mbit": "link.bottleneck.rate",
    "quue=codel": "link.bottleneck.queue",
    "rate.steps.0.rate=1Mbit": "link.bottleneck.rate.steps.0.rate",
    "duraton=5s": "duration",
}


@pytest.mark.parametrize("assignment", NEAREST)
def test_the_nearest_key_is_named_first(assignment: str, capsys: Captured) -> None:
    """A user who wrote one wrong letter reads one correction, not the keys of a new flow."""
    assert main(["run", "capacity-drop", "--json", "--set", assignment]) == 2
    said = capsys.readouterr().err
    assert said.count("error: ") == 1
    assert f"did you mean `{NEAREST[assignment]}`?" in said
    assert "--set:1:" in said


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("link.up.rate=1Mbit", "there are: bottleneck, back"),
        ("flow.second.count=2", "add `path`"),
        ("xyzzy=1", "there are: schema, title"),
    ],
)
def test_a_name_near_no_other_is_answered_by_all(
    assignment: str, words: str, capsys: Captured
) -> None:
    assert main(["run", "capacity-drop", "--json", "--set", assignment]) == 2
    assert words in capsys.readouterr().err


def test_a_new_flow_is_no_wrong_name(capsys: Captured) -> None:
    line = ["--set", "flow.uploads.path=['bottleneck']", "--set", "flow.uploads.back=['back']"]
    line += ["--set", "duration=31s", "--control", "cubic"]
    assert main(["run", "capacity-drop", "--json", *line]) == 0
    assert '"name": "uploads"' in capsys.readouterr().out


def test_an_axis_gets_the_same_answer(capsys: Captured) -> None:
    line = ["sweep", "capacity-drop", "--dry-run", "--vary"]
    assert main([*line, "flow.uplaod.control=cubic,bbr"]) == 2
    said = capsys.readouterr().err
    assert said.count("error: ") == 1
    assert "did you mean `flow.upload.control`?" in said
    assert "--vary:1:1" in said


def test_check_takes_the_controllers_of_run(capsys: Captured) -> None:
    """A script checks the line that it will run."""
    assert main(["check", "capacity-drop", "--control", "cubic,bbr"]) == 0
    assert "for each of cubic, bbr)" in capsys.readouterr().out
    assert main(["check", "capacity-drop", "--control", "cubick"]) == 2
    assert "did you mean `cubic`?" in capsys.readouterr().err
