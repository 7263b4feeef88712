"""JSON of a run: `run --json` and `summary.json`.

Changes may add keys but never rename one. Keys end in their unit (`_s`, `_bps`, `_bytes`,
`_packets`); ratios have no suffix. The parts of a run are declared in Rust, in crates/record. The
text after a key is its meaning in the reference (`sojourn columns`), and of the keys before it that
have none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from sojourn.record.record_types import LinkUnavoidable, RunSummary, Verdict, VerdictPicture

FORMAT = 2
"""Version of the run directory's format (docs/run-directory.md). It increases only if a reader of
the previous version would misread the files; added keys do not increase it."""


Item = Mapping[str, Any]
"""A run, a flow, a link or a change of capacity: its figures, or their spreads over runs."""


class Medians(TypedDict):
    """All runs of one controller, if controllers ran with several seeds."""

    control: str
    """the controller"""
    runs: int
    """how many runs"""
    distinct: int
    """how many of them differ in the goodput of a flow or in a spike"""
    flows: list[Item]
    links: list[Item]
    spikes: list[Item]
    """as those of a run; every figure is a spread or null"""


_Class = TypedDict("_Class", {"class": str | None})
"""its class or factory function"""


class UserController(_Class):
    """A user's own controller that ran: the code that was run."""

    name: str
    """its name in the scenario"""
    file: str | None
    """the source file, without its folder; null if it is unknown"""
    sha256: str | None
    """hash of the source, as `sha256sum` prints it"""


class _Required(TypedDict):
    format: int
    """2"""
    scenario: str
    """the scenario's file, or a short description of the run"""
    version: str
    """the version of Sojourn; another writer names itself, such as `testbed 0.3`"""
    runs: list[RunSummary]
    """the runs, at least one"""


class Summary(_Required, total=False):
    """The whole summary."""

    verdicts: list[Verdict]
    """an entry for each change of capacity of the first run, derived from the runs; computed anew
    when a directory is read"""
    picture: VerdictPicture
    """their picture, of the fall with the greatest spike; without a fall, of the delay that users
    met; computed anew too"""
    unavoidable: list[LinkUnavoidable]
    """an entry for each link with a trace"""
    medians: list[Medians]
    """an entry for each controller, if controllers ran with several seeds"""
    controllers: list[UserController]
    """an entry for each user controller that ran"""


def entries(summary: Summary) -> Sequence[Item]:
    """Return one entry per run or, for repeated runs, the medians of each controller."""
    medians: Sequence[Item] | None = summary.get("medians")
    return medians if medians else summary["runs"]


def value_of(figure: Any) -> float | None:
    """Return the figure of one run, or the median over several."""
    value: float | None = figure["median"] if isinstance(figure, Mapping) else figure
    return value


def focus_link(summary: Summary) -> str | None:
    """Choose the displayed link: the one whose capacity changes, else the first with a rate."""
    run = summary["runs"][0]
    if run["spikes"]:
        return run["spikes"][0]["link"]
    limited = [link["name"] for link in run["links"] if link["capacity_bps"] is not None]
    return next(iter([*limited, *(link["name"] for link in run["links"])]), None)


def worst_spike(spikes: Sequence[Item]) -> Item | None:
    """Return the greatest spike after a drop of capacity; a rise builds up no queue."""
    drops = [spike for spike in spikes if spike["to_bps"] < spike["from_bps"]]
    return max(drops, key=lambda spike: value_of(spike["spike_s"]) or 0.0, default=None)
