"""Pictures for papers, drawn by matplotlib (`sojourn[pictures]`)."""

import io
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from sojourn import extras
from sojourn.errors import PictureError
from sojourn.picture import dark, static_ends, static_marks, static_verdict
from sojourn.picture.chart import Document, Layer, Panel, legend, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches of a CSS pixel.
_INCH = 1 / 96
_WIDTHS = {1: 3.5, 2: 7.16}
"""Inches of a picture in one and two columns of the IEEE's journals."""
# Pixels: margins of a panel, and heights of lines of text.
_TOP, _RIGHT, _BOTTOM, _GAP, _TITLE, _LINE, _LETTER = 8, 14, 20, 10, 18, 15, 6.0
_LEAST = 46
# The height of the title of a picture.
_HEAD = 28
# A guide this much above the data extends the axis; one further out would flatten them.
_REACH = 1.3
# Values that a user changed in matplotlib's own settings stand.
_STYLE: dict[str, Any] = {
    # The second has the signs that the first lacks.
    "font.family": ["sans-serif", "DejaVu Sans"],
    "font.sans-serif": ["Liberation Sans", "Helvetica", "Arial", "DejaVu Sans"],
    "font.size": 8.25,
    "axes.titlesize": 9.75,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.25,
    "xtick.labelsize": 8.25,
    "ytick.labelsize": 8.25,
    "legend.fontsize": 8.25,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.7,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    # Text in a PDF stays text.
    "pdf.fonttype": 42,
    # Names in an SVG are random without it.
    "svg.hashsalt": "sojourn",
}


def figure(
    drawn: Document,
    columns: int | None = None,
    width_in: float | None = None,
    is_dark: bool = False,
) -> "Figure":
    """Draw a picture with matplotlib, whose settings (`rcParams`) apply.

    `columns` is 1 or 2 for the width of a paper's columns; a picture in one column shows, of a row
    over time, the selected part alone. `width_in` is another width in inches.
    """
    with settings(is_dark):
        return _Picture(drawn, columns, width_in, is_dark).figure


def saved(drawn: "Figure", suffix: str) -> bytes:
    """Return the bytes of a picture: .svg, .png or .pdf; equal pictures have equal bytes."""
    file = io.BytesIO()
    when = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {"Software": None}}
    with settings():
        drawn.savefig(file, format=suffix[1:], dpi=192, metadata=when[suffix])
    data = file.getvalue()
    # Without the prologue, the text can be part of a page.
    return data[data.index(b"<svg") :] if suffix == ".svg" else data


def is_available() -> bool:
    """Whether matplotlib is installed."""
    try:
        require()
    except PictureError:
        return False
    return True


