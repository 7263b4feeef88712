"""What the figures of a paper work with: simulations, published values, a place for pictures."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from sojourn import api, experiment
from sojourn.contract import RunSummary
from sojourn.exports import Captures
from sojourn.record import Run
from sojourn.report import render

T = TypeVar("T")


@dataclass
class Lab:
    """One paper's run. What several figures ask for alike is simulated once."""

    folder: Path
    """The paper's own folder: scenarios and published values."""
    out: Path
    """Where pictures go."""
    quick: bool = False
    data: Path | None = None
    """A folder or file of measurements that do not ship, where there is one."""
    jobs: int | None = None
    progress: experiment.Progress | None = None
    pictures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _made: dict[str, Any] = field(default_factory=dict)

    def pick(self, full: T, quick: T) -> T:
        """One or the other, as this is a quick run or a full one."""
        return quick if self.quick else full

    def published(self, name: str = "published.json") -> Any:
        """The published values, from the paper's folder."""
        return json.loads((self.folder / name).read_text("utf-8"))

    def run(
        self,
        scenario: str,
        set: Mapping[str, Any] | None = None,
        control: str | Sequence[str] | None = None,
        runs: int = 1,
        spread: str | None = None,
        exports: Captures | None = None,
    ) -> Run:
        """Simulates a scenario of the paper's folder with its series, as `sojourn.run` does.

        With `exports` it is simulated each time, and its packets are written.
        """

        def simulate() -> Run:
            source = api.as_scenario(self.folder / scenario)
            core = experiment.prepare(
                source.compile(), assignments=set or {}, control=control, spread=spread
            )
            return api.record(core, source.origin, runs, self.jobs, self.progress, captures=exports)

        if exports is not None:
            return simulate()
        key = json.dumps([scenario, dict(set or {}), control, runs, spread], sort_keys=True)
        return self.once(key, simulate)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What `make` gives, made the first time that a figure asks for it under this name."""
        if key not in self._made:
            self._made[key] = make()
        return cast(T, self._made[key])

    def made(self) -> list[Any]:
        """What was made once so far, in its order."""
        return list(self._made.values())

    def sweep(
        self,
        scenario: str,
        cells: Sequence[Mapping[str, Any]],
        take: Callable[[RunSummary], T],
    ) -> list[T]:
        """What `take` makes of the summary of each cell: values to set, in one pool of threads.

        A cell's scenario must name one controller.
        """
        source = api.as_scenario(self.folder / scenario)
        jobs = []
        for cell in cells:
            core = experiment.prepare(source.compile(), assignments=cell)
            jobs.append(experiment.Job(core, 0, core.seed()))
        return experiment.simulate(
            jobs,
            api.threads_of(self.jobs),
            lambda outcome: take(json.loads(outcome.summary_json())),
            self.progress,
        )

    def draw(self, name: str, spec: Mapping[str, Any]) -> None:
        """Writes a Vega-Lite figure as `NAME.svg` and `NAME.png`."""
        self.picture(name, render.svg(dict(spec)))

    def picture(self, name: str, svg: str) -> None:
        """Writes a picture in SVG, and as PNG."""
        (self.out / f"{name}.svg").write_text(svg, "utf-8")
        (self.out / f"{name}.png").write_bytes(render.png(svg))
        self.pictures.append(name)

    def note(self, text: str) -> None:
        """Says something below the figure's table."""
        self.notes.append(text)
