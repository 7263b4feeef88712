"""The figure of a run: shown in a notebook, or saved."""

from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.record import Run


class Figure:
    """Goodput, queueing delay, congestion window and RTT over time, with the bound drawn in."""

    def __init__(self, run: "Run") -> None:
        self._run = run

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The figure as a Vega-Lite document, to be changed or drawn elsewhere."""
        from sojourn.report import spec

        return spec.figure(self._run)

    @cached_property
    def svg(self) -> str:
        """The figure as SVG."""
        from sojourn.report import render, spec

        return render.svg(spec.figure(self._run, interactive=False))

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG."""
        from sojourn.report import render

        return render.png(self.svg)

    @cached_property
    def html(self) -> str:
        """The interactive report with table and scenario: one page that works offline."""
        from sojourn.report import page

        return page.html(self._run)

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the figure; the name's ending says how: .html, .svg or .png."""
        file = Path(path)
        if file.suffix == ".png":
            file.write_bytes(self.png)
        elif file.suffix in (".html", ".svg"):
            file.write_text(self.html if file.suffix == ".html" else self.svg, "utf-8")
        else:
            raise ValueError(f"{file}: a figure is saved as .html, .svg or .png")
        return file

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

    def __repr__(self) -> str:
        return f"<sojourn.Figure of {self._run!r}>"
