"""The run directories and captures of the page, as data."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sojourn import captures
from sojourn.errors import RunDirectoryError, UsageError
from sojourn.record import Record
from sojourn.run_directory import What
from sojourn.run_summary import RunSummary

if TYPE_CHECKING:
    import polars as pl

_CAPTURES = (".pcap", ".pcapng")
_MOST_ITEMS = 500
# Rows of a series; a browser would need gigabytes for more.
_MOST_ROWS = 3_000_000
# Flows of a capture in its table, those in its chart, and points of each direction.
_LISTED_FLOWS, _DRAWN_FLOWS, _POINTS = 100, 12, 1_500
_COLUMNS: dict[What, tuple[str, ...]] = {
    "flows": ("t_s", "goodput_bps", "cwnd_bytes", "rtt_s"),
    "links": ("t_s", "capacity_bps", "carried_bps", "queue_delay_s"),
}


class Item(NamedTuple):
    """A run directory, or a capture."""

    kind: Literal["run", "capture"]
    path: Path

    @property
    def key(self) -> str:
        """The item's name in addresses: its place on the disk, which no other item shares."""
        place = str(self.path.resolve()).encode("utf-8", "surrogateescape")
        return hashlib.sha256(place).hexdigest()[:16]


def found(given: Sequence[Path]) -> list[Item]:
    """Return the run directories and captures among these paths and directly within them."""
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
    is_capture = path.suffix in _CAPTURES and path.is_file()
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
            "name": place.name if often[place.name] == 1 else str(place),
            "controls": _controls(item.path) if item.kind == "run" else [],
            # A run replaces its directory at its end, and a capture grows.
            "changed": item.path.stat().st_mtime,
        }
        for item, place in zip(shown, places, strict=True)
    ]
    return {"items": entries, "left_out": len(items) - len(shown)}


def _controls(directory: Path) -> list[str]:
    try:
        summary = json.loads((directory / "summary.json").read_bytes())
        return [str(run["control"]) for run in summary["runs"]]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def content(item: Item, load: Callable[[Path], Record]) -> dict[str, Any]:
    """Return the data of an item."""
    return recorded(load(item.path)) if item.kind == "run" else _captured(item.path)


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


def recorded(record: Record) -> dict[str, Any]:
    """Return a record: the first run of each controller, with its samples."""
    first: dict[str, RunSummary] = {}
    for run in record.runs:
        first.setdefault(run["control"], run)
    parts = [(_own(record, "flows", run), _own(record, "links", run)) for run in first.values()]
    rows = sum(flows.height + links.height for flows, links in parts)
    if rows > _MOST_ROWS:
        raise UsageError(f"the run has {rows:,} samples, too many for the page; see its report")
    return {
        "title": record.title,
        "scenario": record.scenario,
        "files": {name: text for name, text in record.files.items() if not name.endswith(".py")},
        "runs": list(first.values()),
        "flows": [_samples(flows, "flows") for flows, _ in parts],
        "links": [_samples(links, "links") for _, links in parts],
    }


def _own(record: Record, what: What, run: RunSummary) -> "pl.DataFrame":
    """Return the rows of a run."""
    import polars as pl

    frame = record.flows if what == "flows" else record.links
    return frame.filter(pl.col("control") == run["control"], pl.col("seed") == run["seed"])


def _samples(own: "pl.DataFrame", what: What) -> dict[str, Any]:
    """Return the samples of a run: at each time one row for every name, in the same order."""
    import polars as pl

    key = what.removesuffix("s")
    names = own[key].unique(maintain_order=True).to_list()
    if own.height != len(names) * own["t_s"].n_unique():
        raise RunDirectoryError(f"the {what} have no samples at equal times; see the report")
    order = {name: place for place, name in enumerate(names)}
    own = own.with_columns(pl.col(key).replace_strict(order, return_dtype=pl.Int64).alias("_place"))
    own = own.sort("t_s", "_place").fill_nan(None)
    columns = {name: own[name].cast(pl.Float64).to_list() for name in _COLUMNS[what]}
    return {"names": names, "columns": columns}
