"""The size classes of transfers of drawn sizes, for the table of completion times."""

from collections.abc import Iterator

from sojourn.record.formatting import size_text
from sojourn.record.summary import Item, Summary, entries


def of(summary: Summary) -> Iterator[tuple[Item, Item, Item]]:
    """Yield every class with its run (or the medians of a controller) and its flow."""
    for entry in entries(summary):
        for flow in entry["flows"]:
            for size in flow.get("transfers_by_size") or []:
                yield entry, flow, size


def name_of(size: Item) -> str:
    """Name a class: `all`, `up to 100 kB`, `above 10 MB`."""
    least, most = size["from_bytes"], size["to_bytes"]
    if most is None:
        return f"above {size_text(least)}" if least else "all"
    return f"{size_text(least)} to {size_text(most)}" if least else f"up to {size_text(most)}"
