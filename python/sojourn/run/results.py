"""The result of a run as users hold it: data, figure and run directory."""

import errno
import json
import os
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import _core, inputs, output
from sojourn.arguments import checked
from sojourn.errors import RunDirectoryError, UsageError
from sojourn.picture import pictures
from sojourn.record import parts, run_directory
from sojourn.record.comparison.summary import ComparisonSummary
from sojourn.record.record import Record
from sojourn.record.run_directory import File
from sojourn.record.summary import Summary, UserController
from sojourn.user.controllers import source_file_name

if TYPE_CHECKING:
    from sojourn.picture import Figure

REDRAW = "sojourn report {}"
SERIES: tuple[File, ...] = ("flows", "links", "transfers", "frames")


def summary_text(summary: Summary | ComparisonSummary) -> str:
    """Format `summary.json` or `comparison.json`, and the output of `--json`."""
    return _indented(summary, "\n") + "\n"


def _indented(value: object, line: str) -> str:
    """Format JSON with one line per table of plain values.

    Python's own encoder takes seconds to indent the output of thousands of flows.
    """
    if not isinstance(value, (dict, list)):
        return json.dumps(value)
    inside = value.values() if isinstance(value, dict) else value
    if not any(isinstance(item, (dict, list)) for item in inside):
        return json.dumps(value)
    deeper = f"{line} "
    if isinstance(value, dict):
        keys = (f"{json.dumps(key)}: {_indented(item, deeper)}" for key, item in value.items())
        return f"{{{deeper}{f',{deeper}'.join(keys)}{line}}}"
    return f"[{deeper}{f',{deeper}'.join(_indented(item, deeper) for item in value)}{line}]"


class Run(Record):
    """The result of a scenario: one simulation for each of its controllers and seeds."""

    def plot(self, link: str | None = None) -> "Figure":
        """Return the figure, which notebooks display and `save` writes to a file.

        `link` is the link whose queue is drawn, by default the one whose capacity changes. Raise
        `UsageError` if there is no such link.
        """
        from sojourn.picture import Figure

        names = [one["name"] for one in self.runs[0]["links"]]
        if link is not None and link not in names:
            raise UsageError(f"there is no link {link!r}; there are: {', '.join(names)}")
        return Figure(self, link)

    def only(
        self,
        flow: str | Sequence[str] | None = None,
        link: str | Sequence[str] | None = None,
        control: str | Sequence[str] | None = None,
    ) -> "Run":
        """Return the run with these flows, links and controllers alone; None selects all.

        Raise `UsageError` for a name that the run does not have.
        """
        return parts.select(self, parts.Chosen.of(flow, link, control), self.title)

    def save(
        self,
        directory: str | PathLike[str],
        report: Collection[str] = pictures.PAGE,
        csv: bool = False,
    ) -> Path:
        """Write the run directory, which must not exist yet or be empty.

        `report` has the formats of the report: any of "html", "svg", "png" and "pdf", or none.
        `csv` adds each Parquet file as CSV, and the figures as `figures.csv`.
        """
        return write(self, Path(directory), pictures.Pictures(pictures.warn, report), csv)

    def __repr__(self) -> str:
        controls = list(dict.fromkeys(run["control"] for run in self.runs))
        count = "1 run" if len(self.runs) == 1 else f"{len(self.runs)} runs"
        return f"<sojourn.Run {self.title!r}: {', '.join(controls)}; {count}>"

    def _repr_html_(self) -> str:
        from sojourn.picture import page
        from sojourn.record import notebook, table_html

        tables = table_html.to_html(table_html.of_summary(self.summary))
        return notebook.of_run(tables, lambda: page.html(self.plot().document, heading=False))


@checked
def load(directory: str | PathLike[str]) -> Run:
    """Read a run directory."""
    return read(Path(directory))


def write(run: Run, target: Path, drawn: pictures.Pictures, csv: bool = False) -> Path:
    """Write the run directory to `target`, which must not exist or be empty.

    A picture that cannot be drawn is left out, and `drawn` reports it.
    """
    return pictures.write_folder(
        target, lambda place, drawn: fill(run, place, drawn, csv), drawn, REDRAW
    )


