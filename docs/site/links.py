"""Checks the links of the built site, and that no page asks another host for a file."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes whose address the browser loads by itself, by element.
_LOADED = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "link": "href",
}
_LOADING_RELATIONS = ("stylesheet", "icon", "preload", "preconnect", "modulepreload")


class _Page(HTMLParser):
    """The links, the anchors and the loaded addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def has(self, fragment: str) -> bool:
        """Whether a fragment of an address names a part of the page; an empty one is the top."""
        return not fragment or fragment in self.anchors

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        address = given.get(_LOADED.get(tag, ""), "")
        if address and (tag != "link" or given.get("rel", "") in _LOADING_RELATIONS):
            self.loaded.append(address)


def faults(site: Path) -> list[str]:
    """Return the broken links, and the addresses of other hosts that pages load."""
    # The pages of rustdoc have their own checks, and the embedded page has its own tests.
    skipped = (site / "rust", site / "assets")
    files = [
        file
        for file in sorted(site.rglob("*.html"))
        if not any(file.is_relative_to(folder) for folder in skipped) and file.name != "404.html"
    ]
    pages = {file: _Page(file.read_text("utf-8")) for file in files}
    return [fault for file in files for fault in _of_page(file, site, pages)]


def _of_page(file: Path, site: Path, pages: dict[Path, _Page]) -> Iterator[str]:
    name = file.relative_to(site)
    page = pages[file]
    for address in page.loaded:
        if urlsplit(address).netloc:
            yield f"{name}: loads {address} from another host"
    for link in [*page.links, *page.loaded]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        goal = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if goal.is_dir():
            goal = goal / "index.html"
        if not goal.is_file():
            yield f"{name}: {link} leads nowhere"
        elif goal in pages and not pages[goal].has(unquote(parts.fragment)):
            yield f"{name}: {link} names no part of that page"
