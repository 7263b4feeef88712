"""The page and a record in one file, alone or within a report (docs/guide/page.md)."""

import base64
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sojourn.errors import UsageError
from sojourn.picture import page_record
from sojourn.record.record import Record

# The page in one file, packed, with an empty place for a record.
_PACKED = "live.html.gz"
# The policy is in the first bytes.
_HEAD = 2000
_EMPTY = '<script type="text/plain" id="sojourn-record"></script>'
# Rows of a record in a report: some 2 MB.
_MOST_ROWS = 300_000
# The fastest level makes records a third larger than the slowest, in a tenth of its time.
_LEVEL = 1


class Live(NamedTuple):
    """The page and a record for a report, each packed by gzip and in base64."""

    page: str
    record: str
    policy: str
    """The page's Content-Security-Policy."""

    def sources(self, directive: str) -> list[str]:
        """Return the sources that the page needs, such as those of `script-src`."""
        found = re.search(rf"{directive} ([^;]*)", self.policy)
        return found[1].split() if found else []


def own_folder() -> Path | None:
    """Return the folder of the page in this package, if it was built with the page."""
    folder = Path(__file__).parents[1] / "page"
    return folder if (folder / _PACKED).is_file() else None


def page_folder() -> Path:
    """Return the folder of the built page: the package's, or that of `make page` here."""
    places = (own_folder(), Path("target/page").absolute())
    found = next((place for place in places if place and (place / "sojourn.wasm").is_file()), None)
    if found is None:
        raise UsageError(
            "this package was built without the page; in a checkout of Sojourn, run `make page`, "
            "and then `make install`"
        )
    return found


def of(
    record: Record, folder: Path, report_missing: Callable[[str], object] = lambda _: None
) -> Live | None:
    """Return the parts of a live report; None if the page cannot simulate the record.

    `report_missing` then receives the reason.
    """
    try:
        _require_possible(record)
        packed = base64.b64encode((folder / _PACKED).read_bytes()).decode()
        return Live(packed, _packed(record), _policy(folder / _PACKED))
    except UsageError as error:
        report_missing(str(error))
        return None


def _policy(packed: Path) -> str:
    with gzip.open(packed) as file:
        found = re.search(r'Content-Security-Policy" content="([^"]*)', file.read(_HEAD).decode())
    return found[1] if found else ""


def _require_possible(record: Record) -> None:
    if not record.scenario:
        raise UsageError("the record of another program has no scenario to simulate")
    if record.summary.get("controllers"):
        raise UsageError("the simulator in a page has no controllers in Python")
    series = record.flows.height + record.links.height
    # Runs of further seeds are left out of the page.
    rows = series * len(page_record.first_runs(record)) / len(record.runs)
    if rows > _MOST_ROWS:
        raise UsageError(
            f"its {rows:,.0f} samples would make the report too large; at most {_MOST_ROWS:,} fit"
        )


def page(folder: Path, record: Record) -> str:
    """Return the page and a record as one file, which runs the simulator without a server."""
    text = gzip.decompress((folder / _PACKED).read_bytes()).decode()
    return text.replace(_EMPTY, _EMPTY.replace("><", f">{_packed(record)}<", 1), 1)


def _packed(record: Record) -> str:
    return base64.b64encode(gzip.compress(page_record.to_json(record), _LEVEL, mtime=0)).decode()
