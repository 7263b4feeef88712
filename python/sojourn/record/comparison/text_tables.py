"""The comparison as tables of text, for the terminal, the report and notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_type_hints

from sojourn import _core
from sojourn.record.comparison.summary import (
    Compared,
    ComparedSteps,
    ComparisonSummary,
    FlowComparison,
    LinkComparison,
    OnlyIn,
)
from sojourn.record.formatting import MISSING, Unit, digits_of, named_path, scale_of, unit_of
from sojourn.record.summary import Item


@dataclass(frozen=True)
class TextTable:
    """Rows of text below headings; the first columns are names, the others figures."""

    caption: str
    heads: list[str]
    names: int
    rows: list[list[str]]
    starts: list[int]
    """The first rows of each group."""


def _figures(form: type) -> list[str]:
    hints = get_type_hints(form)
    return [key for key, hint in hints.items() if hint in (Compared, ComparedSteps)]


_FLOW, _LINK = _figures(FlowComparison), _figures(LinkComparison)

# Figures of the common time that both summaries have for whole runs are left to the JSON, so that a
# quantity has one figure.
_WHOLE = {
    "goodput_bps": "run_goodput_bps",
    "utilisation": "run_utilisation",
    "dropped_packets": "run_dropped_packets",
    "marked_packets": "run_marked_packets",
}

# Quantities that may lack a value in a step, by one key of their figures.
_MAY_LACK = {
    "goodput_bps": "goodput",
    "rtt_peak_p50_s": "RTT",
    "queue_delay_peak_p50_s": "queue",
    "utilisation": "utilisation",
}

# More pairs of names do not fit a line.
_MOST_NAMED = 8

# The peaks of steps depend on the step: whole runs come first, if both have figures of them.
_PEAKS = ("rtt_peak", "queue_delay_peak")

NOTES = (
    "RTT peak, queue peak: percentiles of the greatest value in each step of the time in common, "
    "which depend on the step; goodput, util., drops, marks without run: over the time in common",
    "run: from both summaries, of whole runs, each over its own time; window: congestion window, "
    "B less A over A, step by step",
    "srtt: smoothed RTT (used if one run recorded no other); several seeds: percentiles over all "
    "of them, means of other figures, and the median window at each time",
)


def build_all(summary: ComparisonSummary, whole: bool = True) -> list[TextTable]:
    """Build the table of figures, and if it is `whole` the peaks of steps and the windows."""
    tables = [build(summary, whole), *([build_windows(summary)] if whole else [])]
    return [one for one in tables if one.rows]


def build(summary: ComparisonSummary, whole: bool = True) -> TextTable:
    """Build one row per figure of each flow and each link, with peaks of steps if it is `whole`."""
    rows: list[list[str]] = []
    starts: list[int] = []
    for kind, keys, item in _items(summary):
        has_runs = _are_known(item["rtt_p50_s" if kind == "flow" else "queue_delay_p50_s"])
        hides = has_runs and not whole
        shown = [key for key in keys if not (hides and key.startswith(_PEAKS))]
        own = list(_rows(item, shown)) if _has_figures(item, keys) else []
        if not own:
            continue
        starts.append(len(rows))
        label = [item["control"], f"{kind} {item['name']}"]
        rows += [[*(label if at == 0 else ["", ""]), *row] for at, row in enumerate(own)]
    heads = ["controller", "of", "figure", "unit", "A", "B", "B - A", "B / A"]
    return TextTable(time_text(summary), heads, 4, rows, starts)


def build_windows(summary: ComparisonSummary) -> TextTable:
    """Build one row per flow whose window both runs have."""
    flows = [flow for flow in summary["flows"] if flow["window"] is not None]
    rows = [[flow["control"], f"flow {flow['name']}", *_window(flow)] for flow in flows]
    heads = ["controller", "of", "mean |B - A|", "largest B - A", "at", "correlation"]
    return TextTable("Congestion window", heads, 2, rows, list(range(len(rows))))


def about(summary: ComparisonSummary) -> list[str]:
    """Describe the runs A and B, and flows that were matched by their position."""
    lines = []
    sides = summary["a"], summary["b"]
    names = [named_path(run["directory"]) for run in sides]
    if names[0] == names[1]:
        names = [run["directory"] for run in sides]
    for letter, name, run in zip("AB", names, sides, strict=True):
        lines.append(f"{letter}: {name} ({named_path(run['scenario'])}; {run['version']})")
    if differ := summary["differences"]:
        named = (f"{one['key']}: {one['a']} in A, {one['b']} in B" for one in differ[:_MOST_NAMED])
        each = "; ".join(named)
        more = f"; and {len(differ) - _MOST_NAMED:,} more" if len(differ) > _MOST_NAMED else ""
        lines.append(f"They differ in {each}{more}")
    if found := summary["by_position"]:
        each = ", ".join(f"{one['name']} and {one['name_b']}" for one in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED:,} more" if len(found) > _MOST_NAMED else ""
        lines.append(
            "No flow of A has the name of one of B, so they are compared by their position: "
            f"{each}{more} (--rename OLD=NEW matches others)"
        )
    return lines


def gaps(summary: ComparisonSummary, whole: bool = True) -> list[str]:
    """List what could not be compared, unmatched items and, if `whole`, steps without values."""
    lines = [
        f"not compared: {one['what']} {one['name']} of {one['control']}: {one['why']}"
        for one in summary["not_compared"]
    ]
    for kind, _, item in _items(summary) if whole else ():
        lines += [f"{kind} {item['name']} of {item['control']}: {one}" for one in _lacking(item)]
    for letter, only in (("A", summary["only_in_a"]), ("B", summary["only_in_b"])):
        if named := _only(only):
            lines.append(f"only in {letter}: {named}")
    return lines


def _lacking(item: Item) -> Iterator[str]:
    """Count the steps without a value; the table itself shows figures without any value."""
    for side in ("a", "b"):
        cells = item["cells"] * len(item[f"seeds_{side}"])
        short = [
            f"{name} in {cells - item[key][f'cells_{side}']:,}"
            for key, name in _MAY_LACK.items()
            if key in item and 0 < item[key][f"cells_{side}"] < cells
        ]
        if short:
            yield f"of {cells:,} steps {side.upper()} has no {', '.join(short)}"


def _items(summary: ComparisonSummary) -> Iterator[tuple[str, Sequence[str], Item]]:
    """Yield, for each controller, its flows and then its links."""
    for control in dict.fromkeys(flow["control"] for flow in summary["flows"]):
        for kind, keys, items in (
            ("flow", _FLOW, summary["flows"]),
            ("link", _LINK, summary["links"]),
        ):
            yield from ((kind, keys, item) for item in items if item["control"] == control)


def _only(only: OnlyIn) -> str:
    parts = [f"controller {name}" for name in only["controls"]]
    for kind, items in (("flow", only["flows"]), ("link", only["links"])):
        parts += [
            f"{kind} {one['name']} of {one['control']}"
            for one in items
            if one["control"] not in only["controls"]
        ]
    return ", ".join(parts)


def time_text(summary: ComparisonSummary) -> str:
    """Describe the compared time and its steps."""
    spans = {
        (item["from_s"], item["until_s"], item["interval_s"])
        for item in (*summary["flows"], *summary["links"])
    }
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    steps = sorted({span[2] for span in spans})
    every = " or ".join(step_text(step) for step in steps)
    shift = f"; B moved by {summary['shift_b_s']:+g} s" if summary["shift_b_s"] else ""
    each = ", each for the time that both have it" if len(spans) > 1 else ""
    return f"Compared from {first:.6g} s to {last:.6g} s, in steps of {every}{each}{shift}"


def step_text(step_s: float) -> str:
    """Format a short time: `10 ms`, `1 s`."""
    return f"{step_s:.4g} s" if step_s >= 1 else f"{1000 * step_s:.4g} ms"


def _has_figures(item: Item, keys: Sequence[str]) -> bool:
    """Return whether a figure is other than null or zero: a link without a rate has no queue."""
    return any(item[key][side] for key in keys for side in ("a", "b"))


def _rows(item: Item, keys: Sequence[str]) -> Iterator[list[str]]:
    for key in keys:
        compared, unit = item[key], unit_of(key.removeprefix("run_"))
        if key in _WHOLE and _are_known(item[_WHOLE[key]]):
            continue
        known = [abs(compared[side]) for side in ("a", "b") if compared[side] is not None]
        of_steps = "cells_a" in compared
        is_zero = unit == "count" and not any(known) and not of_steps
        # Whole runs may cover different times, so a single value allows no comparison.
        if (len(known) == 2 and not is_zero) or (known and of_steps):
            name = _core.heading(key.removeprefix("run_"))
            smoothed = of_steps and item.get("rtt_column") == "srtt_s"
            label = name.replace("RTT", "srtt") if smoothed else name
            yield [label if of_steps else f"run: {label}", *_cells(compared, unit, max(known))]


def _are_known(compared: Item) -> bool:
    return compared["a"] is not None and compared["b"] is not None


def _cells(compared: Mapping[str, float | None], unit: Unit, largest: float) -> list[str]:
    scale, shown_unit = scale_of(unit, largest)
    digits = digits_of(unit, largest / scale)
    if unit == "count" and any((compared[side] or 0) % 1 for side in ("a", "b")):
        digits = 1
    a, b = (_text(compared[side], scale, digits) for side in ("a", "b"))
    ratio = compared["ratio"]
    difference = _signed(compared["difference"], scale, digits)
    return [shown_unit, a, b, difference, MISSING if ratio is None else f"{ratio:.3f}"]


def _text(value: float | None, scale: float, digits: int) -> str:
    return MISSING if value is None else f"{value / scale:.{digits}f}"


def _signed(value: float | None, scale: float, digits: int) -> str:
    """Format with a sign; only an exact zero reads as zero."""
    if value is None:
        return MISSING
    if value == 0:
        return "0"
    text = f"{value / scale:+.{digits}f}"
    return text if float(text) else f"{value / scale:+.1g}"


def _window(flow: FlowComparison) -> list[str]:
    window = flow["window"]
    assert window is not None
    mean, correlation = window["mean_relative_difference"], window["correlation"]
    largest = window["largest_difference_bytes"]
    share = "" if not largest else f" ({100 * window['largest_difference_ratio']:+.0f} %)"
    at = MISSING if not largest else f"{window['largest_difference_at_s']:.6g} s"
    return [
        MISSING if mean is None else f"{100 * mean:.1f} %",
        f"{_signed(largest, 1e3, 1)} kB{share}",
        at,
        MISSING if correlation is None else f"{correlation:.3f}",
    ]
