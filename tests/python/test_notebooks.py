"""The tutorials run as notebooks, and objects show themselves in Jupyter."""

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sojourn
from sojourn.errors import PictureError
from sojourn.picture import page
from sojourn.record.summary_metrics import Metric
from support import ROOT

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.long
@pytest.mark.parametrize("file", TUTORIALS, ids=lambda file: file.stem)
def test_tutorial_runs(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("jupytext")
    import notebooks

    notebook = notebooks.executed(file, tmp_path / "run")
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) >= 3, "a tutorial shows its results"
    text = notebooks.to_markdown(notebook, file.stem, tmp_path / "figures")
    assert 'class="output"' in text
    assert "Traceback" not in text


class _Tags(HTMLParser):
    """The tags that are open at the end, and the tooltips."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.titles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("img", "br"):
            self.open.append(tag)
        self.titles += [value or "" for name, value in attrs if name == "title"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sojourn.Run:
    """A run of one controller."""
    return sojourn.run("capacity-drop", control="cubic", set={"duration": "40s"})


def test_run_shows_table_tooltips_and_figure(run: sojourn.Run) -> None:
    shown = run._repr_html_()
    tags = _Tags(shown)
    assert tags.open == []
    assert Metric("spike", "spike_s").meaning in tags.titles
    (frame,) = re.findall('<iframe[^>]* srcdoc="([^"]+)"', shown)
    assert 'id="figure-data"' in html.unescape(frame)


def test_run_shows_its_table_without_a_figure(
    run: sojourn.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise PictureError("no <renderer>")

    monkeypatch.setattr(page, "html", fail)
    shown = run._repr_html_()
    assert "<table" in shown
    assert "No figure: no &lt;renderer&gt;" in shown


def test_scenario_shows_links_flows_and_text() -> None:
    scenario = sojourn.Scenario.load("capacity-drop")
    scenario["title"] = "<b>A title</b>"
    shown = scenario._repr_html_()
    assert _Tags(shown).open == []
    assert "<strong>&lt;b&gt;A title&lt;/b&gt;</strong>" in shown
    for text in ("bottleneck", "start = 60Mbit", "<summary>As TOML</summary>", "[link.bottleneck]"):
        assert text in shown


def test_faulty_scenario_shows_itself() -> None:
    shown = sojourn.Scenario(title="None", link=3, flow={"a": {"path": ["x"]}})._repr_html_()
    assert _Tags(shown).open == []


def test_selection_and_dataset_show_themselves(
    run: sojourn.Run, small: Path, tmp_path: Path
) -> None:
    shown = run.flow("upload")._repr_html_()
    assert _Tags(shown).open == []
    assert "goodput_bps" in shown
    delays = {"link.back.delay": [f"{delay}ms" for delay in range(1, 13)]}
    data = sojourn.sweep(small, delays, tmp_path / "data", "cubic", jobs=1)
    shown = data._repr_html_()
    assert _Tags(shown).open == []
    assert "12 runs; axes: delay_s" in shown
    assert "and 2 more runs" in shown


def test_one_command_opens_the_tutorials(tmp_path: Path) -> None:
    """`docs/notebooks`, with stand-ins for its tools: a user's notebook survives a second call."""
    place = tmp_path / "clone"
    (place / "docs" / "tutorials").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "notebooks", place / "docs")
    (place / "Makefile").write_text("install:\n")
    (place / "docs" / "tutorials" / "one.md").write_text("# One\n")
    bin = place / ".venv" / "bin"
    bin.mkdir(parents=True)
    tools = {
        "python": "exit 0",
        "jupytext": 'shift 4; echo "$1" >> written; echo new > "$1"',
        "jupyter": 'echo "$1" in "$(basename "$PWD")"',
        "jupyter-lab": "",
    }
    for name, line in tools.items():
        (bin / name).write_text(f"#!/bin/sh\n{line}\n")
        (bin / name).chmod(0o755)
    for _ in range(2):
        done = subprocess.run([place / "docs" / "notebooks"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("lab in notebooks\n")
        (place / "target" / "notebooks" / "one.ipynb").write_text("mine")
    assert (place / "written").read_text() == "target/notebooks/one.ipynb\n"
