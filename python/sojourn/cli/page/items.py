"""The run directories, sweeps and captures of the page, as data."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sojourn import inputs
from sojourn.capture import captures
from sojourn.cli.page import sweep
from sojourn.errors import RunDirectoryError
from sojourn.picture import page_record
from sojourn.record.record import Record

_CAPTURES = tuple(
    f"{kind}{compressed}" for kind in (".pcap", ".pcapng") for compressed in ("", ".gz", ".zst")
)
_MOST_ITEMS = 500
# Flows of a capture in its table, those in its chart, and points of each direction.
_LISTED_FLOWS, _DRAWN_FLOWS, _POINTS = 100, 12, 1_500


class Item(NamedTuple):
    """A run directory, the dataset of a sweep, or a capture."""

    kind: Literal["run", "sweep", "capture"]
    path: Path

    @property
    def key(self) -> str:
        """The item's name in addresses: its place on the disk, which no other item shares."""
        place = str(self.path.resolve()).encode("utf-8", "surrogateescape")
        return hashlib.sha256(place).hexdigest()[:16]


def found(given: Sequence[Path]) -> list[Item]:
    """Return the runs, sweeps and captures among these paths and directly within them."""
    items: list[Item] = []
    for place in given:
        own = _item(place)
        inner = sorted(place.iterdir()) if own is None and place.is_dir() else []
        new = [own] if own else [one for one in map(_item, inner) if one]
        if not new:
            reason = "is no run directory and contains none" if place.is_dir() else "does not exist"
            raise RunDirectoryError(
                f"{place} {reason}; name run directories (`sojourn run --out {place}` writes one), "
                "pcap or pcapng files, or folders of them"
            )
        items += new
    # A directory may be named twice.
    return list({item.key: item for item in items}.values())


def _item(path: Path) -> Item | None:
    if (path / "summary.json").is_file():
        return Item("run", path)
    if (path / "sweep.json").is_file():
        return Item("sweep", path)
    is_capture = path.name.endswith(_CAPTURES) and path.is_file()
    return Item("capture", path) if is_capture else None


def listed(items: Sequence[Item]) -> dict[str, Any]:
    """Return the page's list: an entry for each item, and how many more there are."""
    shown = items[:_MOST_ITEMS]
    places = [item.path.resolve() for item in shown]
    often = Counter(place.name for place in places)
    entries = [
        {
            "key": item.key,
            "kind": item.kind,
            "name": place.name if often[place.name] == 1 else str(item.path),
            "controls": _controls(item.path) if item.kind == "run" else [],
            "changed": _changed(item),
        }
        for item, place in zip(shown, places, strict=True)
    ]
    return {"items": entries, "left_out": len(items) - len(shown)}


def _changed(item: Item) -> float:
    """Return the time of the last change: a run replaces its directory, other items grow."""
    parts = ("points.parquet", "runs") if item.kind == "sweep" else ()
    places = [item.path, *(item.path / part for part in parts)]
    return max(place.stat().st_mtime for place in places if place.exists())


def _controls(directory: Path) -> list[str]:
    try:
        summary = inputs.whole_json(directory / "summary.json")
        return [str(run["control"]) for run in summary["runs"]]
    except (OSError, MemoryError, ValueError, LookupError, TypeError):
        return []


def content(item: Item, load: Callable[[Path], Record]) -> bytes:
    """Return the data of an item in JSON."""
    if item.kind == "run":
        return page_record.to_json(load(item.path))
    if item.kind == "sweep":
        return sweep.to_json(item.path)
    return page_record.encoded(_captured(item.path))


def _captured(file: Path) -> dict[str, Any]:
    """Return the round-trip times of a capture, as `sojourn rtt --json` has them."""
    whole, flows = captures.as_json(
        file,
        "auto",
        captures.MAX_FLOWS,
        points=_POINTS,
        drawn=_DRAWN_FLOWS,
        listed=_LISTED_FLOWS,
    )
    return dict(captures.with_flows(whole, flows))