def fill(
    run: Run,
    place: Path,
    drawn: pictures.Pictures,
    csv: bool = False,
    figure: "Figure | None" = None,
) -> None:
    """Write the run directory's files into an existing folder, all data first.

    `figure` is the report's, by default that of the whole run.
    """
    _write_data(run, place)
    if csv:
        _write_csv(run, place)
    drawn.report(figure or run.plot(), place)


def draw(directory: Path, drawn: pictures.Pictures, chosen: parts.Chosen) -> None:
    """Draw the report of the selected parts of a run directory from its data."""
    shown = parts.select(read(directory), chosen, str(directory))
    drawn.report(shown.plot(chosen.first_link), directory)
    drawn.finish(directory, REDRAW)


def read(directory: Path) -> Run:
    """Read a run directory by any writer; refuse violations of its format."""
    summary = _read_summary(directory)
    series = {
        what: _read_series(directory, what) for what in SERIES if _has_series(directory, what)
    }
    run_directory.require_room((str(directory / f"{one}.parquet"), series[one]) for one in series)
    for what, data in series.items():
        run_directory.check_series(data, what, str(directory / f"{what}.parquet"))
    file = directory / "scenario.toml"
    if not file.exists():
        return Run(summary, "", summary["scenario"], series, {})
    scenario = inputs.whole_text(file)
    core = _core.Scenario.from_toml(str(file), scenario, str(directory))
    try:
        named = dict(core.portable()[1])
    except _core.ScenarioError:
        raise
    except ValueError as error:
        raise RunDirectoryError(
            f"{file}: {error}; put it back, or take the folder as the run wrote it"
        ) from error
    own = summary.get("controllers")
    if not own:
        return Run(summary, scenario, core.title(), series, named)
    # The scenario names controllers that are not loaded, so the schema cannot apply to it.
    title = json.loads(core.to_json()).get("title", "")
    return Run(summary, scenario, str(title), series, {**named, **_sources(directory, own)})


def _sources(directory: Path, controllers: list[UserController]) -> dict[str, str]:
    names = [source_file_name(one["name"]) for one in controllers]
    # A name with a slash would lead out of the directory.
    kept = [name for name in names if Path(name).name == name and (directory / name).is_file()]
    return {name: inputs.whole_text(directory / name) for name in kept}


def _read_summary(directory: Path) -> Summary:
    file = directory / "summary.json"
    if directory.is_dir() and not file.exists():
        raise RunDirectoryError(
            f"{directory}: not a run directory: it has no summary.json; "
            "`sojourn run FILE --out DIR` writes one"
        )
    if directory.exists() and not directory.is_dir():
        raise RunDirectoryError(f"{directory}: not a folder; name the run directory itself")
    if not directory.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))
    try:
        given = inputs.whole_json(file)
    except UsageError as error:
        raise RunDirectoryError(str(error)) from error
    return run_directory.check_summary(given, str(file))


def _has_series(directory: Path, what: File) -> bool:
    """Whether to read a series: few directories have transfers or frames."""
    return what in ("flows", "links") or (directory / f"{what}.parquet").exists()


def _read_series(directory: Path, what: File) -> bytes:
    file = directory / f"{what}.parquet"
    if what != "flows" and not file.exists():
        return run_directory.empty_series(what)
    if not file.exists():
        raise RunDirectoryError(f"{directory}: it has no {file.name}; {run_directory.WHERE}")
    return inputs.whole(file, 1)


def _write_data(run: Run, place: Path) -> None:
    output.write_file(place / "summary.json", summary_text(run.summary))
    if run.scenario:
        output.write_file(place / "scenario.toml", run.scenario)
    for name, text in run.files.items():
        output.write_file(place / name, text)
    for what, data in run.series.items():
        output.write_file(place / f"{what}.parquet", data)


def _write_csv(run: Run, place: Path) -> None:
    """Write the data of each Parquet file as CSV, and the figures of `Run.table`."""
    frames = {"flows": run.flows, "links": run.links, "figures": run.table()}
    if "transfers" in run.series:
        frames["transfers"] = run.transfers
    if "frames" in run.series:
        frames["frames"] = run.frames
    for name, frame in frames.items():
        output.write_file(place / f"{name}.csv", frame.write_csv())
