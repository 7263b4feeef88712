"""HTML from templates, which escape every value and replace characters that HTML cannot carry."""

from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sojourn.record.formatting import carried

_FOLDER = Path(__file__).parent


def fill(template: str, folder: Path = _FOLDER, **values: Any) -> str:
    """Fill a template of the folder with the values; a `Markup` among them stays as it is."""
    return _environment(folder).get_template(template).render(values)


def framed(page: str, height: int) -> str:
    """Return a page as a part of another one, such as a notebook."""
    style = f"width: 100%; height: {height}px; border: 0"
    source = escape(page, quote=True)
    return f'<iframe title="Sojourn report" style="{style}" srcdoc="{source}"></iframe>'


@cache
def _environment(folder: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _finalize(value: Any) -> Any:
    return carried(value) if isinstance(value, str) and not isinstance(value, Markup) else value
