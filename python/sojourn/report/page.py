"""The report: one self-contained HTML file that works offline."""

from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from sojourn.comparison import table
from sojourn.report import overlay, render, spec
from sojourn.report.table_html import comparison_tables, to_html
from sojourn.report.theme import Spec

if TYPE_CHECKING:
    from sojourn.comparison import Comparison
    from sojourn.record import Run

_OVERLAY = "A is the wide line, B the narrow one over it. "
_HOW = (
    "Left: the whole run; drag over it to choose what the right side shows. "
    "Click a name in the legend to show only that one, and others to add them; "
    "double-click for all. Point anywhere for the figures of that moment."
)


def html(run: "Run", document: Spec) -> str:
    """Build the page of a run."""
    parts = [_head(run), _card(to_html(run.summary)), _figure(run), _scenario(run)]
    return _page(run.title, parts, document)


def comparison_html(comparison: "Comparison", document: Spec) -> str:
    """Build the page of a comparison."""
    title = overlay.title(comparison)
    about = "<br>\n".join(map(escape, table.about(comparison.summary)))
    head = f"<header>\n<h1>{escape(title)}</h1>\n<p>{about}</p>\n</header>"
    parts = [head, _card(comparison_tables(comparison.summary)), _caption(_OVERLAY + _HOW)]
    return _page(title, parts, document)


def _page(title: str, parts: list[str], document: Spec) -> str:
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{render.carried(escape(title))} – Sojourn</title>",
            f"<style>\n{_asset('page.css')}</style>",
            "</head>",
            "<body>",
            "<main>",
            *map(render.carried, parts),
            "</main>",
            f'<script type="application/json" id="spec">{_json(document)}</script>',
            f'<script type="module">{_script()}</script>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _card(inside: str) -> str:
    return f'<div class="card">\n{inside}\n</div>'


def _head(run: "Run") -> str:
    first, last = run.runs[0], run.runs[-1]
    seeds = f"seed {first['seed']}"
    if last["seed"] != first["seed"]:
        seeds = f"seeds {first['seed']} to {last['seed']}"
    what = f"{run.summary['scenario']}, {first['duration_s']:g} s, {seeds}"
    about = f"Sojourn {run.summary['version']}: {what}."
    if first["spikes"]:
        about += (
            " Spike: peak queueing delay after a change of capacity. Bound: the least spike of "
            "senders that fill the link until it changes, whatever their controller. Bound "
            "corrected: the same for what the link carried in the loop delay before the change. "
            "A spike may be lower where the queue drops packets, or where the senders slow for "
            "another reason before they can know of the change."
        )
    return f"<header>\n<h1>{escape(run.title)}</h1>\n<p>{escape(about)}</p>\n</header>"


def _figure(run: "Run") -> str:
    changes = spec.windows(run)
    buttons = "".join(_button(begin, end) for begin, end in changes)
    jump = f"<br>Show the change at {buttons}" if len(changes) > 1 else ""
    return _caption(_HOW + jump)


def _caption(text: str) -> str:
    return (
        f'<figure class="card">\n<figcaption>{text}</figcaption>\n'
        '<div id="figure" role="img" aria-label="Goodput, queueing delay, congestion window and '
        'round-trip time over time; the table above has the figures"></div>\n'
        "<noscript>The figure needs JavaScript; report.svg beside this file does not.</noscript>\n"
        "</figure>"
    )


def _button(begin: float, end: float) -> str:
    change = begin + spec.BEFORE_S
    return f'<button type="button" data-from="{begin:g}" data-to="{end:g}">{change:.4g} s</button>'


def _scenario(run: "Run") -> str:
    return (
        "<details>\n<summary>The scenario as run</summary>\n"
        f"<pre>{escape(run.scenario)}</pre>\n</details>"
    )


def _json(document: Spec) -> str:
    # A "<" in the data could end the script element.
    return render.to_json(document).replace("<", "\\u003c")


@cache
def _script() -> str:
    """Combine Vega and the page's own code into one script."""
    bundle = render.script(_asset("page.js"))
    # "</script" occurs only inside string literals, where the escape does not change the value.
    return bundle.replace("</script", "<\\/script")


def _asset(name: str) -> str:
    return files("sojourn.report").joinpath(name).read_text("utf-8")
