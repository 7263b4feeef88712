"""An explanation as a picture, and as a run that can be compared with its twin's."""

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup

from sojourn import memory
from sojourn.capture import observed
from sojourn.capture.explanation import Explanation
from sojourn.errors import UsageError
from sojourn.picture import Drawing, chart
from sojourn.picture.chart import Document, Layer, Panel, Row
from sojourn.record import legend
from sojourn.record.table_html import Shown
from sojourn.run.results import Run

if TYPE_CHECKING:
    import polars as pl

# More panels below one another cannot be compared.
_DRAWN = 4
# Characters of a line above the panels.
_COLUMNS = 120
_OBSERVED, _TWIN = chart.COLOURS[:2]
_CAPACITY = "#777777"
# The part of the time for which a change of capacity shows its unavoidable delay.
_SHOWN = 0.08


class ExplanationFigure(Drawing):
    """The observed series of the largest flows beside the twin's, with capacity and bound."""

    def __init__(self, found: Explanation, name: str) -> None:
        self._found = found
        self._name = name

    def _document(self) -> Document:
        found = self._found
        flows = sorted(range(len(found["flows"])), key=lambda k: -_goodput(found, k))[:_DRAWN]
        rows = [_rates(found), *(_rtts(found, k) for k in flows)]
        return Document(f"Explanation of {self._name}", list(_lines(found)), rows)

    @cached_property
    def html(self) -> str:
        """The page, with the changes as a table."""
        from sojourn.picture import page

        sentences = [line for line in self.document.lines if not _is_row(line)]
        document = dataclasses.replace(self.document, subtitle=sentences)
        return page.html(document, Shown((), _cures(self._found["cures"]), ()))

    def __repr__(self) -> str:
        return f"<sojourn.ExplanationFigure of {self._name}>"


def _lines(found: Explanation) -> Iterator[str]:
    """Wrap the sentences, and keep the rows of the table of changes."""
    for line in found["text"]:
        yield from [line] if _is_row(line) else textwrap.wrap(line, _COLUMNS)


def _is_row(line: str) -> bool:
    return line.startswith("  ")


def _cures(cures: Sequence[Mapping[str, Any]]) -> str:
    """Return the twin as it is and all changes, each with its command, as a table of HTML."""
    if not cures:
        return ""
    heads = ("change", "median delay ms", "p99 delay ms", "goodput Mbit/s", "command")
    head = Markup("").join(Markup("<th scope=col>{}</th>").format(text) for text in heads)
    body = Markup("").join(_cure(cure) for cure in cures)
    caption = "Changes of the twin: medians of three seeds, of those who waited"
    return Markup("<table><caption>{}</caption><tr>{}</tr>{}</table>").format(caption, head, body)


def _cure(cure: Mapping[str, Any]) -> Markup:
    keys = {"delay_p50_s": 1e3, "delay_p99_s": 1e3, "goodput_bps": 1e-6}
    cells = [Markup("<td>{:.2f}</td>").format(k * cure[key]["median"]) for key, k in keys.items()]
    row = Markup("<tr><th scope=row>{}</th>{}<td><code>{}</code></td></tr>")
    return row.format(cure["name"], Markup("").join(cells), cure["command"])


def _goodput(found: Explanation, place: int) -> float:
    return cast(float, found["flows"][place]["goodput_bps"])


def _rates(found: Explanation) -> Panel:
    """Draw the rates of all flows together, and the capacity."""
    step = found["series"]["step_s"]
    layers = [_capacity(found["path"]["capacity"])]
    for name, key, colour in (
        ("observed", "rate_bps", _OBSERVED),
        ("twin", "twin_rate_bps", _TWIN),
    ):
        columns = [flow[key] for flow in found["series"]["flows"] if flow[key]]
        sums = [_sum(values) for values in zip(*columns, strict=False)]
        points = _points(sums, step, 1e-6)
        if points:
            layers.append(Layer(name, "line", points, colour))
    title = "Rates on the link, of all flows (Mbit/s)"
    return Panel(title, "s", "Mbit/s", layers, height=180, y_scale={"zero": True})


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _capacity(pieces: Sequence[Mapping[str, float | None]]) -> Layer:
    """Draw the capacity; where only a lower bound is known, that."""
    points: list[Row] = []
    for piece in pieces:
        rate = piece["rate_bps"] or piece["low_bps"] or 0.0
        points += [(cast(float, piece[key]), 1e-6 * rate) for key in ("from_s", "to_s")]
    is_known = all(piece["rate_bps"] is not None for piece in pieces)
    name = "capacity" if is_known else "capacity, or its lower bound"
    return Layer(name, "line", points, _CAPACITY, dash=(5, 3))


