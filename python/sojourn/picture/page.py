"""A picture as a page: one self-contained HTML file that works offline.

The page has the data of the picture; the script `report.js` draws them (web/src/report.ts).
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from sojourn.picture import chart, dark
from sojourn.picture.chart import Document
from sojourn.picture.simulator_page import Live
from sojourn.record import templates
from sojourn.record.table_html import Shown

NOTHING = Shown((), "", ())
FOLDER = Path(__file__).parent
_HINT = (
    "The left panel of a row shows the whole run; drag over it to select the part on the right. "
    "Point anywhere for the figures there, and choose names in the legend to see only those."
)


def html(
    figure: Document,
    shown: Shown = NOTHING,
    method: Sequence[str] = (),
    scenario: str = "",
    live: Live | None = None,
    heading: bool = True,
) -> str:
    """Build the page of a picture: the verdict, the picture, the tables, the method."""
    script, style = _part("report.js"), _part("report.css")
    palette = _palette(figure.colours | set(re.findall(r"var\(--([0-9a-f]{6})", shown.tables)))
    return templates.fill(
        "page.html",
        FOLDER,
        title=figure.title,
        about=shown.about,
        sentences=shown.sentences,
        heading=heading,
        has_bars=figure.bars is not None,
        tables=Markup(shown.tables),
        method=[*method, *shown.notes],
        subtitle=figure.lines,
        hint=_HINT if any(panel.zoom for row in figure.panels for panel in row) else "",
        scenario=scenario,
        live=live,
        policy=_policy(script, [style, palette], live),
        style=Markup(style),
        palette=Markup(palette),
        script=Markup(script),
        figure=Markup(_json(chart.as_data(figure))),
    )


def _json(data: Any) -> str:
    # A "<" in the data could end the script element.
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


@cache
def _part(name: str) -> str:
    """Return the script or the style; "</script" would occur in strings only."""
    return (FOLDER / name).read_text("utf-8").replace("</script", "<\\/script")


def _palette(colours: set[str]) -> str:
    """Declare each colour under its own name, with its value on a dark ground."""
    known = sorted({colour.removeprefix("#") for colour in colours})
    light = "".join(f"--{one}:#{one};" for one in known)
    night = "".join(f"--{one}:{dark.dark('#' + one)};" for one in known)
    scheme = "@media screen and (prefers-color-scheme:dark)"
    return f":root{{{light}}}{scheme}{{:root{{{night}}}}}"


def _policy(script: str, styles: Sequence[str], live: Live | None) -> str:
    """Allow only the page's own parts; a page within it inherits this policy."""
    own = {"script-src": [source_hash(script)], "style-src": list(map(source_hash, styles))}
    more = ""
    if live is not None:
        for name, allowed in own.items():
            allowed += live.sources(name)
        more = "worker-src blob:; frame-src blob:; img-src data: blob:; "
    sources = "; ".join(f"{name} {' '.join(allowed)}" for name, allowed in own.items())
    return f"default-src 'none'; {sources}; {more}base-uri 'none'; form-action 'none'"


def source_hash(text: str) -> str:
    """Return the source of a Content-Security-Policy that allows this script or style."""
    digest = b64encode(sha256(text.encode("utf-8", "surrogatepass")).digest()).decode()
    return f"'sha256-{digest}'"
