"""Figures, shown in a notebook or saved. They load drawing libraries only when they are drawn."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import memory, output
from sojourn.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from sojourn.captures import CaptureRtt
    from sojourn.comparison.compared import ComparedRuns
    from sojourn.record import Record
    from sojourn.theory import RapidTheory, SpikeTheory, TraceTheory

ENDINGS = (".html", ".svg", ".png")


class Drawing(ABC):
    """A figure as Vega-Lite, SVG, PNG and a standalone page."""

    @abstractmethod
    def _document(self, interactive: bool) -> dict[str, Any]: ...

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The figure as a Vega-Lite document, for changes or other renderers."""
        return self._document(interactive=True)

    @cached_property
    def svg(self) -> str:
        """The figure as SVG."""
        return self._drawn["light"]

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG."""
        from sojourn.report import render

        return render.png(self.svg)

    def live_html(self, simulator: Path, report_missing: Callable[[str], object]) -> str:
        """The page with the simulator, whose built page is in this folder, for a run's figure.

        `report_missing` receives the reason if a run's page cannot have the simulator.
        """
        return self.html

    @cached_property
    def _drawn(self) -> "_Themes":
        """The figure as SVG, on each ground."""
        return _Themes(self._document)

    @cached_property
    def html(self) -> str:
        """The figure as one page that works offline."""
        from sojourn.report import render

        return render.page(self.spec)

    def save(self, path: str | PathLike[str], dark: bool = False) -> Path:
        """Write the figure; the suffix of the name selects the format: .html, .svg or .png.

        With `dark`, a picture has a dark ground; a page follows its reader's settings. Raise
        `PictureError` if it cannot be drawn. The file is written completely or not at all.
        """
        from sojourn.report import render

        file = Path(path)
        if file.suffix not in ENDINGS:
            raise ValueError(f"{file}: a figure is saved as .html, .svg or .png")
        if file.suffix == ".html":
            if dark:
                raise ValueError(f"{file}: a page follows its reader's settings; leave out `dark`")
            return output.write_file(file, self.html)
        drawn = self._drawn["dark" if dark else "light"]
        return output.write_file(file, drawn if file.suffix == ".svg" else render.png(drawn))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from base64 import b64encode

        page = escape(self.html, quote=True)
        style = "width: 100%; height: 1250px; border: 0"
        frame = f'<iframe title="Sojourn report" style="{style}" srcdoc="{page}"></iframe>'
        return {
            "text/html": frame,
            "image/png": b64encode(self.png).decode("ascii"),
            "text/plain": repr(self),
        }


class _Themes(dict[str, str]):
    """A figure as SVG on a light and a dark ground, each drawn when it is first asked for."""

    def __init__(self, document: Callable[[bool], dict[str, Any]]) -> None:
        super().__init__()
        self._document = document

    def __missing__(self, theme: str) -> str:
        from sojourn.report import dark, render

        document = self._document(False)
        self[theme] = render.svg(dark.themed(document) if theme == "dark" else document)
        return self[theme]


class Figure(Drawing):
    """Goodput, queueing delay, congestion window and RTT over time, with the bound."""

    def __init__(self, run: "Record", link: str | None = None) -> None:
        """Draw the queue of `link`, by default the one whose capacity changes."""
        self._run = run
        self._link = link

    def _document(self, interactive: bool) -> dict[str, Any]:
        memory.require_polars()
        from sojourn.report import spec

        return spec.figure(self._run, interactive, self._goodput, self._link)

    @cached_property
    def _goodput(self) -> "pl.DataFrame":
        """The mean goodput, shared by all formats: for thousands of flows it takes seconds."""
        from sojourn.report import spec

        return spec.goodput(self._run)

    @cached_property
    def html(self) -> str:
        """The interactive report with table and scenario: one page that works offline."""
        memory.require_polars()
        from sojourn.report import page

        return page.html(self._run, self.spec, self._goodput, self._link)

    def live_html(self, simulator: Path, report_missing: Callable[[str], object]) -> str:
        """The report with the simulator, so that its reader can change a value."""
        memory.require_polars()
        from sojourn.report import page

        return page.html(self._run, self.spec, self._goodput, self._link, simulator, report_missing)

    def __repr__(self) -> str:
        return f"<sojourn.Figure of {self._run!r}>"


class ComparisonFigure(Drawing):
    """The figure of a comparison, with one run drawn over the other."""

    def __init__(self, comparison: "ComparedRuns") -> None:
        self._comparison = comparison

    def _document(self, interactive: bool) -> dict[str, Any]:
        from sojourn.report import overlay

        return overlay.figure(self._comparison, interactive)

    @cached_property
    def html(self) -> str:
        """The interactive report with the tables: one page that works offline."""
        from sojourn.report import comparison_page

        return comparison_page.html(self._comparison, self.spec)

    def __repr__(self) -> str:
        return f"<sojourn.ComparisonFigure of {self._comparison!r}>"


class RttFigure(Drawing):
    """The round-trip times over time of the flows with most samples, a panel each."""

    def __init__(self, found: "CaptureRtt") -> None:
        self._found = found

    def _document(self, interactive: bool) -> dict[str, Any]:
        from sojourn.report import rtt

        return rtt.document(self._found)

    def __repr__(self) -> str:
        return f"<sojourn.RttFigure of {self._found['file']}>"


class SpikeFigure(Drawing):
    """Arrival rate and queueing delay around a drop of capacity, and bars for the mitigations."""

    def __init__(self, found: "SpikeTheory") -> None:
        self._found = found

    def _document(self, interactive: bool) -> dict[str, Any]:
        from sojourn.report import spike

        return spike.document(self._found)

    def __repr__(self) -> str:
        return f"<sojourn.SpikeFigure of r = {self._found['r']:.4g}>"


class RapidFigure(Drawing):
    """Rapid's rate, the bursts and the queue over two periods, at the worst phase."""

    def __init__(self, found: "RapidTheory") -> None:
        self._found = found

    def _document(self, interactive: bool) -> dict[str, Any]:
        from sojourn.report import theory

        return theory.rapid(self._found)

    def __repr__(self) -> str:
        return f"<sojourn.RapidFigure of case {self._found['case']}>"


class TraceFigure(Drawing):
    """Capacity and both minimum delays over time, and the delays by loop delay."""

    def __init__(self, found: "TraceTheory", name: str) -> None:
        self._found = found
        self._name = name

    def _document(self, interactive: bool) -> dict[str, Any]:
        from sojourn.report import theory

        return theory.trace(self._found, self._name)

    def __repr__(self) -> str:
        return f"<sojourn.TraceFigure of {self._name}>"


def require_free_figure(target: str | PathLike[str]) -> None:
    """Refuse a file name with another suffix, and one that is taken or cannot be created."""
    if Path(target).suffix not in ENDINGS:
        endings = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise UsageError(f"{target}: a figure is saved as {endings}")
    output.require_free_file(target)
