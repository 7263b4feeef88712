"""The documents are correct: every snippet runs, and every shipped scenario is valid."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
import sojourn
from support import ROOT, Sojourn, environment

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Commands that install or build Sojourn, which the tests require.
_SETUP = ("make", "git", "cargo", "cd", "apt", "sudo", "pip", "source", ".")


@dataclass(frozen=True)
class Snippet:
    """One fenced block; `exit=2` after the language is the expected exit status."""

    file: str
    line: int
    language: str
    status: int
    text: str


def snippets() -> list[Snippet]:
    found = []
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    # The tutorials are notebooks, which test_notebooks.py executes.
    for file in (one for one in files if one.parent.name != "tutorials"):
        text = file.read_text("utf-8") if file.exists() else ""
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            status = re.search(r"exit=(\d+)", match[2])
            code = int(status[1]) if status else 0
            found.append(Snippet(str(file.relative_to(ROOT)), line, match[1], code, match[3]))
    return found


def commands(snippet: Snippet) -> list[str]:
    """Return the commands of a console or shell block, except for set-up commands."""
    lines = snippet.text.replace("\\\n", " ").splitlines()
    if snippet.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    typed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [line for line in typed if line.split()[0] not in _SETUP]


def named(languages: set[str]) -> list[object]:
    chosen = [one for one in snippets() if one.language in languages]
    return [pytest.param(one, id=f"{one.file}:{one.line}") for one in chosen]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """Copy the files that a reader has, and install the command where `make demo` puts it."""
    for name in ("scenarios", "papers", "docs", "tests/captures"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    return tmp_path


@pytest.mark.parametrize("snippet", named({"console", "sh", "bash"}))
def test_commands_run(snippet: Snippet, workplace: Path) -> None:
    for line in commands(snippet):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=workplace,
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == snippet.status, f"{line}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("file", sorted({one.file for one in snippets()}) or ["README.md"])
def test_python_runs(file: str, workplace: Path) -> None:
    # The blocks of one document run as one program, in their order.
    blocks = [one.text for one in snippets() if one.file == file and one.language == "python"]
    run_python("\n".join(blocks), workplace)


def test_own_controller_is_the_one_that_is_shown() -> None:
    shown = [one.text for one in snippets() if one.file == "CONTRIBUTING.md"]
    shipped = (ROOT / "docs" / "own_controller.py").read_text("utf-8")
    assert any(text.startswith("import sojourn") and shipped.endswith(text) for text in shown)


def test_first_look_runs(workplace: Path) -> None:
    shown = run_python((ROOT / "docs" / "first_look.py").read_text("utf-8"), workplace)
    assert "no spike below 100 ms" in shown
    assert (workplace / "first-look.png").stat().st_size > 10_000


def run_python(code: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_reference_is_what_the_schema_says(sojourn: Sojourn) -> None:
    written = (ROOT / "docs" / "scenario.md").read_text("utf-8")
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