def require() -> None:
    """Raise `PictureError` without matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PictureError(
            f"pictures need matplotlib; install it with: {extras.installation('pictures')}"
        ) from error


def settings(is_dark: bool = False) -> Any:
    """Return the context of our settings, within which matplotlib draws."""
    require()
    import matplotlib as mpl

    ours = dict(_STYLE)
    if is_dark:
        ground, text, line = dark.GROUND, "#ececf0", "#3d3d42"
        ours |= dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), ground)
        ours |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), text)
    else:
        line = "#eeeeee"
    ours |= {"grid.color": line, "axes.edgecolor": "#777777" if is_dark else "#bbbbbb"}
    kept = {
        key: value for key, value in ours.items() if mpl.rcParams[key] == mpl.rcParamsDefault[key]
    }
    return mpl.rc_context(kept)


@dataclass(frozen=True)
class _View:
    """A panel, or a part of it, with its place in pixels."""

    panel: Panel
    part: tuple[float, float] | None
    is_first: bool
    width: float
    right: float = _RIGHT
    """The room beside it."""

    @property
    def title(self) -> str:
        return self.panel.title if self.is_first else self.panel.key

    @property
    def head(self) -> float:
        """The height of title and legend."""
        return _TITLE + _LINE * _lines_of(self)


class _Picture:
    def __init__(
        self, drawn: Document, columns: int | None, width_in: float | None, is_dark: bool
    ) -> None:
        from matplotlib.figure import Figure

        if columns not in (None, 1, 2):
            raise ValueError(f"columns={columns}: a figure has the width of 1 or 2 columns")
        self.drawn = drawn
        self.is_dark = is_dark
        beside = _beside(drawn)
        rows = [list(_views(row, columns == 1, beside)) for row in drawn.panels]
        natural = max(
            (sum(one.width + _margin(one) + one.right for one in row) for row in rows),
            default=640,
        )
        natural = max(natural, 1.6 * _LETTER * len(short(drawn.title)) + 20)
        width = (width_in or _WIDTHS.get(columns or 0, natural * _INCH)) / _INCH
        self.rows = [_fitted(row, width) for row in rows]
        self.bars = static_verdict.Place(drawn.bars, width) if drawn.bars else None
        head = _heading(drawn, width)
        above = head + (self.bars.height + _GAP if self.bars else 0)
        heights = [max(one.head + one.panel.height + _bottom(one) for one in row) for row in rows]
        self.height = above + sum(heights) + _GAP * len(rows)
        self.figure = Figure(figsize=(width * _INCH, self.height * _INCH))
        self.width = width
        if self.bars:
            self._bars(self.bars)
        self._heading(above - head)
        top = above
        for row, height in zip(self.rows, heights, strict=True):
            self._row(row, top)
            top += height + _GAP

    def _bars(self, place: "static_verdict.Place") -> None:
        """Draw the verdict, below the title."""
        bottom = 1 - (_HEAD + place.height) / self.height
        axes = self.figure.add_axes((0, bottom, 1, place.height / self.height))
        static_verdict.draw(axes, place, self._ink)

    def _heading(self, below: float) -> None:
        at = 18.0
        if self.drawn.title.strip():
            self._text(at, short(self.drawn.title), size=12, weight="bold")
            at += 19
        at += below
        for line in self.drawn.lines:
            self._text(at, short(line), alpha=0.75)
            at += _LINE
        if self.drawn.keys:
            self.figure.legend(
                **self._names(self.drawn.keys, _names_across(self.drawn.keys, self.width)),
                loc="upper left",
                bbox_to_anchor=(0.0, 1 - (at - 10) / self.height),
                borderaxespad=0.2,
                handlelength=1.8,
            )

    def _text(self, top: float, text: str, **more: Any) -> None:
        self.figure.text(10 / self.width, 1 - top / self.height, text, parse_math=False, **more)

    def _row(self, row: Sequence[_View], top: float) -> None:
        left = 0.0
        for one in row:
            left += _margin(one)
            bottom = 1 - (top + one.head + one.panel.height) / self.height
            place = (
                left / self.width,
                bottom,
                one.width / self.width,
                one.panel.height / self.height,
            )
            self._panel(self.figure.add_axes(place), one)
            left += one.width + one.right

    def _panel(self, axes: "Axes", view: _View) -> None:
        panel = view.panel
        layers = _layers(panel, self.drawn)
        title = view.title.replace("{link}", next(iter(self.drawn.links), ""))
        weight: dict[str, Any] = {} if view.is_first else {"fontweight": "normal", "alpha": 0.75}
        pad = (_LINE * _lines_of(view) + 5) * static_marks.POINT
        # From the left end of the labels, so that a long title has room.
        left = -max(_margin(view) - 10, 0) / view.width
        axes.set_title(title, pad=pad, x=left, parse_math=False, **weight)
        _scale(axes, panel, layers, view.part)
        for shade in panel.behind:
            for begin, end in shade.spans:
                axes.axvspan(begin, end, color=self._ink(shade.colour), alpha=0.6, lw=0)
        for place, layer in enumerate(layers, start=1):
            static_marks.DRAW[layer.kind](axes, layer, self._ink(layer.colour), place * 0.01 + 2)
        if view.part is not None:
            static_ends.draw(axes, layers, self._ink)
        names = legend(panel.layers)
        if panel.legend and len(names) > 1:
            axes.legend(
                **self._names(names, panel.columns or _names_across(names, view.width)),
                loc="lower left",
                bbox_to_anchor=(0, 1),
                borderaxespad=0.1,
                handlelength=1.4,
            )
        if panel.bare:
            axes.set_axis_off()

    def _ink(self, colour: str | None) -> str:
        shown = colour or "#444444"
        return dark.dark(shown) if self.is_dark else shown

    def _names(self, keys: Sequence[Layer], across: int) -> dict[str, Any]:
        """Return the entries of a legend in rows; matplotlib fills columns."""
        handles = [self._handle(key) for key in keys]
        ordered = [one for column in range(across) for one in handles[column::across]]
        return {"handles": ordered, "ncols": across, "columnspacing": 1.2, "labelspacing": 0.25}

    def _handle(self, key: Layer) -> Any:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ink, name = self._ink(key.colour), static_marks.plain(key.name)
        if key.kind in ("boxes", "rects"):
            return Patch(color=ink, label=name)
        if key.kind == "dots":
            marker = static_marks.MARKERS.get(key.shape, "o")
            return Line2D([], [], color=ink, marker=marker, lw=0, ms=5, label=name)
        lw = 1.3 * key.width
        return Line2D([], [], color=ink, lw=lw, ls=static_marks.dashes(key), label=name)


def _views(row: Sequence[Panel], is_narrow: bool, beside: float) -> Iterator[_View]:
    for panel in row:
        if panel.zoom is None:
            yield _View(panel, None, True, panel.width)
        elif is_narrow:
            yield _View(panel, panel.zoom, True, panel.width, beside)
        else:
            yield _View(panel, None, True, 0.54 * panel.width)
            yield _View(panel, panel.zoom, False, 0.46 * panel.width, beside)


def _beside(drawn: Document) -> float:
    """Return the room that the names of lines need beside any panel: time axes are aligned."""
    panels = [panel for row in drawn.panels for panel in row if panel.zoom]
    ends = (static_ends.width(_layers(panel, drawn)) for panel in panels)
    return max([_RIGHT, *ends])


def _layers(panel: Panel, drawn: Document) -> list[Layer]:
    """Return the layers of the selected link."""
    links = drawn.links[:1]
    return [one for one in panel.layers if not one.link or one.link in links]


def _fitted(row: Sequence[_View], width: float) -> list[_View]:
    """Scale the widths of panels to a width of the picture."""
    beside = sum(_margin(one) + one.right for one in row)
    factor = min(1.0, (width - beside) / sum(one.width for one in row))
    return [_View(one.panel, one.part, one.is_first, one.width * factor) for one in row]


def _margin(view: _View) -> float:
    panel = view.panel
    if panel.bare:
        return 4
    longest = max((len(text) for text in panel.y_axis.get("labels", ())), default=0)
    return max(_LEAST, _LETTER * longest + 12) + (
        16 if panel.y and panel.y not in panel.title else 0
    )


def _bottom(view: _View) -> float:
    ticks = view.panel.x_axis
    longest = max((len(text) for text in ticks.get("labels", ())), default=0)
    title = _LINE if view.panel.x else 0
    return _BOTTOM + title + (0.65 * _LETTER * longest if ticks.get("tilted") else 0)


def _lines_of(view: _View) -> int:
    """Return the number of lines of a panel's legend."""
    names = legend(view.panel.layers)
    if not view.panel.legend or len(names) < 2:
        return 0
    return ceil(len(names) / (view.panel.columns or _names_across(names, view.width)))


