"""Folders that are written whole or not at all, and never over something else."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn.errors import OutputExistsError

Fill = Callable[[Path], None]
"""Writes the files into a folder."""


def require_free(target: Path, option: str = "--out") -> None:
    """Refuses a folder that holds something; `option` names it."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise OutputExistsError(f"{target} exists and is no folder; name another with {option}")
    if target.is_dir() and any(target.iterdir()):
        raise OutputExistsError(
            f"{target} exists and is not empty, and nothing is ever overwritten; "
            f"name another with {option} or remove it"
        )


def next_free(base: Path) -> Path:
    """`base`, or `base-2`, `base-3`, ... where it exists."""
    path, number = base, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path


def write(target: Path, fill: Fill) -> Path:
    """Writes a folder to `target`, which must be free."""
    require_free(target)
    with _complete(target) as place:
        fill(place)
        _move(place, target)
    return target


def write_numbered(base: Path, fill: Fill) -> Path:
    """Writes a folder to the first free one of `base`, `base-2`, ..."""
    with _complete(base) as place:
        fill(place)
        # Another process may take the name in between: rename refuses, so go on to the next.
        while True:
            target = next_free(base)
            try:
                _move(place, target)
            except OutputExistsError:
                continue
            return target


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
