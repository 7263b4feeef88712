"""The script of a report: Vega, Vega-Lite and the page's own code, kept in the user's cache.

Bundling takes half of the time of a report, and gives the same for every run.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sojourn.report import render


def script(snippet: str) -> str:
    """Bundle the snippet and what it uses, or read the bundle of an earlier run."""
    try:
        key = "\n".join((version("vl-convert-python"), render.VEGA_LITE, snippet))
    except PackageNotFoundError:
        return render.script(snippet)
    kept = _folder() / f"report-{_digest(key)[:16]}.js"
    found = _read(kept)
    if found is None:
        found = render.script(snippet)
        _keep(found, kept)
    return found


def _folder() -> Path:
    """Return the cache folder (XDG Base Directory Specification 0.8)."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The specification ignores relative paths.
    return (named if named.is_absolute() else Path.home() / ".cache") / "sojourn"


def _read(file: Path) -> str | None:
    """Return the text of the file, or `None` if it is absent or damaged."""
    try:
        digest, _, text = file.read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if digest == _digest(text) else None


def _keep(text: str, file: Path) -> None:
    """Write the file in one step, and remove those of other versions; a cache may fail."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # The next write removes a part that a killed process left.
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=file.parent, prefix="report-", suffix=".js"
        ) as part:
            part.write(f"{_digest(text)}\n{text}")
            part.flush()
            # A link, because the temporary file removes its own name.
            file.unlink(missing_ok=True)
            os.link(part.name, file)
        for other in file.parent.glob("report-*.js"):
            if other != file:
                other.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
