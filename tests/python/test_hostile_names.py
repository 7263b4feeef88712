"""Names of flows, links and controllers that are markup stay text in reports and in the page."""

import json
import os
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
import sojourn
from sojourn.cli import main
from support import SMALL

NAMES = {
    "script": "</script><img src=x onerror=alert(1)><script>alert(1)</script>",
    "attribute": "\" onmouseover=alert(1) x='",
    "comment": "<!--<script>",
    "separators": "a\u2028b\u2029c",
    "right to left": "\u202ereversed\u202c",
    "template": "${alert(1)}`</style><svg onload=alert(1)>",
    "long": "<b>" * 2_000,
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    sojourn.run(SMALL, control="cubic").save(folder / "kept", report=())
    return folder / "kept"


def renamed(kept: Path, place: Path, name: str) -> Path:
    """Return a run directory with this name for its flow, its link, its controller and its title.

    Sojourn writes no such names; another program may.
    """
    shutil.copytree(kept, place)
    text = (place / "summary.json").read_text("utf-8")
    for own in ("upload", "bottleneck", "A small drop", "cubic"):
        text = text.replace(json.dumps(own), json.dumps(name))
    (place / "summary.json").write_text(text, "utf-8")
    for file in ("flows", "links"):
        frame = pl.read_parquet(place / f"{file}.parquet")
        new = dict.fromkeys(("upload", "bottleneck", "cubic"), name)
        texts = [one for one in frame.columns if frame.schema[one] in (pl.String, pl.Categorical)]
        changed = frame.with_columns(pl.col(texts).cast(pl.String).replace(new))
        changed.write_parquet(place / f"{file}.parquet")
    return place


def browsed(page: Path, profile: Path) -> tuple[str, str]:
    """Return the document that Chromium makes of a page, and the lines of its console."""
    assert CHROMIUM is not None
    line = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    line += ["--virtual-time-budget=3000", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [*line, page.as_uri()], capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(console)


CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


class Elements(HTMLParser):
    """The elements of a document, and the attributes that hold scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names[tag] += 1
        self.handlers += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]


def report(kept: Path, place: Path, name: str) -> Path:
    run = renamed(kept, place, name)
    assert main(["report", str(run)]) == 0
    return run / "report.html"


@pytest.mark.parametrize("kind", NAMES)
def test_markup_in_names_is_escaped(kept: Path, tmp_path: Path, kind: str) -> None:
    """The report has the elements of a report with plain names."""
    plain, own = (
        Elements(report(kept, tmp_path / name[:5].encode().hex(), name).read_text("utf-8"))
        for name in ("plain", NAMES[kind])
    )
    assert own.names == plain.names
    assert own.handlers == []


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing")
@pytest.mark.parametrize("kind", ["script", "attribute", "template"])
def test_names_are_text_in_chromium(kept: Path, tmp_path: Path, kind: str) -> None:
    """The document that scripts make has no element of a name, and no policy had to refuse one."""
    page = report(kept, tmp_path / "run", NAMES[kind])
    document, console = browsed(page, tmp_path / "profile")
    found = Elements(document)
    assert (found.names["img"], found.handlers) == (0, [])
    assert console == ""
