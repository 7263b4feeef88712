"""qlog, whoever wrote it, as a run: the same figures, series and plots."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from sojourn.errors import UsageError
from sojourn.qlog.reading import Damage as Damage
from sojourn.record import Run


def read(
    files: str | PathLike[str] | Sequence[str | PathLike[str]],
    control: str = "qlog",
    interval_s: float | None = None,
) -> tuple[Run, list[Damage]]:
    """Reads qlog files, one flow a trace; also says where a file could not be read on.

    `control` is what the run's controller is called, `interval_s` the time between two samples.
    Refuses files that hold no trace, or none before they are damaged.
    """
    from sojourn.qlog import reading, run

    named = [files] if isinstance(files, (str, PathLike)) else files
    traces, damages = [], []
    for file in map(Path, named):
        found, damage = reading.traces(file)
        if not found:
            raise UsageError(str(damage) if damage else f"{file}: it holds no qlog events")
        traces += found
        damages += [damage] if damage else []
    return run.of(traces, control, interval_s), damages
