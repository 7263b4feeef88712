"""Reader for qlog of any origin, which yields the same figures, series and plots as a run."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from sojourn.errors import UsageError
from sojourn.qlog.reading import Damage as Damage
from sojourn.results import Run


def read(
    files: str | PathLike[str] | Sequence[str | PathLike[str]],
    control: str = "qlog",
    interval_s: float | None = None,
) -> tuple[Run, list[Damage]]:
    """Read qlog files, with one flow per trace; also return the damage of each file.

    `control` is the name of the run's controller, `interval_s` the sampling interval. Files that
    hold no trace are refused, and so are files that are damaged before their first trace.
    """
    from sojourn.qlog import reading, run

    named = [files] if isinstance(files, (str, PathLike)) else files
    traces, damages = [], []
    for file in map(Path, named):
        found, damage = reading.traces(file)
        if not found:
            raise UsageError(str(damage) if damage else f"{file}: it has no qlog events")
        traces += found
        damages += [damage] if damage else []
    return run.to_run(traces, control, interval_s), damages
