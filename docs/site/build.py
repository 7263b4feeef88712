"""Builds the site of the documents, in target/site: `make docs`.

`--no-rust` leaves out the reference of the crates, and `--no-notebooks` the outputs of tutorials.
"""

import argparse
import gzip
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import links
import notebooks
import references
import staging
from staging import ROOT

HERE = Path(__file__).parent
WORK = ROOT / "target" / "site-source"
SITE = ROOT / "target" / "site"
# Crates that other projects may use, in the order of their dependencies.
CRATES = ("units", "params", "ring", "cc", "queue", "transport", "theory", "quic")
# Documents by section. A name that ends in `/` is that of a folder: all its other documents follow.
# Documents that are not named here come last in the guide.
_SECTIONS: dict[str, tuple[str, ...]] = {
    "Start here": ("index.md", "install.md", "gallery.md"),
    "Tutorials": (),
    "Guide": (
        "guide/runs.md",
        "guide/sweeps.md",
        "guide/controllers.md",
        "guide/pictures.md",
        "guide/captures.md",
        "guide/live.md",
        "guide/quic.md",
        "guide/kernel.md",
        "guide/media.md",
        "guide/learned.md",
        "guide/page.md",
        "guide/papers.md",
    ),
    "Model": (
        "model.md",
        "accuracy.md",
        "theory/spike.md",
        "theory/trace.md",
        "theory/rapid.md",
    ),
    "Reference": (
        "reference/scenario.md",
        "reference/commands.md",
        "reference/controllers.md",
        "reference/queues.md",
        "reference/hosts.md",
        "run-directory.md",
        "reference/columns.md",
        "reference/python.md",
        "crates.md",
        "reference/rust.md",
        "reference/deviations.md",
        "contract.md",
    ),
    "Studies": ("studies/index.md", "studies/"),
    "Papers": ("papers/",),
    "Project": ("contributing.md", "STYLE.md", "security.md", "changelog.md"),
}
_TRY = re.compile(r"<!-- try(: begin -->.*?<!-- try: end)? -->", re.DOTALL)
# A link that opens a shipped scenario in the simulator, such as guide/page.md#write:capacity-drop.
_WRITE = re.compile(r"\]\(([\w./-]*page\.md)(#write:[\w/-]+)\)")
# The open simulator has its charts beside its controls if the page has no columns of links.
_WIDE = "---\nhide:\n  - navigation\n  - toc\n---\n"
_REST = "Guide"
# Pages that the search and links find.
_ASIDE = ("crates/",)


def main() -> int:
    """Build the site and check its links."""
    parser = argparse.ArgumentParser(description="Build the site of the documents.")
    parser.add_argument("--no-rust", action="store_true", help="leave out the Rust reference")
    parser.add_argument("--no-notebooks", action="store_true", help="do not execute the tutorials")
    args = parser.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    pages = WORK / "pages"
    staging.stage(pages)
    references.write(pages / "reference")
    tutorials = _tutorials(pages, execute=not args.no_notebooks)
    _rust_page(pages, with_rust=not args.no_rust)
    _assets(pages)
    _embed(pages)
    _configure(pages, tutorials)
    subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--clean"], cwd=WORK, check=True
    )
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(WORK / "site", SITE)
    _finish(with_rust=not args.no_rust)
    found = links.faults(SITE)
    for fault in found:
        print(f"docs/site: {fault}", file=sys.stderr)
    print(f"wrote {SITE.relative_to(ROOT)}/index.html: {len(list(SITE.rglob('*.html')))} pages")
    return 1 if found else 0


def _tutorials(pages: Path, execute: bool) -> list[str]:
    """Write the tutorials with their outputs, and as notebooks; return their pages."""
    named = []
    for file in notebooks.files():
        place = Path("tutorials") / file.name
        text = re.sub(r"\A---\n.*?\n---\n", "", file.read_text("utf-8"), flags=re.DOTALL).lstrip()
        if execute:
            print(f"executing {file.relative_to(ROOT)}", flush=True)
            notebook = notebooks.executed(file, WORK / "runs" / file.stem)
            text = notebooks.to_markdown(notebook, file.stem, pages / "tutorials" / "figures")
            notebooks.save(notebook, pages / "tutorials" / f"{file.stem}.ipynb")
            head, _, rest = text.partition("\n")
            text = f"{head}\n\n[Download this notebook]({file.stem}.ipynb){{ download }}\n{rest}"
        staging.write(pages, place, file, text)
        named.append(place.as_posix())
    return named


