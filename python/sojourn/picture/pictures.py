"""Draw pictures after the data are written, so that a failed picture never costs data."""

import threading
import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import memory, output
from sojourn.errors import NotEnoughMemoryError, PictureError, PictureWarning
from sojourn.picture import simulator_page

if TYPE_CHECKING:
    from sojourn.picture import Drawing
    from sojourn.picture.chart import Document

ReportMissing = Callable[[str], None]
"""Receives one or two sentences: the missing pictures, and the reason."""

FORMATS = ("html", "svg", "png", "pdf")
"""Formats of a report; the pictures need matplotlib."""
PAGE = FORMATS[:1]
PICTURES = FORMATS[1:]


def warn(text: str) -> None:
    """Report by a Python warning, at the line that called `save` of a run or a comparison."""
    warnings.warn(text, PictureWarning, stacklevel=6)


class Pictures:
    """The pictures of one folder, and those that could not be drawn."""

    def __init__(
        self,
        report_missing: ReportMissing,
        formats: Collection[str] = PAGE,
        dark: bool = False,
        live: bool | None = None,
    ) -> None:
        """Take the formats of the report, from `FORMATS`; raise `ValueError` for another one.

        With `dark`, pictures have a dark ground. With `live`, the page contains the simulator: a
        package without the simulator raises `UsageError`, and a run that the page cannot simulate
        gets a page without it and a warning. By default the page contains the simulator if the
        package has it and the page can simulate the run.
        """
        if unknown := set(formats) - set(FORMATS):
            known = ", ".join(FORMATS)
            raise ValueError(f"no report as {', '.join(sorted(unknown))}; the formats are {known}")
        self._formats = [one for one in FORMATS if one in formats]
        self._dark = dark
        self._simulator = simulator_page.own_folder() if live is None else None
        if live:
            self._simulator = simulator_page.page_folder()
        self._report_missing = report_missing
        self._missing: dict[str, list[str]] = {}
        self._is_live_asked = bool(live)
        self._not_live: list[str] = []

    @property
    def hint(self) -> str:
        """The addition to the folder's name in a message."""
        return " (open report.html)" if PAGE[0] in self._formats else ""

    @property
    def what(self) -> str:
        """The thing that is written: a report, or data without one."""
        return "report" if self._formats else "data"

    def load_ahead(self) -> None:
        """Load the modules that draw the page, on a thread: a simulation leaves Python idle."""
        if PAGE[0] in self._formats:
            # A limit of memory may leave no room for a thread.
            with suppress(RuntimeError):
                threading.Thread(target=_load_page, daemon=True).start()

    def report(self, figure: "Drawing", place: Path) -> None:
        """Draw the files of a report."""
        for one in self._formats:
            file = place / f"report.{one}"
            self._fault(file.name, partial(self._save, figure, file))

    def _save(self, figure: "Drawing", file: Path) -> None:
        is_page = file.suffix == f".{PAGE[0]}"
        if is_page and self._simulator:
            output.write_file(file, figure.live_html(self._simulator, self._not_live.append))
        else:
            figure.save(file, self._dark and not is_page)

    def draw(self, figure: "Document", base: Path) -> bool:
        """Draw a picture as the page `base`.html, and as .svg and .png if matplotlib is installed.

        Return whether all exist.
        """
        from sojourn.picture import Chart, static

        drawn = Chart(figure)
        endings = ("html", "svg", "png") if static.is_available() else PAGE
        files = [base.with_name(f"{base.name}.{ending}") for ending in endings]
        faults = [self._fault(file.name, partial(drawn.save, file)) for file in files]
        return not any(faults)

    def finish(self, place: Path | str, again: str | None = None) -> None:
        """Report the missing pictures; `again` is a command that draws them, with `{}`."""
        more = [
            *(one for one in self._formats if one not in PAGE),
            *(["dark"] if self._dark else []),
        ]
        options = "".join(f" --{one}" for one in more)
        for reason, names in self._missing.items():
            redraw = f"; `{again.format(place)}{options}` draws again" if again else ""
            self._report_missing(
                f"{place}: {', '.join(names)} could not be drawn: {reason}. "
                f"The data beside are complete{redraw}"
            )

        if self._is_live_asked:
            for reason in self._not_live:
                self._report_missing(f"{place}: report.html is without the simulator: {reason}")

    def _fault(self, name: str, save: Callable[[], object]) -> str | None:
        """Save a picture; return the reason if that fails."""
        try:
            save()
        # No fault of a picture may discard the data.
        except Exception as error:
            reason = reason_of(error)
            self._missing.setdefault(reason, []).append(name)
            return reason
        return None


def _load_page() -> None:
    # Drawing meets the same fault, and reports it.
    with suppress(Exception):
        memory.require_polars()
        import_module("sojourn.picture.report_page")
        import_module("sojourn.picture.run_figure")


def write_folder(
    target: Path,
    fill: Callable[[Path, Pictures], object],
    drawn: Pictures,
    again: str | None = None,
) -> Path:
    """Write a folder of data and pictures to `target`, which must not exist or be empty.

    `fill` writes the data into a hidden folder, then draws. A picture that fails is left out, and
    `drawn` reports it; `again` is a command that draws it, with `{}`.
    """
    done = output.write_folder(target, lambda place: fill(place, drawn))
    drawn.finish(done, again)
    return done


def reason_of(error: Exception) -> str:
    """Describe why a picture could not be drawn or written."""
    if isinstance(error, (PictureError, NotEnoughMemoryError)):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{type(error).__name__}: {error} (please report it)"
