"""The data of a run: its summary, its series, and selections of one flow or link."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, get_args

from sojourn import _core, memory
from sojourn.record import run_directory
from sojourn.record.record_types import FlowSummary, LinkSummary, LinkUnavoidable, RunSummary
from sojourn.record.run_directory import File, What
from sojourn.record.summary import Item, Summary

if TYPE_CHECKING:
    import polars as pl

S = TypeVar("S")


Rows = Literal["flows", "links", "spikes", "sizes", "media"]
"""The rows of a table: flows, links, changes of capacity, size classes of random arrivals, or flows
of media."""

_NAMES: Mapping[Rows, str] = {
    "flows": "flow",
    "links": "link",
    "spikes": "link",
    "sizes": "flow",
    "media": "flow",
}


class Record:
    """The data of a scenario's simulations: one for each of its controllers and seeds."""

    def __init__(
        self,
        summary: Summary,
        scenario: str,
        title: str,
        series: Mapping[File, bytes],
        files: Mapping[str, str],
    ):
        self.summary = summary
        """All figures, with the keys of `sojourn run --json`."""
        self.scenario = scenario
        """The scenario as run, in TOML."""
        self.title = title
        """The scenario's title."""
        self.series: Mapping[File, bytes] = series
        """The Parquet files, as bytes."""
        self.files = files
        """The files that the scenario names (traces), by name."""

    @property
    def heading(self) -> str:
        """The title of its pictures and tables, which says whether the runs were live."""
        return f"{self.title}, live" if any("live" in run for run in self.runs) else self.title

    @property
    def runs(self) -> list[RunSummary]:
        """One entry per simulation, grouped by controller."""
        return self.summary["runs"]

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """The series of every flow of every run."""
        return self._read("flows")

    @cached_property
    def links(self) -> "pl.DataFrame":
        """The series of every link of every run."""
        return self._read("links")

    @cached_property
    def transfers(self) -> "pl.DataFrame":
        """The transfers of drawn sizes or of batches: start, size and completion time."""
        return self._read("transfers")

    @cached_property
    def frames(self) -> "pl.DataFrame":
        """The frames of media: capture, size, delay, least delay and playout of each."""
        return self._read("frames")

    def table(self, rows: Rows = "flows") -> "pl.DataFrame":
        """Return the figures as one tidy frame: a row for each flow of each run.

        `rows` may also be "links", "spikes" (changes of capacity), "sizes" (size classes of
        transfers of drawn sizes) or "media" (frames of flows of media). The columns `control` and
        `seed` name the run; the others have the keys of `sojourn run --json`
        (`sojourn columns summary`).
        """
        return _table(self.runs, rows)

    def flow(
        self, name: str, control: str | None = None, seed: int | None = None
    ) -> "Selection[FlowSummary]":
        """Select a flow; `control` and `seed` are optional if only one run matches."""
        return self._select("flows", "flow", name, control, seed)

    def link(
        self, name: str, control: str | None = None, seed: int | None = None
    ) -> "Selection[LinkSummary]":
        """Select a link; `control` and `seed` are optional if only one run matches."""
        return self._select("links", "link", name, control, seed)

    def unavoidable(self, one: LinkUnavoidable) -> list[tuple[float, float]]:
        """Return times, and the unavoidable delay of a link with a trace up to each, in seconds."""
        if not self.scenario:
            return []
        core = _core.Scenario.from_toml("scenario.toml", self.scenario, ".")
        links = json.loads(core.to_json())["link"]
        traces = [name for name, link in links.items() if _is_trace(link)]
        texts = [text for name, text in self.files.items() if not name.endswith(".py")]
        # The files are in the order of the links.
        text = dict(zip(traces, texts, strict=False)).get(one["link"])
        if text is None:
            return []
        return _core.unavoidable_series(text, one["loop_s"], self.runs[0]["duration_s"])

    def _select(
        self, what: What, kind: str, name: str, control: str | None, seed: int | None
    ) -> "Selection[Any]":
        run = _only(self.runs, control, seed)
        items = cast(Sequence[Item], run[what])
        found = [item for item in items if item["name"] == name]
        if not found:
            names = ", ".join(item["name"] for item in items)
            raise KeyError(f"there is no {kind} {name!r}; there are: {names}")
        frame = self.flows if what == "flows" else self.links
        where = {"control": run["control"], "seed": run["seed"], kind: name}
        return Selection(found[0], frame, where)

    def _read(self, what: File) -> "pl.DataFrame":
        data = self.series.get(what) or run_directory.empty_series(what)
        frame = run_directory.decoded(data, f"{what}.parquet")
        return run_directory.complete_series(frame, what)