def _rtts(found: Explanation, place: int) -> Panel:
    """Draw the round-trip times of a flow, the base, and the bound after each change."""
    flow, series = found["flows"][place], found["series"]["flows"][place]
    step, base = found["series"]["step_s"], flow["base_rtt_s"]
    layers = [Layer("observed", "line", _points(series["rtt_s"], step, 1e3), _OBSERVED)]
    if series["twin_rtt_s"]:
        twin = _points(series["twin_rtt_s"], step, 1e3)
        layers.append(Layer("twin", "line", twin, _TWIN))
    ends = (0.0, found["duration_s"])
    layers.append(
        Layer("base RTT", "line", [(at, 1e3 * base) for at in ends], _CAPACITY, dash=(5, 3))
    )
    bound = list(_bound(found, base))
    if bound:
        layers.append(Layer("base RTT and unavoidable delay", "line", bound, legend.BOUND, width=2))
    title = f"RTT of {flow['name']} (ms)"
    return Panel(title, "s", "ms", layers, height=180, y_scale={"zero": True})


def _bound(found: Explanation, base: float) -> Iterator[Row]:
    width = _SHOWN * found["duration_s"]
    for verdict in found["verdicts"] or []:
        at, bound = verdict.get("at_s"), verdict.get("unavoidable_s")
        if at is not None and bound is not None:
            yield (at, 1e3 * (base + bound))
            yield (at + width, 1e3 * (base + bound))
            yield (at + width, None)


def _points(values: Sequence[float | None], step: float, unit: float) -> list[Row]:
    return [
        ((k + 0.5) * step, None if value is None else unit * value)
        for k, value in enumerate(values)
    ]


def as_run(found: Explanation, name: str, control: str) -> Run:
    """Return the observed series as a run, whose flows have the names of the twin's."""
    if not found["flows"]:
        raise UsageError(f"{name}: {found['text'][-1] if found['text'] else 'it has no flow'}")
    flows = [
        {
            "name": flow["twin_name"],
            "control": flow["named_controller"] or flow["controller"]["kind"] or control,
            "goodput_bps": flow["goodput_bps"],
            "rtt_p50_s": flow["rtt_p50_s"],
            "rtt_p99_s": flow["rtt_p99_s"],
            "base_rtt_s": flow["base_rtt_s"],
            "start_s": flow["start_s"],
            "retransmitted_packets": flow["retransmitted_packets"],
        }
        for flow in found["flows"]
    ]
    frame = _samples(found, control)
    return observed.run_of(name, found["source"], control, found["duration_s"], flows, frame)


def _samples(found: Explanation, control: str) -> "pl.DataFrame":
    memory.require_polars()
    import polars as pl

    step = found["series"]["step_s"]
    rows = []
    for flow, own in zip(found["flows"], found["series"]["flows"], strict=True):
        delivered = 0.0
        for k, (rtt, rate) in enumerate(zip(own["rtt_s"], own["rate_bps"], strict=True)):
            goodput = None if rate is None else rate * own["payload_share"]
            delivered += (goodput or 0.0) * step / 8
            rows.append(
                {
                    "control": control,
                    "seed": observed.SEED,
                    "flow": flow["twin_name"],
                    "t_s": (k + 1) * step,
                    "rtt_s": rtt,
                    "goodput_bps": goodput,
                    "delivered_bytes": int(delivered),
                }
            )
    return pl.DataFrame(rows).with_columns(pl.col("seed", "delivered_bytes").cast(pl.UInt64))
