"""The kernel's delay and goodput over the simulated ones, as a small SVG."""

from collections.abc import Iterator, Mapping, Sequence
from math import log10
from typing import Any

Row = Mapping[str, Any]

SIDE, TOP, LEFT, PITCH = 200, 24, 44, 265
# The kernel's queueing delay and goodput, each on a logarithmic scale.
PANELS = (
    ("queueing part of the median srtt, ms", "delay_ms", 0.3, 100.0, (1, 10, 100), 0.15),
    ("goodput, Mbit/s", "goodput_mbps", 1.0, 100.0, (1, 10, 100), 0.01),
)
# A dot is a line without length and with round ends.
STYLE = (
    "text{font:12px sans-serif;fill:#222}.m{text-anchor:middle}.e{text-anchor:end}"
    ".g{stroke:#ddd;fill:none}.f{stroke:#888;stroke-dasharray:4 3;fill:none}"
    ".k0,.k1,.k2{stroke-width:5;stroke-linecap:round;stroke-opacity:.6}"
    ".k0{stroke:#0072b2}.k1{stroke:#d55e00}.k2{stroke:#009e73}"
    "@media (prefers-color-scheme:dark){svg{filter:invert(.93) hue-rotate(180deg)}}"
)


def svg(rows: Sequence[Row]) -> str:
    """Draw both panels, with a colour for each kernel."""
    width, height = LEFT + PITCH + SIDE + 12, TOP + SIDE + 62
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for place in range(len(PANELS)):
        parts += panel(rows, kernels, place)
    x = LEFT
    for mark, kernel in enumerate(kernels):
        parts.append(f'<path d="M{x} {height - 10}h0" class="k{mark}"/>')
        parts.append(f'<text x="{x + 8}" y="{height - 6}">Linux {kernel}</text>')
        x += 90
    parts.append(f'<path d="M{x} {height - 10}h22" class="f"/>')
    parts.append(f'<text x="{x + 28}" y="{height - 6}">15 % of delay, 1 % of goodput</text></svg>')
    return "\n".join(parts) + "\n"


def panel(rows: Sequence[Row], kernels: Sequence[str], place: int) -> Iterator[str]:
    """Yield the elements of a panel."""
    title, figure, least, most, ticks, tolerance = PANELS[place]
    left = LEFT + PITCH * place

    def share(value: float) -> float:
        return log10(min(max(value, least), most) / least) / log10(most / least)

    def at(x: float, y: float) -> str:
        return f"{left + SIDE * share(x):.0f} {TOP + SIDE * (1 - share(y)):.0f}"

    yield f'<text x="{left + SIDE // 2}" y="14" class="m">{title}</text>'
    for tick in ticks:
        yield f'<path d="M{at(least, tick)}h{SIDE}M{at(tick, least)}v-{SIDE}" class="g"/>'
        x, y = at(tick, least).split()
        yield f'<text x="{x}" y="{int(y) + 15}" class="m">{tick}</text>'
        x, y = at(least, tick).split()
        yield f'<text x="{int(x) - 5}" y="{int(y) + 4}" class="e">{tick}</text>'
    for side in (1 - tolerance, 1 + tolerance):
        line = (least, least * side), (most, most * side)
        yield f'<path d="M{"L".join(at(*point) for point in line)}" class="f"/>'
    for mark, kernel in enumerate(kernels):
        own = [row for row in rows if row["kernel"] == kernel and row["completion_s"] is None]
        dots = [f"M{at(row[f'simulated_{figure}'], row[figure])}h0" for row in own]
        yield f'<path d="{"".join(dict.fromkeys(dots))}" class="k{mark}"/>'
    bottom = TOP + SIDE + 30
    x, text = left + SIDE // 2, "simulated (right), kernel (up)"
    yield f'<text x="{x}" y="{bottom}" class="m">{text}</text>'
