"""The reports of a run and of a comparison."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.picture import page, simulator_page
from sojourn.picture.chart import Document
from sojourn.record import table_html
from sojourn.record.formatting import named_path

if TYPE_CHECKING:
    from sojourn.record.record import Record


def of_run(
    run: "Record",
    figure: Document,
    simulator: Path | None = None,
    report_missing: Callable[[str], object] = lambda _: None,
) -> str:
    """Build the page of a run.

    `simulator` is the folder of the built page, which the report then contains; otherwise,
    `report_missing` receives the reason.
    """
    return page.html(
        figure,
        table_html.of_summary(run.summary),
        method=_method(run),
        scenario=run.scenario,
        live=simulator_page.of(run, simulator, report_missing) if simulator else None,
    )


def _method(run: "Record") -> list[str]:
    first, last = run.runs[0], run.runs[-1]
    seeds = f"seed {first['seed']}"
    if last["seed"] != first["seed"]:
        seeds = f"seeds {first['seed']} to {last['seed']}"
    scenario, version = run.summary["scenario"], run.summary["version"]
    writer = f"Sojourn {version}" if version[:1].isdigit() else version
    about = [f"{writer}: {named_path(scenario)}, {first['duration_s']:g} s, {seeds}."]
    if first["spikes"]:
        about.append(
            "Spike: peak queueing delay after a change of capacity. Bound: the smallest spike "
            "with any controller, for the rate that the link carried in the loop delay before the "
            "change. A spike may be lower if the queue drops packets, or if the senders slow for "
            "another reason before they can know of the change."
        )
    return about
