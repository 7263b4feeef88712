"""Runs, scenarios, selections and datasets as notebooks show them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sojourn.errors import NotEnoughMemoryError, PictureError
from sojourn.record import templates

if TYPE_CHECKING:
    import polars as pl

# Rows of a dataset's frame that are shown.
_MOST_ROWS = 10
# The height of a verdict and a figure of four rows.
_FRAME_PX = 1250
# Keys of a scenario that have tables of their own.
_TABLES = {"link": "Links", "flow": "Flows"}


def of_run(tables: str, draw: Callable[[], str]) -> str:
    """Return the tables of a run, whose heads have tooltips, and its figure, a page of its own."""
    return _shown(title="", parts=[Markup(tables), _figure(draw)])


def _figure(draw: Callable[[], str]) -> Markup:
    try:
        return Markup(templates.framed(draw(), _FRAME_PX))
    except (PictureError, NotEnoughMemoryError) as error:
        return Markup('<p class="notes">No figure: {}</p>').format(str(error))


def of_scenario(document: Mapping[str, Any], to_toml: Callable[[], str]) -> str:
    """Return the links and flows of a scenario as tables, and its TOML text to unfold."""
    parts = [
        _table(title, document[key])
        for key, title in _TABLES.items()
        if isinstance(document.get(key), Mapping)
    ]
    rest = {key: value for key, value in document.items() if key not in (*_TABLES, "title")}
    parts.insert(0, Markup('<p class="about">{}</p>').format(_pairs(rest)))
    parts.append(
        Markup("<details><summary>As TOML</summary><pre>{}</pre></details>").format(_toml(to_toml))
    )
    return _shown(title=str(document.get("title", "A scenario")), parts=parts)


def _toml(to_toml: Callable[[], str]) -> str:
    try:
        return to_toml()
    # A scenario with a fault is shown too: `check` reports the fault.
    except ValueError as error:
        return str(error)


def _table(title: str, named: Mapping[str, Any]) -> Markup:
    """Return a table with a row for each name, and a column for each key that a row has."""
    rows = {name: one for name, one in named.items() if isinstance(one, Mapping)}
    keys = list(dict.fromkeys(key for one in rows.values() for key in one))
    cells = [[name, *(_text(one.get(key, "")) for key in keys)] for name, one in rows.items()]
    return _grid(title, [title.lower().removesuffix("s"), *keys], cells)


def _grid(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    return Markup(templates.fill("grid.html", caption=caption, heads=heads, rows=rows))


def _pairs(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{key}: {_text(value)}" for key, value in values.items())


def _text(value: object) -> str:
    """Return a value of a scenario in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def of_selection(summary: Mapping[str, Any], samples: int) -> str:
    """Return the figures of a flow or link, with the number of its samples."""
    figures = {key: one for key, one in summary.items() if not isinstance(one, (dict, list))}
    rows = [[key, "–" if value is None else str(value)] for key, value in figures.items()]
    return _shown(
        title=f"{samples:,} samples in .series", parts=[_grid("", ["figure", "value"], rows)]
    )


def of_dataset(folder: str, axes: Sequence[str], points: "pl.DataFrame") -> str:
    """Return the axes of a sweep, and its first runs."""
    about = f"{folder}: {points.height:,} runs; axes: {', '.join(axes) or 'none'}"
    shown = points.drop("run", strict=False).head(_MOST_ROWS)
    rows = [list(map(str, row)) for row in shown.rows()]
    parts = [Markup('<p class="about">{}</p>').format(about), _grid("", shown.columns, rows)]
    if points.height > _MOST_ROWS:
        rest = points.height - _MOST_ROWS
        parts.append(Markup('<p class="notes">and {} more runs; .points has all</p>').format(rest))
    return _shown(title="", parts=parts)


def _shown(title: str, parts: Sequence[Markup]) -> str:
    return templates.fill("notebook.html", title=title, parts=parts)
