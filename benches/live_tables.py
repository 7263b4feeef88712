"""The tables and the picture of the matrix of live runs, from docs/live-fidelity.json."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from sojourn.report import chart

Row = Mapping[str, Any]

BEGIN, END = "<!-- live-fidelity: begin -->\n", "<!-- live-fidelity: end -->\n"
HOSTS = {"kernel": "kernel's TCP", "udp": "UDP"}


def agrees(row: Row) -> bool:
    """Whether a cell is within both targets."""
    return bool(row["goodput_agrees"] and row["delay_agrees"])


def tables(rows: Sequence[Row]) -> str:
    """Return the totals and both tables as Markdown."""
    return f"{totals(rows)}\n\n{counts(rows)}\n{_MISSES}\n\n{misses(rows)}"


def totals(rows: Sequence[Row]) -> str:
    """Return the numbers of cells that agree, as sentences."""
    goodput, delay = (sum(row[key] for row in rows) for key in ("goodput_agrees", "delay_agrees"))
    others = [row for row in rows if row["control"] != "rapid"]
    return (
        f"{_share(rows)} cells agree: {goodput} in the goodput, and {delay} in the median delay.\n"
        f"Without Rapid, {_share(others)} do. By controller and queue:"
    )


_MISSES = """The others. Values are medians, and in brackets the least and the greatest of all runs.
A live median in bold is outside the target; "in the range": it is between the least and the
greatest simulated run."""


def counts(rows: Sequence[Row]) -> str:
    """Return the number of cells within the targets, by controller and queue."""
    queues = list(dict.fromkeys(row["queue"] for row in rows))
    lines = [
        f"| hosts | controller | {' | '.join(queues)} |",
        f"|---|---|{'---|' * len(queues)}",
    ]
    for (stack, control), of in groupby(rows, key=lambda row: (row["stack"], row["control"])):
        own = list(of)
        cells = [_share(row for row in own if row["queue"] == queue) for queue in queues]
        lines.append(f"| {HOSTS[stack]} | {control} | {' | '.join(cells)} |")
    totals = [_share(row for row in rows if row["queue"] == queue) for queue in queues]
    lines.append(f"| all | | {' | '.join(totals)} |")
    return "\n".join(lines) + "\n"


def _share(rows: Iterable[Row]) -> str:
    found = [agrees(row) for row in rows]
    return f"{sum(found)} of {len(found)}"


def is_in_range(row: Row) -> bool:
    """Whether one of the simulated runs was as far off: the range has the values that miss."""
    keys = {"goodput_bps": "goodput_agrees", "delay_p50_s": "delay_agrees"}
    return all(
        row[agrees] or simulated["least"] <= row["live"][key] <= simulated["greatest"]
        for key, agrees in keys.items()
        for simulated in [row["simulated"][key]]
    )


def misses(rows: Sequence[Row]) -> str:
    """Return the cells outside a target, with the values of both sides."""
    lines = [
        "| hosts | controller | Mbit/s | RTT, ms | queue | runs | goodput: live | simulated "
        "| median delay, ms: live | simulated | in the range |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if agrees(row):
            continue
        goodput = _beside(row, "goodput_bps", 1e-6, row["goodput_agrees"])
        delay = _beside(row, "delay_p50_s", 1e3, row["delay_agrees"])
        lines.append(
            f"| {HOSTS[row['stack']]} | {row['control']} | {row['rate_bps'] / 1e6:.0f} "
            f"| {1e3 * row['rtt_s']:.0f} | {row['queue']} | {row['live_runs']} | {goodput} "
            f"| {delay} | {'yes' if is_in_range(row) else 'no'} |"
        )
    return "\n".join(lines) + "\n"


def _beside(row: Row, key: str, scale: float, is_within: bool) -> str:
    value = row["live"][key] * scale
    live = f"{value:.2f}" if is_within else f"**{value:.2f}**"
    if row["live_runs"] > 1:
        live += " " + _span(row["live_range"][key], scale)
    middle, *extremes = row["simulated"][key].values()
    return f"{live} | {middle * scale:.2f} {_span(extremes, scale)}"


def _span(extremes: Sequence[float], scale: float) -> str:
    least, greatest = (bound * scale for bound in extremes)
    return f"({least:.2f} to {greatest:.2f})"


def replaced(text: str, tables: str) -> str:
    """Return a document with the tables between its two marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tables}\n{END}{tail}"


def picture(rows: Sequence[Row]) -> chart.Document:
    """Draw live values over simulated ones."""
    goodput = _panel(
        rows,
        "goodput, share of the rate",
        lambda row, value: value("goodput_bps") / row["rate_bps"],
        [(x, 0.98 * x, 1.02 * x) for x in (0.0, 1.0)],
        {"domain": [0.0, 1.0], "nice": False},
    )
    grid = [10 ** (place / 10) for place in range(-10, 19)]
    delay = _panel(
        rows,
        "median queueing delay, ms",
        lambda _, value: max(1e3 * value("delay_p50_s"), _LEAST_MS),
        [(x, max(x - max(0.1 * x, 1.0), _LEAST_MS), x + max(0.1 * x, 1.0)) for x in grid],
        {"type": "log", "domain": [_LEAST_MS, 60.0], "nice": False, "clamp": True},
    )
    subtitle = "dashed: within 2 % of the goodput, and within 10 % or 1 ms of the median delay"
    return chart.Document("Live runs and simulations", subtitle, [[goodput, delay]])


# A logarithmic axis has no zero.
_LEAST_MS = 0.1


def _panel(
    rows: Sequence[Row], title: str, value: Any, band: Sequence[tuple[float, ...]], scale: Any
) -> chart.Panel:
    layers = [
        chart.line("target", [(x, y[place]) for x, *y in band], chart.PUBLISHED, (4, 3), width=1)
        for place in (0, 1)
    ]
    for (stack, name), colour in zip(HOSTS.items(), chart.COLOURS, strict=False):
        points = [
            (
                value(row, lambda key, row=row: row["simulated"][key]["median"]),
                value(row, lambda key, row=row: row["live"][key]),
            )
            for row in rows
            if row["stack"] == stack
        ]
        layers.append(chart.dots(name, points, colour))
    return chart.Panel(title, "simulated", "live", layers, (), 300, 300, {}, scale, scale)
