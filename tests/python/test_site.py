"""The documents of the site: their links, and the built pages."""

import json
import re
import subprocess
import sys
from pathlib import Path

import build
import links
import pytest
import record_types
import references
import scenario_builders
import staging
from support import ROOT

_LINK = re.compile(r"(?<!\\)\]\(((?!https?:|mailto:)[^)\s]*)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+?)$", re.MULTILINE)
DOCUMENTS = [*staging.documents().values(), *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


def slugs(text: str) -> set[str]:
    """Return the anchors of the headings of a document, as code hosts and the site make them."""
    plain = _FENCED.sub("", text)
    found = [re.sub(r"[`*]|\]\([^)]*\)|\[", "", one) for one in _HEADING.findall(plain)]
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in found}


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(file: Path) -> None:
    for link in _LINK.findall(_FENCED.sub("", file.read_text("utf-8"))):
        path, _, part = link.partition("#")
        goal = (file.parent / path).resolve() if path else file
        assert goal.exists(), f"{link} leads nowhere"
        if part.startswith("write:"):
            scenario = ROOT / "scenarios" / f"{part.removeprefix('write:')}.toml"
            assert goal.name == "page.md"
            assert scenario.is_file(), f"{link} names no shipped scenario"
        elif part and goal.suffix == ".md":
            known = {one.replace("--", "-") for one in slugs(goal.read_text("utf-8"))}
            assert part.replace("--", "-") in known, f"{link} names no part of {goal.name}"


def test_links_lead_from_the_readme_to_every_document() -> None:
    reached, left = set(), [ROOT / "README.md"]
    while left:
        file = left.pop()
        if file in reached or not file.is_file():
            continue
        reached.add(file)
        if file.suffix == ".md":
            found = _LINK.findall(_FENCED.sub("", file.read_text("utf-8")))
            paths = (link.partition("#")[0] for link in found)
            left += [(file.parent / path).resolve() for path in paths if path]
    readmes = {*(ROOT / "papers").rglob("README.md"), *(ROOT / "studies").rglob("README.md")}
    outer = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff")
    every = {*(ROOT / "docs").rglob("*.md"), *readmes, *(ROOT / name for name in outer)}
    assert sorted(file.relative_to(ROOT).as_posix() for file in every - reached) == []


def test_the_simulator_replaces_the_ways_to_it(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "guide" / "page.md").read_text("utf-8")
    (tmp_path / "page.md").write_text(text, "utf-8")
    build._embed(tmp_path)
    assert (tmp_path / "page.md").read_text("utf-8") == text, "a site without the page keeps them"
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "page.html").touch()
    build._embed(tmp_path)
    embedded = (tmp_path / "page.md").read_text("utf-8")
    assert embedded.count('<iframe class="try-page"') == 1
    before, _, rest = text.partition("<!-- try: begin -->")
    ways, _, after = rest.partition("<!-- try: end -->")
    assert "make page" in ways
    assert before in embedded
    assert after in embedded
    assert ways not in embedded


def test_links_to_a_scenario_open_it_in_the_simulator(tmp_path: Path) -> None:
    file = tmp_path / "tutorials" / "x.md"
    file.parent.mkdir()
    text = "[open](../guide/page.md#write:rmcat/long-tcp) [page](../guide/page.md#open-the-page)"
    file.write_text(text, "utf-8")
    build._embed(tmp_path)
    document = "[open](../guide/page.md) [page](../guide/page.md#open-the-page)"
    assert file.read_text("utf-8") == document, "a site without the page"
    file.write_text(text, "utf-8")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "page.html").touch()
    build._embed(tmp_path)
    opened = "[open](../assets/page.html#write:rmcat/long-tcp)"
    assert file.read_text("utf-8") == f"{opened} [page](../guide/page.md#open-the-page)"


def test_the_gallery_has_every_scenario_and_paper() -> None:
    text = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    scenarios = ROOT / "scenarios"
    for file in scenarios.rglob("*.toml"):
        name = file.relative_to(scenarios).with_suffix("").as_posix()
        assert f"`sojourn run {name}` · [open](guide/page.md#write:{name})" in text
        assert f"(pictures/{name.replace('/', '-')}.svg)" in text
    for file in (ROOT / "papers").glob("*/paper.py"):
        name = file.parent.name.replace("_", "-")
        assert f"`sojourn paper run {name}`" in text
        assert f"(pictures/paper-{name}.svg)" in text


def test_every_guide_is_a_click_from_the_start() -> None:
    start = ROOT / "docs" / "index.md"
    links = _LINK.findall(start.read_text("utf-8"))
    linked = {(start.parent / link.partition("#")[0]).resolve() for link in links}
    assert sorted({*(ROOT / "docs").rglob("*.md")} - linked - {start}) == []


@pytest.mark.parametrize("name", ["commands", "python", "scenario", *references.LISTINGS])
def test_the_reference_is_that_of_the_code(name: str) -> None:
    written = (references.REFERENCE / f"{name}.md").read_text("utf-8")
    assert references.tracked()[name] == written, "write it anew: make reference"