class Selection(Generic[S]):
    """One flow or link of one run, with its figures and its series."""

    def __init__(self, summary: S, frame: "pl.DataFrame", where: Mapping[str, object]):
        self.summary = summary
        """Its figures, with the keys of `sojourn run --json`."""
        self._frame = frame
        self._where = where

    @cached_property
    def series(self) -> "pl.DataFrame":
        """Its samples as a Polars frame."""
        import polars as pl

        wanted = [pl.col(name).eq_missing(value) for name, value in self._where.items()]
        return self._frame.filter(wanted)

    def __repr__(self) -> str:
        where = ", ".join(f"{name}={value}" for name, value in self._where.items())
        return f"<sojourn.Selection {where}>"

    def _repr_html_(self) -> str:
        from sojourn.record import notebook

        return notebook.of_selection(cast(Mapping[str, Any], self.summary), self.series.height)


def _is_trace(link: Item) -> bool:
    rate = link.get("rate")
    return isinstance(rate, dict) and "trace" in rate


def _only(runs: Sequence[RunSummary], control: str | None, seed: int | None) -> RunSummary:
    found = [
        run
        for run in runs
        if (control is None or run["control"] == control) and (seed is None or run["seed"] == seed)
    ]
    if len(found) == 1:
        return found[0]
    have = ", ".join(f"control={run['control']!r} seed={run['seed']}" for run in found or runs)
    if found:
        raise LookupError(f"several runs match; say which: {have}")
    raise LookupError(f"no run matches; there are: {have}")


def _table(runs: Sequence[RunSummary], rows: Rows = "flows") -> "pl.DataFrame":
    """Return a row for each entry of each run, with the run's `control` and `seed` first."""
    if rows not in get_args(Rows):
        known = ", ".join(get_args(Rows))
        raise ValueError(f"there is no table of {rows!r}; there are: {known}")
    memory.require_polars()
    import polars as pl

    found = [
        {"control": run["control"], "seed": run["seed"], **_named(entry, rows)}
        for run in runs
        for entry in _entries(run, rows)
    ]
    if not found:
        return pl.DataFrame(schema={"control": pl.String, "seed": pl.Int64})
    # Polars infers the type of a column from all its values: the first may be null.
    return pl.DataFrame(found, infer_schema_length=None)


def _entries(run: RunSummary, rows: Rows) -> Iterator[Item]:
    if rows == "media":
        for flow in run["flows"]:
            if "media" in flow:
                yield {"name": flow["name"], "control": flow["control"], **flow["media"]}
        return
    if rows != "sizes":
        yield from cast(Sequence[Item], run[rows])
        return
    for flow in run["flows"]:
        for size in flow.get("transfers_by_size") or []:
            yield {"name": flow["name"], "control": flow["control"], **size}


def _named(entry: Item, rows: Rows) -> dict[str, Any]:
    """Name an entry after its kind; the run has another `control` than the flow may have."""
    kind = _NAMES[rows]
    name = entry["link"] if rows == "spikes" else entry["name"]
    head = {kind: name}
    if "control" in entry:
        head[f"{kind}_control"] = entry["control"]
    plain = {
        key: value
        for key, value in entry.items()
        if key not in ("name", "control", "link") and not isinstance(value, (list, dict))
    }
    return {**head, **plain}
