"""The scenarios and papers inside the package, which need no checkout of Sojourn.

The build copies the folders `scenarios` and `papers` of the sources to `sojourn/shipped`.
"""

import errno
import json
import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from sojourn import _core, inputs
from sojourn.errors import OutputExistsError, UsageError, nearest, require_known

_FOLDER = Path(__file__).parents[1] / "shipped"
_SCENARIOS = _FOLDER / "scenarios"
PAPERS = _FOLDER / "papers"
"""The folder of the papers of the package."""


def names() -> list[str]:
    """Return the names of the shipped scenarios: their paths without `.toml`."""
    files = (file.relative_to(_SCENARIOS) for file in _SCENARIOS.rglob("*.toml"))
    return sorted(file.with_suffix("").as_posix() for file in files)


def located(name: str | PathLike[str]) -> str:
    """Return the path of a scenario: the file of this name, or else the shipped scenario.

    A folder with the name of a shipped scenario is no such file.

    Raises `FileNotFoundError` for a missing file whose path ends in the name of a shipped scenario,
    or resembles one, or the name of a file in the same folder. The message has the valid name.
    """
    file = os.fspath(name)
    path = Path(file)
    if path.exists() and not path.is_dir():
        return file
    known = names()
    if file in known:
        return str(_SCENARIOS / f"{file}.toml")
    if path.is_dir():
        return file
    parts = Path(file).with_suffix("").parts
    for start in range(len(parts)):
        if (short := "/".join(parts[start:])) in known:
            why = f"No such file; the shipped scenario has the name `{short}`"
            raise FileNotFoundError(errno.ENOENT, why, file)
    if "." not in file and (near := nearest(file, known)):
        why = f"No such file; did you mean the shipped scenario `{near}`?"
        raise FileNotFoundError(errno.ENOENT, why, file)
    if beside := _beside(path):
        raise FileNotFoundError(errno.ENOENT, f"No such file; did you mean `{beside}`?", file)
    return file


def _beside(path: Path) -> Path | None:
    """Return the TOML file in the folder of a missing file whose name is most similar."""
    try:
        known = [one.name for one in path.parent.glob("*.toml")]
    except (OSError, ValueError):
        return None
    near = nearest(path.name, known)
    return path.with_name(near) if near else None


def text(name: str) -> str:
    """Return the TOML text of a shipped scenario."""
    require_known("shipped scenario", name, names())
    return inputs.text(_SCENARIOS / f"{name}.toml")


def title(name: str) -> str:
    """Return the title of a shipped scenario."""
    file = _SCENARIOS / f"{name}.toml"
    return str(_core.Scenario.from_toml(name, inputs.text(file), str(file.parent)).title())


def copy(chosen: list[str], target: Path) -> list[Path]:
    """Write shipped scenarios, and the files that they name, below a folder; return their paths.

    Raises `OutputExistsError` before it writes, if a file of another content is in the way.
    """
    files = dict(_contents(chosen or names(), target))
    if not files:
        raise UsageError("this build of Sojourn has no shipped scenarios; `make install` adds them")
    for file, content in files.items():
        if file.exists() and inputs.whole_text(file) != content:
            raise OutputExistsError(
                errno.EEXIST, "a file of another content is in the way", str(file)
            )
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")
    return list(files)


def _contents(chosen: list[str], target: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of scenarios below a folder, with their contents."""
    for name in chosen:
        source = text(name)
        place = Path(f"{name}.toml").parent
        yield target / f"{name}.toml", source
        core = _core.Scenario.from_toml(name, source, str(_SCENARIOS / place))
        for value in _texts(json.loads(core.to_json())):
            if (_SCENARIOS / place / value).is_file():
                yield target / place / value, inputs.text(_SCENARIOS / place / value)


def _texts(value: object) -> Iterator[str]:
    """Yield every text of a document, among which are the files that it names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
