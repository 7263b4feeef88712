"""Live figures over simulated ones, as a small SVG."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log10
from typing import Any

Row = Mapping[str, Any]

SIDE, TOP, LEFT, PITCH = 190, 24, 40, 255
LEAST_MS, MOST_MS = 0.1, 60.0
# A dot is a line without length and with round ends.
STYLE = (
    "text{font:12px sans-serif;fill:#222}.m{text-anchor:middle}.e{text-anchor:end}"
    ".g{stroke:#ddd;fill:none}.f{stroke:#888;stroke-dasharray:4 3;fill:none}"
    ".k,.u,.o{stroke-width:5;stroke-linecap:round;stroke-opacity:.6}"
    ".k{stroke:#0072b2}.u{stroke:#009e73}.o{stroke:#d55e00}"
    "@media (prefers-color-scheme:dark){svg{filter:invert(.93) hue-rotate(180deg)}}"
)
# Controllers that often differ have a colour of their own.
OFTEN = ("ledbat", "rapid", "vivace")
KINDS: Mapping[str, tuple[str, Callable[[Row], bool]]] = {
    "k": ("kernel's TCP", lambda row: row["hosts"] == "kernel"),
    "u": ("UDP", lambda row: row["hosts"] == "udp" and row["controller"] not in OFTEN),
    "o": ("UDP: LEDBAT, Rapid, Vivace", lambda row: row["controller"] in OFTEN),
}


def svg(cells: Sequence[Row]) -> str:
    """Draw both panels."""
    width, height = LEFT + PITCH + SIDE + 12, TOP + SIDE + 62
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *panel(cells, "goodput, share of the rate", LEFT, share, _GOODPUT),
        *panel(cells, "median queueing delay, ms", LEFT + PITCH, delay, _DELAY),
    ]
    x = LEFT
    for mark, (name, _) in KINDS.items():
        parts.append(f'<path d="M{x} {height - 10}h0" class="{mark}"/>')
        parts.append(f'<text x="{x + 8}" y="{height - 6}">{name}</text>')
        x += 24 + round(6.4 * len(name))
    parts.append(f'<path d="M{x} {height - 10}h22" class="f"/>')
    parts.append(f'<text x="{x + 28}" y="{height - 6}">tolerance</text></svg>')
    return "\n".join(parts) + "\n"


def share(row: Row) -> tuple[float, float]:
    """Return the simulated and the live goodput, from 0 to 1."""
    simulated, live = (
        row[key] / row["rate_mbps"] for key in ("simulated_goodput_mbps", "goodput_mbps")
    )
    return simulated, live


def delay(row: Row) -> tuple[float, float]:
    """Return the simulated and the live delay, from 0 to 1 on a logarithmic scale."""
    return place(row["simulated_delay_p50_ms"]), place(row["delay_p50_ms"])


def place(ms: float) -> float:
    """Return the place of a delay on its scale."""
    return log10(max(LEAST_MS, min(ms, MOST_MS)) / LEAST_MS) / log10(MOST_MS / LEAST_MS)


_GOODPUT = (
    [(value, f"{value:g}") for value in (0.0, 0.5, 1.0)],
    [[(x, x * side) for x in (0.0, 1.0)] for side in (0.98, 1.02)],
)
_GRID = [LEAST_MS * (MOST_MS / LEAST_MS) ** (step / 40) for step in range(41)]
_DELAY = (
    [(place(value), f"{value:g}") for value in (0.1, 1.0, 10.0)],
    [[(place(ms), place(ms + side * max(0.1 * ms, 1.0))) for ms in _GRID] for side in (-1, 1)],
)
Scale = tuple[list[tuple[float, str]], list[list[tuple[float, float]]]]


def panel(cells: Sequence[Row], title: str, left: int, value: Any, scale: Scale) -> Iterator[str]:
    """Yield the elements of a panel."""
    ticks, tolerance = scale

    def at(x: float, y: float) -> str:
        return f"{left + SIDE * x:.0f} {TOP + SIDE * (1 - y):.0f}"

    yield f'<text x="{left + SIDE // 2}" y="14" class="m">{title}</text>'
    for tick, text in ticks:
        yield f'<path d="M{at(0, tick)}h{SIDE}M{at(tick, 0)}v-{SIDE}" class="g"/>'
        x, y = at(0, tick).split()
        yield f'<text x="{int(x) - 5}" y="{int(y) + 4}" class="e">{text}</text>'
        x, y = at(tick, 0).split()
        yield f'<text x="{x}" y="{int(y) + 15}" class="m">{text}</text>'
    for line in tolerance:
        yield f'<path d="M{"L".join(at(x, min(y, 1.0)) for x, y in line)}" class="f"/>'
    for mark, (_, is_own) in KINDS.items():
        dots = [f"M{at(*value(row))}h0" for row in cells if is_own(row)]
        yield f'<path d="{"".join(dict.fromkeys(dots))}" class="{mark}"/>'
    bottom = TOP + SIDE + 30
    yield f'<text x="{left + SIDE // 2}" y="{bottom}" class="m">simulated (right), live (up)</text>'
