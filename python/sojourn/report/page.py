"""The report: one self-contained HTML file that works offline."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sojourn import live_report
from sojourn.report import bundle, dark, render, spec, templates
from sojourn.report.table_html import to_html
from sojourn.report.theme import Spec
from sojourn.run_summary import focus_link

if TYPE_CHECKING:
    import polars as pl

    from sojourn.record import Record


# More links would make the page large.
_MOST_LINKS = 24


def html(
    run: "Record",
    document: Spec,
    goodput: "pl.DataFrame",
    link: str | None,
    simulator: Path | None = None,
    report_missing: Callable[[str], object] = lambda _: None,
) -> str:
    """Build the page of a run; `goodput` is the result of `spec.goodput`.

    `simulator` is the folder of the built page, which the report then contains; otherwise,
    `report_missing` receives the reason.
    """
    names = _links(run, link)
    others = [spec.link_rows(run, goodput, name) for name in names[1:]]
    return templates.fill(
        "page.html",
        title=run.title,
        about=[_about(run)],
        tables=Markup(to_html(run.summary)),
        overlaid=False,
        changes=[_change(*window) for window in spec.windows(run)],
        links=names if others else [],
        link_rows=Markup(f"[{','.join(map(_json, others))}]"),
        scenario=run.scenario or None,
        live=simulator and live_report.of(run, simulator, report_missing),
        **scripts(document),
    )


def _links(run: "Record", link: str | None) -> list[str]:
    """Return the links that a reader can select, the drawn one first."""
    focus = focus_link(run.summary) if link is None else link
    every = run.runs[0]["links"]
    limited = [one["name"] for one in every if one["capacity_bps"] is not None]
    names = [*([focus] if focus else []), *limited]
    return list(dict.fromkeys(names))[:_MOST_LINKS]


def _about(run: "Record") -> str:
    first, last = run.runs[0], run.runs[-1]
    seeds = f"seed {first['seed']}"
    if last["seed"] != first["seed"]:
        seeds = f"seeds {first['seed']} to {last['seed']}"
    what = f"{run.summary['scenario']}, {first['duration_s']:g} s, {seeds}"
    about = f"Sojourn {run.summary['version']}: {what}."
    if first["spikes"]:
        about += (
            " Spike: peak queueing delay after a change of capacity. Bound: the smallest spike "
            "with any controller, for the rate that the link carried in the loop delay before the "
            "change. A spike may be lower if the queue drops packets, or if the senders slow for "
            "another reason before they can know of the change."
        )
    return about


def _change(begin: float, end: float) -> dict[str, str]:
    return {"begin": f"{begin:g}", "end": f"{end:g}", "at": f"{begin + spec.BEFORE_S:.4g}"}


def scripts(document: Spec) -> dict[str, Any]:
    """Return the values of the template that hold the figure and its script."""
    # The page has the title in its heading.
    subtitle = document["title"].get("subtitle") or []
    untitled = {key: value for key, value in document.items() if key != "title"}
    return {
        # The links' own rows have no other colours.
        "dark": _json(dark.colours(document)),
        "subtitle": [subtitle] if isinstance(subtitle, str) else subtitle,
        "spec": _json(untitled),
        "script": Markup(_script()),
    }


def _json(data: Spec) -> Markup:
    # A "<" in the data could end the script element.
    return Markup(render.to_json(data).replace("<", "\\u003c"))


@cache
def _script() -> str:
    """Combine Vega and the page's own code into one script."""
    text = bundle.script((templates.FOLDER / "page.js").read_text("utf-8"))
    # "</script" occurs only inside string literals, where the escape does not change the value.
    return text.replace("</script", "<\\/script")
