"""The documents are correct: what they show runs, what is generated is current, and none grows."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import outputs
import pytest
import sojourn
from support import ROOT, Sojourn, environment

# Words of each document or folder, tables and shown outputs included. A reader reads them whole, so
# text that is added displaces text that is worth less; measurements belong to a study.
BUDGETS = {
    "README.md": 700,
    "docs/guide": 9_000,
    "docs/model.md": 3_000,
    "docs/theory": 3_500,
    "docs/accuracy.md": 1_500,
    "docs/tutorials docs/gallery.md": 3_500,
    "docs/index.md docs/run-directory.md docs/install.md docs/contract.md docs/crates.md"
    " docs/STYLE.md SECURITY.md CHANGELOG.md crates tests": 4_000,
    "CONTRIBUTING.md": 1_300,
    **{
        f"papers/{paper.name}": 300
        for paper in sorted((ROOT / "papers").iterdir())
        if paper.is_dir()
    },
    **{
        f"studies/{study.name}": 400
        for study in sorted((ROOT / "studies").iterdir())
        if study.is_dir()
    },
    "studies/README.md": 500,
}
# Readers of the repository and of the site wait for the pictures.
PICTURES = 1_000_000
PICTURE = 150_000


def tracked(*endings: str) -> list[Path]:
    """Return the tracked files with these endings; without git, all that are not built."""
    patterns = [f"*{ending}" for ending in endings]
    line = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        *patterns,
    ]
    listed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def under(file: Path, places: str) -> bool:
    return any(file == ROOT / place or ROOT / place in file.parents for place in places.split())


def is_generated(file: Path) -> bool:
    return under(file, "docs/reference")


@pytest.mark.parametrize("places", BUDGETS)
def test_documents_stay_within_their_budgets(places: str) -> None:
    files = [file for file in tracked(".md") if under(file, places)]
    words = {
        file.relative_to(ROOT).as_posix(): len(file.read_text("utf-8").split()) for file in files
    }
    assert sum(words.values()) <= BUDGETS[places], words


def test_every_document_has_a_budget() -> None:
    free = [file for file in tracked(".md") if not is_generated(file)]
    assert [file for file in free if not any(under(file, places) for places in BUDGETS)] == []


def test_pictures_stay_within_their_budget() -> None:
    sizes = {file: file.stat().st_size for file in tracked(".png", ".svg", ".jpg", ".gif", ".webp")}
    assert sum(sizes.values()) <= PICTURES, sizes
    assert {file: size for file, size in sizes.items() if size > PICTURE} == {}


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    return outputs.workplace(tmp_path)


SHOWN = {file.relative_to(ROOT).as_posix(): file for file in outputs.documents()}
# The tutorials are notebooks, which test_notebooks.py executes.
OTHERS = {
    file.relative_to(ROOT).as_posix(): file
    for file in tracked(".md")
    if file not in outputs.documents() and "tutorials" not in file.parts and not is_generated(file)
}


@pytest.mark.parametrize("name", SHOWN)
def test_outputs_have_the_shown_form(name: str, workplace: Path) -> None:
    """Figures may change, and with them a verdict's words and a table's order: `make outputs`."""
    for block, new in outputs.outputs(SHOWN[name].read_text("utf-8"), workplace):
        alike = outputs.likeness(block.text, new)
        assert alike >= outputs.ALIKE, f"{name} shows\n{block.text}\nbut the command prints\n{new}"


@pytest.mark.parametrize("name", OTHERS)
def test_commands_and_programs_run(name: str, workplace: Path) -> None:
    list(outputs.outputs(OTHERS[name].read_text("utf-8"), workplace))


@pytest.mark.parametrize("name", [*SHOWN, *OTHERS])
def test_shown_scenarios_are_valid(name: str, sojourn: Sojourn, tmp_path: Path) -> None:
    for number, block in enumerate(outputs.blocks((ROOT / name).read_text("utf-8"))):
        if block.language == "toml" and "[flow." in block.text:
            file = tmp_path / f"{number}.toml"
            file.write_text(block.text, "utf-8")
            assert sojourn("check", file).stderr == ""


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("cubic 36.0 Mbit/s 93 %", "cubic 35.21 Mbit/s 9 %", True),
        ("cubic 36.0 Mbit/s", "sojourn: no such scenario", False),
        ("a table with six columns here", "", False),
    ],
)
def test_form_ignores_figures_only(old: str, new: str, alike: bool) -> None:
    assert (outputs.likeness(old, new) >= outputs.ALIKE) == alike


def test_outputs_are_written_below_their_commands(workplace: Path) -> None:
    old = "```console lines=1\n$ echo a; echo b\nx\n$ echo c\n```\n"
    new = "```console lines=1\n$ echo a; echo b\na\n...\n$ echo c\nc\n```\n"
    assert outputs.renewed(old, workplace) == new
    program = "```python\nprint(1)\n```\n\n```python\nprint(2)\n```\n\n```text\n{}```\n"
    assert outputs.renewed(program.format(""), workplace) == program.format("2\n")
    with pytest.raises(RuntimeError, match="ended with status 1"):
        outputs.renewed("```console\n$ false\n```\n", workplace)


def test_own_controller_is_the_one_that_is_shown() -> None:
    guide = (ROOT / "docs" / "guide" / "controllers.md").read_text("utf-8")
    shipped = (ROOT / "docs" / "own_controller.py").read_text("utf-8")
    shown = [one.text for one in outputs.blocks(guide) if one.language == "python"]
    assert any(text.startswith("import sojourn") and shipped.endswith(text) for text in shown)


def test_first_look_runs(workplace: Path) -> None:
    program = ROOT / "docs" / "first_look.py"
    line = [sys.executable, str(program)]
    done = subprocess.run(line, cwd=workplace, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no spike below 100 ms" in done.stdout
    assert (workplace / "first-look.png").stat().st_size > 10_000


def test_reference_is_what_the_schema_says(sojourn: Sojourn) -> None:
    written = (ROOT / "docs" / "reference" / "scenario.md").read_text("utf-8")
    assert sojourn("schema", "--markdown").stdout == written, "write it anew: make reference"


@pytest.mark.parametrize("kind", ["controllers", "queues"])
def test_lists_are_what_the_catalogue_says(kind: str, sojourn: Sojourn) -> None:
    written = (ROOT / "docs" / "reference" / f"{kind}.md").read_text("utf-8")
    assert sojourn(kind, "--markdown").stdout == written, "write it anew: make reference"
    for entry in json.loads(sojourn(kind, "--json").stdout):
        section = written.partition(f"\n## {entry['name']}\n")[2].partition("\n## ")[0]
        assert entry["title"] in section
        for param in (*entry["params"], *entry.get("inner", ())):
            assert f"\n| `{param['name']}` | " in section


def test_reference_has_every_key(sojourn: Sojourn) -> None:
    written = sojourn("schema", "--markdown").stdout
    schema = json.loads(sojourn("schema").stdout)
    for table in ("link", "flow"):
        assert f"## `[{table}.NAME]`" in written
        for key in schema["properties"][table]["additionalProperties"]["properties"]:
            assert f"\n| `{key}` | " in written
    for row in (line for line in written.splitlines() if line.startswith("| `")):
        assert all(cell.strip() for cell in row.strip("|").split(" | ")), row


def test_shipped_scenarios_are_valid(shipped: Path, sojourn: Sojourn) -> None:
    done = sojourn("check", shipped)
    assert done.returncode == 0, done.stderr


def test_schema_takes_the_shipped_scenarios(shipped: Path) -> None:
    jsonschema.validate(dict(sojourn.Scenario.load(shipped)), sojourn.schema())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("titel", "x"),
        ("duration", 5),
        ("duration", "60 parsecs"),
        ("controls", ["cubc"]),
        ("link", []),
    ],
)
def test_schema_refuses_what_check_refuses(key: str, value: object) -> None:
    scenario = sojourn.Scenario.load(ROOT / "scenarios" / "capacity-drop.toml")
    scenario[key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(json.dumps(dict(scenario))), sojourn.schema())
    with pytest.raises(sojourn.ScenarioError):
        scenario.check()