def test_the_types_of_tables_are_those_of_their_declaration() -> None:
    for file, text in record_types.files().items():
        assert file.read_text("utf-8") == text, "write it anew: make reference"


def test_the_builders_of_scenarios_are_those_of_the_schema() -> None:
    written = scenario_builders.FILE.read_text("utf-8")
    assert scenario_builders.text() == written, "write it anew: make reference"


def test_the_reference_has_the_arguments_of_commands() -> None:
    written = references.tracked()["commands"]
    run = written.partition("## `sojourn run`")[2].partition("\n## ")[0]
    assert "sojourn run [options] FILE" in run
    assert "| `--live`, `--no-live` | " in run
    assert "| `--runs N` | repeat with N consecutive seeds" in run
    worst = written.partition("## `sojourn worst`")[2].partition("\n## ")[0]
    assert "sojourn worst [options] --rate LOW..HIGH FILE" in worst
    assert "`--method {cmaes,tpe,random}`" in worst


def test_every_document_is_in_the_site(tmp_path: Path) -> None:
    staging.stage(tmp_path)
    written = {file.relative_to(tmp_path) for file in tmp_path.rglob("*.md")}
    assert {Path("index.md"), Path("contributing.md"), Path("crates/cc.md")} <= written
    assert {Path("studies/index.md"), Path("studies/speed.md")} <= written
    outer = {Path(file.name) for file in (ROOT / "docs").glob("*.md")}
    assert outer <= written


def test_every_page_has_a_place_in_the_navigation(tmp_path: Path) -> None:
    staging.stage(tmp_path)
    listed = [
        name
        for title, names in build._SECTIONS.items()
        for name in build._listed(title, names, tmp_path, [])
    ]
    every = [file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.md")]
    assert sorted(listed) == sorted(one for one in every if not one.startswith("crates/"))


def test_links_to_a_folder_lead_to_its_readme(tmp_path: Path) -> None:
    text = "[a](../studies/speed) [b](../studies/speed/README.md) [c](../CONTRIBUTING.md#releases)"
    staging.write(tmp_path, Path("x.md"), ROOT / "docs" / "x.md", text)
    shown = "[a](studies/speed.md) [b](studies/speed.md) [c](contributing.md#releases)\n"
    assert (tmp_path / "x.md").read_text("utf-8") == shown


def test_lists_after_paragraphs_stay_lists() -> None:
    text = staging._spaced("A list:\n- one\n  more\n- two\n\n```\nno\n- list\n```\n")
    assert text == "A list:\n\n- one\n  more\n- two\n\n```\nno\n- list\n```\n"


def test_fences_have_no_options_of_the_tests() -> None:
    text = staging._spaced("```console lines=3 exit=1\n$ head --lines exit=1\n```\n")
    assert text == "```console\n$ head --lines exit=1\n```\n"


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="gone.html">x</a>', "gone.html leads nowhere"),
        ('<a href="other.html#gone">x</a>', "names no part"),
        ('<img src="https://example.org/x.png">', "from another host"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "from another host"),
        ('<script src="https://example.org/x.js"></script>', "from another host"),
    ],
)
def test_faults_of_pages_are_found(tmp_path: Path, page: str, fault: str) -> None:
    (tmp_path / "index.html").write_text(page, "utf-8")
    (tmp_path / "other.html").write_text('<h2 id="part">x</h2><a href="#part">y</a>', "utf-8")
    (found,) = [one for one in links.faults(tmp_path) if one.startswith("index")][:1]
    assert fault in found


def test_good_pages_have_no_faults(tmp_path: Path) -> None:
    good = '<h2 id="a">x</h2><a href="#a">x</a> <a href="https://example.org">y</a>'
    (tmp_path / "index.html").write_text(f'{good}<a href="index.html#a">z</a>', "utf-8")
    assert links.faults(tmp_path) == []


@pytest.mark.long
def test_site_builds_with_search() -> None:
    pytest.importorskip("zensical")
    build = str(ROOT / "docs" / "site" / "build.py")
    line = [sys.executable, build, "--no-rust", "--no-notebooks"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    index = json.loads((ROOT / "target" / "site" / "search.json").read_text("utf-8"))
    assert "CUBIC" in json.dumps(index)
    controllers = (ROOT / "target" / "site" / "reference" / "controllers.html").read_text("utf-8")
    assert "0.001 to 100" in controllers, "the range of CUBIC's c"
    for name in (
        "index",
        "guide/page",
        "reference/python",
        "studies/index",
        "tutorials/first-drop",
    ):
        assert (ROOT / "target" / "site" / f"{name}.html").is_file()
    # A checkout may be without the page, and its site then has a note at the same place.
    if (ROOT / "target" / "page" / ".built").is_file():
        assert (ROOT / "target" / "site" / "assets" / "page.html").is_file()
        assert "<iframe" in (ROOT / "target" / "site" / "guide" / "page.html").read_text("utf-8")