def _names_across(names: Sequence[Layer], width: float) -> int:
    longest = max(len(one.name) for one in names)
    return max(1, min(len(names), int(width / (_LETTER * longest + 36))))


def _heading(drawn: Document, width: float) -> float:
    """Return the height above the first row."""
    lines = len(drawn.lines) + (
        ceil(len(drawn.keys) / _names_across(drawn.keys, width)) if drawn.keys else 0
    )
    return (24 if drawn.title.strip() else 4) + _LINE * lines + 6


def _scale(
    axes: "Axes", panel: Panel, layers: Sequence[Layer], part: tuple[float, float] | None
) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

    box = axes.get_window_extent()
    width, height = 0.72 * box.width, 0.72 * box.height
    for axis, name, scale, ticks, pixels in (
        (axes.xaxis, panel.x, panel.x_scale, panel.x_axis, width / 62),
        (
            axes.yaxis,
            panel.y if panel.y not in panel.title else "",
            panel.y_scale,
            panel.y_axis,
            height / 26,
        ),
    ):
        kind = scale.get("type", "linear")
        set_scale = axes.set_xscale if axis is axes.xaxis else axes.set_yscale
        if kind == "sqrt":
            set_scale("function", functions=(_root, _square))
        elif kind == "log":
            set_scale("log")
        axis.set_minor_locator(NullLocator())
        if "values" in ticks:
            axis.set_major_locator(FixedLocator(list(ticks["values"])))
        elif kind == "log":
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=max(3, int(pixels))))
        else:
            axis.set_major_locator(MaxNLocator(max(2, int(pixels)), steps=[1, 2, 5, 10]))
        if "labels" in ticks:
            texts = [_wrapped(text) for text in ticks["labels"]]
            axis.set_major_formatter(
                FuncFormatter(
                    lambda _, at, texts=texts: (
                        texts[at] if at is not None and at < len(texts) else ""
                    )
                )
            )
        else:
            factor, sign = (100, "%") if ticks.get("percent") else (1, "")
            axis.set_major_formatter(
                FuncFormatter(lambda value, _, by=factor, sign=sign: f"{number(by * value)}{sign}")
            )
        if ticks.get("tilted"):
            axis.set_tick_params(rotation=45)
            for text in axis.get_ticklabels():
                text.set_horizontalalignment("right")
        axis.set_label_text(static_marks.plain(name))
    axes.set_xlim(_ends(layers, panel, "x", None) if part is None else part)
    axes.set_ylim(_ends(layers, panel, "y", part))