def _rust_page(pages: Path, with_rust: bool) -> None:
    if with_rust:
        chosen = [word for crate in CRATES for word in ("--package", f"sojourn-{crate}")]
        line = ["cargo", "doc", "--quiet", "--no-deps", "--lib", *chosen]
        subprocess.run(line, cwd=ROOT, check=True)
    rows = []
    for crate in CRATES:
        manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text("utf-8")
        about = re.search(r'^description = "(.*)"$', manifest, re.MULTILINE)
        name = f"sojourn-{crate}"
        linked = f"[`{name}`](../rust/{name.replace('-', '_')}/index.html)" if with_rust else name
        rows.append(f"| {linked} | {about[1] if about else ''} |")
    text = "# Rust\n\nThe crates for other projects, in the order of their dependencies. "
    text += "[The crates](../crates.md) shows their use.\n\n| crate | content |\n|---|---|\n"
    (pages / "reference" / "rust.md").write_text(text + "\n".join(rows) + "\n", "utf-8")


def _assets(pages: Path) -> None:
    assets = pages / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    for name in ("site.css", "site.js"):
        shutil.copyfile(HERE / name, assets / name)
    page = ROOT / "target" / "page" / "live.html.gz"
    if page.is_file():
        (assets / "page.html").write_bytes(gzip.decompress(page.read_bytes()))
    else:
        print("docs/site: no page to embed; `make page` builds it", file=sys.stderr)


def _embed(pages: Path) -> None:
    """Put the simulator at the marks `try`, and open in place of the text of `try: begin`.

    Links to a scenario lead to the simulator, or to its document if the site has none.
    """
    has_page = (pages / "assets" / "page.html").is_file()
    for file in pages.rglob("*.md"):
        text = file.read_text("utf-8")
        page = "../" * (len(file.relative_to(pages).parts) - 1) + "assets/page.html"
        linked = _WRITE.sub(rf"]({page}\2)" if has_page else r"](\1)", text)
        if has_page and _TRY.search(text):
            wide = _WIDE if "<!-- try: begin -->" in text else ""
            linked = wide + _TRY.sub(partial(_frame, page), linked)
        if linked != text:
            file.write_text(linked, "utf-8")


def _frame(page: str, mark: re.Match[str]) -> str:
    if mark[1]:
        return f'<iframe class="try-page" title="The simulator" src="{page}"></iframe>'
    head = "<summary>Try it here: the simulator in this page</summary>"
    return f'<details class="try" data-page="{page}">{head}</details>'


def _configure(pages: Path, tutorials: list[str]) -> None:
    listed = {title: _listed(title, names, pages, tutorials) for title, names in _SECTIONS.items()}
    nav = [{title: found} for title, found in listed.items() if found]
    folders = {"docs_dir": "pages", "site_dir": "site", "nav": nav}
    lines = [f"{key} = {_toml(value)}" for key, value in folders.items()]
    base = (HERE / "zensical.toml").read_text("utf-8")
    text = base.replace("[project]\n", "[project]\n" + "\n".join(lines) + "\n", 1)
    paths = json.dumps([str(ROOT / "python")])
    text += f"\n[project.plugins.mkdocstrings.handlers.python]\npaths = {paths}\n"
    text += "\n[project.plugins.mkdocstrings.handlers.python.options]\n"
    text += "show_source = false\nheading_level = 3\nshow_root_heading = true\n"
    text += 'show_root_full_path = true\nmembers_order = "source"\n'
    (WORK / "zensical.toml").write_text(text, "utf-8")


def _listed(title: str, names: tuple[str, ...], pages: Path, tutorials: list[str]) -> list[str]:
    """Return the pages of a section, with those that no section names."""
    if title == "Tutorials":
        return tutorials
    every = [file.relative_to(pages).as_posix() for file in sorted(pages.rglob("*.md"))]
    known = {name for section in _SECTIONS.values() for name in section} | set(tutorials)
    found = []
    for name in names:
        inside = [one for one in every if one.startswith(name) and one not in known]
        found += inside if name.endswith("/") else [name] if name in every else []
    if title == _REST:
        folders = (*(name for name in known if name.endswith("/")), *_ASIDE)
        found += [one for one in every if one not in known and not one.startswith(folders)]
    return found


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _finish(with_rust: bool) -> None:
    """Replace the one file of another host, and add the reference of the crates.

    The script lets the search run in pages that were opened as files.
    """
    shim = SITE / "assets" / "iframe-worker.js"
    shutil.copyfile(ROOT / "web" / "node_modules" / "iframe-worker" / "shim" / "index.js", shim)
    for page in SITE.rglob("*.html"):
        text = page.read_text("utf-8")
        depth = len(page.relative_to(SITE).parts) - 1
        local = f"{'../' * depth}assets/iframe-worker.js"
        replaced = text.replace("https://unpkg.com/iframe-worker/shim", local)
        if replaced != text:
            page.write_text(replaced, "utf-8")
    if with_rust:
        shutil.copytree(ROOT / "target" / "doc", SITE / "rust", dirs_exist_ok=True)


if __name__ == "__main__":
    sys.exit(main())
