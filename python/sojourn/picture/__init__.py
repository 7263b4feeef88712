"""Pictures, shown in a notebook or saved. They load drawing libraries only when they are drawn."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import memory, output
from sojourn.errors import PictureError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from sojourn.picture.chart import Document
    from sojourn.record.comparison.compared import ComparedRuns
    from sojourn.record.record import Record
    from sojourn.theory import RapidTheory, SpikeTheory, TraceTheory

PICTURES = (".svg", ".png", ".pdf")
ENDINGS = (".html", *PICTURES)
_ENDINGS_TEXT = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"


class Drawing(ABC):
    """A picture as a page, and as a file of matplotlib if it is installed (`sojourn[pictures]`)."""

    _FRAME_PX = 1250
    """The height of the page in a notebook."""

    @abstractmethod
    def _document(self) -> "Document":
        """Describe the picture."""

    @cached_property
    def document(self) -> "Document":
        """The picture as data: rows of panels, for other renderers."""
        return self._document()

    def picture(
        self, columns: int | None = None, width_in: float | None = None, dark: bool = False
    ) -> "Picture":
        """Return the picture as one of matplotlib's, to change labels, sizes, colours and axes.

        `columns` is 1 or 2, for the width of a paper's columns, and `width_in` another width in
        inches. Matplotlib's settings and styles apply. Raise `PictureError` without matplotlib.
        """
        from sojourn.picture import static

        static.require()
        return static.figure(self.document, columns, width_in, dark)

    @cached_property
    def svg(self) -> str:
        """The picture as SVG."""
        return self._saved(".svg").decode()

    @cached_property
    def png(self) -> bytes:
        """The picture as PNG."""
        return self._saved(".png")

    def _saved(self, suffix: str, columns: int | None = None, dark: bool = False) -> bytes:
        from sojourn.picture import static

        return static.saved(self.picture(columns, dark=dark), suffix)

    @cached_property
    def html(self) -> str:
        """The picture as one page that works offline."""
        from sojourn.picture import page

        return page.html(self.document)

    def live_html(self, simulator: Path, report_missing: Callable[[str], object]) -> str:
        """The page with the simulator, whose built page is in this folder, for a run's picture.

        `report_missing` receives the reason if a run's page cannot have the simulator.
        """
        return self.html

    def save(
        self, path: str | PathLike[str], dark: bool = False, columns: int | None = None
    ) -> Path:
        """Write the picture; the suffix of the name selects the format: .html, .svg, .png or .pdf.

        With `dark`, a picture has a dark ground; a page follows its reader's settings. `columns`
        is that of `picture`. Raise `PictureError` if it cannot be drawn. The file is written
        completely or not at all.
        """
        file = Path(path)
        if file.suffix not in ENDINGS:
            raise ValueError(f"{file}: a figure is saved as {_ENDINGS_TEXT}")
        if file.suffix in PICTURES:
            return output.write_file(file, self._saved(file.suffix, columns, dark))
        if dark:
            raise ValueError(f"{file}: a page follows its reader's settings; leave out `dark`")
        return output.write_file(file, self.html)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from base64 import b64encode

        from sojourn.picture import static
        from sojourn.record import templates

        framed = templates.framed(self.html, self._FRAME_PX)
        bundle = {"text/html": framed, "text/plain": repr(self)}
        # For readers that show no pages, such as those of notebooks on the web.
        picture = {"image/png": b64encode(self.png).decode()} if static.is_available() else {}
        return {**bundle, **picture}


class Figure(Drawing):
    """Goodput, queueing delay, congestion window and RTT over time, with the bound."""

    def __init__(self, run: "Record", link: str | None = None) -> None:
        """Draw the queue of `link`, by default the one whose capacity changes."""
        self._run = run
        self._link = link

    def _document(self) -> "Document":
        memory.require_polars()
        from sojourn.picture import run_picture

        names = run_picture.links_of(self._run)
        return run_picture.figure(self._run, [self._link] if self._link else names)

    @cached_property
    def html(self) -> str:
        """The interactive report with table and scenario: one page that works offline."""
        from sojourn.picture import report_page

        return report_page.of_run(self._run, self.document)

    def live_html(self, simulator: Path, report_missing: Callable[[str], object]) -> str:
        """The report with the simulator, so that its reader can change a value."""
        from sojourn.picture import report_page

        return report_page.of_run(self._run, self.document, simulator, report_missing)

    def __repr__(self) -> str:
        return f"<sojourn.Figure of {self._run!r}>"


class ComparisonFigure(Drawing):
    """The picture of a comparison, with one run drawn over the other."""

    def __init__(self, comparison: "ComparedRuns") -> None:
        self._comparison = comparison

    def _document(self) -> "Document":
        from sojourn.picture import overlay

        return overlay.figure(self._comparison)

    @cached_property
    def html(self) -> str:
        """The interactive report with the tables: one page that works offline."""
        from sojourn.picture import page
        from sojourn.record import table_html

        return page.html(self.document, table_html.of_comparison(self._comparison.summary))

    def __repr__(self) -> str:
        return f"<sojourn.ComparisonFigure of {self._comparison!r}>"


class Chart(Drawing):
    """A picture that is described already."""

    def __init__(self, document: "Document") -> None:
        self._described = document

    def _document(self) -> "Document":
        return self._described

    def __repr__(self) -> str:
        return f"<sojourn.Chart of {self._described.title!r}>"


class SpikeFigure(Drawing):
    """Arrival rate and queueing delay around a drop of capacity, and bars for the mitigations."""

    def __init__(self, found: "SpikeTheory") -> None:
        self._found = found

    def _document(self) -> "Document":
        from sojourn.picture import spike

        return spike.document(self._found)

    def __repr__(self) -> str:
        return f"<sojourn.SpikeFigure of r = {self._found['r']:.4g}>"


class RapidFigure(Drawing):
    """Rapid's rate, the bursts and the queue over two periods, at the worst phase."""

    def __init__(self, found: "RapidTheory") -> None:
        self._found = found

    def _document(self) -> "Document":
        from sojourn.picture import theory

        return theory.rapid(self._found)

    def __repr__(self) -> str:
        return f"<sojourn.RapidFigure of case {self._found['case']}>"


class TraceFigure(Drawing):
    """Capacity and both minimum delays over time, and the delays by loop delay."""

    def __init__(self, found: "TraceTheory", name: str) -> None:
        self._found = found
        self._name = name

    def _document(self) -> "Document":
        from sojourn.picture import theory

        return theory.trace(self._found, self._name)

    def __repr__(self) -> str:
        return f"<sojourn.TraceFigure of {self._name}>"


def require_free_picture(target: str | PathLike[str]) -> None:
    """Refuse a file name with another suffix, and one that is taken or cannot be created."""
    if Path(target).suffix not in ENDINGS:
        raise UsageError(f"{target}: a figure is saved as {_ENDINGS_TEXT}")
    if Path(target).suffix in PICTURES:
        require_pictures()
    output.require_free_file(target)


def require_pictures() -> None:
    """Refuse pictures without matplotlib, before a command works for them."""
    from sojourn.picture import static

    try:
        static.require()
    except PictureError as error:
        raise UsageError(str(error)) from error
