"""The run directory: everything that a run left, complete or not there at all."""

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn import _core
from sojourn.contract import Summary
from sojourn.errors import OutputExistsError
from sojourn.record import Run, What

SERIES: tuple[What, What] = ("flows", "links")


def summary_text(summary: Summary) -> str:
    """`summary.json`, and what `--json` prints."""
    return json.dumps(summary, indent=1, ensure_ascii=False) + "\n"


def require_free(target: Path) -> None:
    """Refuses a folder that holds something."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise OutputExistsError(f"{target} exists and is no folder; name another with --out")
    if target.is_dir() and any(target.iterdir()):
        raise OutputExistsError(
            f"{target} exists and is not empty, and nothing is ever overwritten; "
            "name another with --out or remove it"
        )


def next_free(base: Path) -> Path:
    """`base`, or `base-2`, `base-3`, ... where it exists."""
    path, number = base, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path


def write(run: Run, target: Path) -> Path:
    """Writes the run directory to `target`, which must be free."""
    require_free(target)
    with _complete(target) as place:
        _write_files(run, place)
        _move(place, target)
    return target


def write_numbered(run: Run, base: Path) -> Path:
    """Writes the run directory to the first free one of `base`, `base-2`, ..."""
    with _complete(base) as place:
        _write_files(run, place)
        # Another process may take the name in between: rename refuses, so go on to the next.
        while True:
            target = next_free(base)
            try:
                _move(place, target)
            except OutputExistsError:
                continue
            return target


def read(directory: Path) -> Run:
    """Reads a run directory back."""
    summary: Summary = json.loads((directory / "summary.json").read_text("utf-8"))
    scenario = (directory / "scenario.toml").read_text("utf-8")
    core = _core.Scenario.from_toml(str(directory / "scenario.toml"), scenario, str(directory))
    series = {what: (directory / f"{what}.parquet").read_bytes() for what in SERIES}
    return Run(summary, scenario, core.title(), series, dict(core.portable()[1]))


def _write_files(run: Run, place: Path) -> None:
    (place / "summary.json").write_text(summary_text(run.summary), "utf-8")
    (place / "scenario.toml").write_text(run.scenario, "utf-8")
    for name, text in run.files.items():
        (place / name).write_text(text, "utf-8")
    for what in SERIES:
        (place / f"{what}.parquet").write_bytes(run.series[what])
    figure = run.plot()
    for name in ("report.html", "report.svg", "report.png"):
        figure.save(place / name)


@contextmanager
def _complete(target: Path) -> Iterator[Path]:
    """A hidden folder beside `target`, gone at the end unless it was moved."""
    target.parent.mkdir(parents=True, exist_ok=True)
    place = target.parent / f".{target.name}.{os.getpid()}-{threading.get_ident()}.partial"
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.mkdir()
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _move(place: Path, target: Path) -> None:
    # On Linux and macOS, rename replaces an empty folder and refuses one that is not.
    try:
        place.rename(target)
    except OSError as error:
        if not target.exists():
            raise
        raise OutputExistsError(f"{target} was made by someone else meanwhile") from error