def number(value: float) -> str:
    """Format the number of a tick, never with an exponent."""
    text = f"{float(f'{value:.6g}'):,.10f}"
    return text.rstrip("0").rstrip(".") or "0"


def _wrapped(text: str) -> str:
    return static_marks.plain(text).replace(": ", "\n")


def _ends(
    layers: Sequence[Layer], panel: Panel, axis: str, part: tuple[float, float] | None
) -> tuple[float, float]:
    """Return both ends of an axis: those of the shown data, rounded to a tick."""
    scale = panel.x_scale if axis == "x" else panel.y_scale
    if "domain" in scale:
        low, high = scale["domain"]
        return low, high
    values = [value for layer in layers for value in _values(layer, axis, part)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if axis == "y":
        guides = [row[1] for one in layers if one.kind == "rules" for row in one.points]
        high = max([high, *(one for one in guides if one and one < _REACH * high)])
    if scale.get("type") == "log":
        return 0.93 * low, 1.07 * high
    low = scale.get("domainMin", min(low, 0.0) if scale.get("zero") else low)
    high = max(high, 0.0) if scale.get("zero") else high
    if low == high:
        high = low + (abs(low) or 1.0) * 0.1
    if scale.get("nice") is False:
        return low, high
    margin = 0.04 * (high - low)
    is_at_zero = low == 0 or "domainMin" in scale
    return low if is_at_zero else low - margin, high + margin


def _values(layer: Layer, axis: str, part: tuple[float, float] | None) -> Iterator[float]:
    if layer.kind == "rules":
        return
    rows = layer.points
    if part and layer.kind in ("line", "area"):
        # With the points beside the part, to which its lines lead.
        times = [row[0] or 0.0 for row in rows]
        rows = rows[max(0, bisect_right(times, part[0]) - 1) : bisect_left(times, part[1]) + 1]
    for row in rows:
        if layer.kind == "boxes":
            found = row[:1] if (axis == "x") is not layer.horizontal else row[1:]
        elif axis == "x":
            found = row[::2] if layer.kind == "rects" else row[:1]
        else:
            found = row[1::2] if layer.kind == "rects" else row[1:]
        yield from (value for value in found if value is not None)


def _root(values: Any) -> Any:
    import numpy as np

    return np.sqrt(np.maximum(values, 0))


def _square(values: Any) -> Any:
    return values**2
