"""The documents are correct: what they show runs, what is generated is current, and none grows."""

import json
import re
import subprocess
import sys
import time
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
    # A cause for each of fifteen pairs, and two tables.
    "studies/reference": 900,
    "studies/bbr3": 500,
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


DOCUMENTS = outputs.documents()
SHOWN = {file.relative_to(ROOT).as_posix(): file for file in DOCUMENTS}
# The tutorials are notebooks, which test_notebooks.py executes.
OTHERS = {
    file.relative_to(ROOT).as_posix(): file
    for file in tracked(".md")
    if file not in DOCUMENTS
    and "tutorials" not in file.parts
    and not is_generated(file)
    and outputs.blocks(file.read_text("utf-8"))
}


@pytest.mark.parametrize("name", SHOWN)
def test_outputs_have_the_shown_form(name: str, workplace: Path) -> None:
    """Figures, a verdict's words and a table's order may change: `docs/renew outputs`."""
    for block, new in outputs.outputs(SHOWN[name].read_text("utf-8"), workplace):
        differ = "\n".join(outputs.faults(block, new))
        assert not differ, f"{differ}\n{name} shows\n{block.text}\nbut the command prints\n{new}"


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


VERDICT = """\
At 30 s bottleneck fell from 60 to 20 Mbit/s. 100 ms of queueing delay was unavoidable; dctcp added
16.2 ms from its queue before the change, and took 4.55 s to recover; ideal met the bound.

          goodput   util.  queue  spike  drops
           Mbit/s       %    p50     ms
 ─────────────────────────────────────────────
 ● dctcp    37.80    97.2   0.38  116.2      0
 ● ideal    38.56    99.8   0.01  100.3      2
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Figures improve within the factor, or are little: drops, and parts of a millisecond.
        ("116.2      0", "  70.1      4"),
        ("0.38", "1.90"),
        # The unit follows the figure.
        ("took 4.55 s", "took 1850 ms"),
        # A verdict's words follow its figures.
        ("dctcp added\n16.2 ms from its queue before the change,", "dctcp met the bound,"),
        ("● dctcp    37.80", "● ideal    37.80"),
    ],
)
def test_form_admits_other_figures(old: str, new: str) -> None:
    assert old in VERDICT
    assert outputs.differences("run", VERDICT, VERDICT.replace(old, new)) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("met the bound", "did not recover", "more of not"),
        ("4.55 s", "4.55 ms", "4550 became 4.55"),
        ("37.80", "3.780", "37.8 became 3.78"),
        ("100.3      2", "100.3     22", "2 became 22"),
        (VERDICT, "sojourn: no such scenario", "0% of the words"),
        (VERDICT, "", "0% of the words"),
        (VERDICT.partition("\n\n")[2], "", "of the words are those shown"),
    ],
)
def test_form_refuses_what_says_something_else(old: str, new: str, said: str) -> None:
    assert old in VERDICT
    assert said in "\n".join(outputs.differences("run", VERDICT, VERDICT.replace(old, new)))


def test_form_of_each_command_counts() -> None:
    """A block's long output must not hide that another command prints something else."""
    text = f"```console\n$ sojourn run\n{VERDICT}$ ls packets\nrun-1.keys.log\n```\n"
    (block,) = outputs.blocks(text)
    assert outputs.faults(block, block.text) == []
    (fault,) = outputs.faults(block, block.text.replace("run-1.keys.log", "nothing"))
    assert fault.startswith("ls packets: ")


def test_form_leaves_the_machine_its_figures() -> None:
    old, new = "144 runs in 3.54 s", "144 runs in 78.5 s"
    assert outputs.differences("sweep", old, new) == []
    old, new = "goodput 1.548 Gbit/s", "goodput 43.1 Mbit/s"
    assert outputs.differences("send", old, new, is_real=True) == []
    assert outputs.differences("send", old, new) != []


@pytest.mark.parametrize("name", SHOWN)
def test_shown_figures_count(name: str) -> None:
    """Most outputs with figures are refused if each digit of theirs is another."""
    nines = [
        (len(re.findall(r"\d", block.text)), outputs.faults(block, re.sub(r"\d", "9", block.text)))
        for block in outputs.blocks((ROOT / name).read_text("utf-8"))
        if block.language == "console" and not block.is_real
    ]
    assert all(faults for digits, faults in nines if digits > 60)


def test_named_targets_of_make_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for file in tracked(".md", ".py", ".rs", ".toml", ".yml"):
        for line in re.findall(r"(?:`|run: )make ([a-z -]+)`?", file.read_text("utf-8")):
            assert not set(line.split()) - set(targets), f"{file}: make {line}"


def test_the_tests_of_each_security_promise_exist() -> None:
    named = re.findall(r"`([\w/.-]+\.(?:rs|py|mjs))`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_a_command_leaves_no_process_behind(workplace: Path) -> None:
    outputs.printed(["bash", "-c", "sleep 600 &>sleep.txt & echo $! >left"], workplace, 0)
    left = Path("/proc", (workplace / "left").read_text().strip(), "stat")

    def is_running() -> bool:
        try:
            # The process may remain as a zombie until its new parent has noticed.
            return left.read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    # A killed process ends when it is scheduled next.
    until = time.monotonic() + 60
    while is_running() and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_running()


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
