"""Files that agree and files that differ, as a small SVG of bars."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

WIDTH, LEFT, TOP, PITCH, BAR = 640, 190, 44, 20, 13
STYLE = (
    "text{font:12px sans-serif;fill:#222}.h{font-weight:bold}.e{text-anchor:end}"
    ".a{fill:#0072b2}.d{fill:#e69f00}.u{fill:#d55e00}"
    "@media (prefers-color-scheme:dark){svg{filter:invert(.93) hue-rotate(180deg)}}"
)
LEGEND = (("a", "agree"), ("d", "differ, with a reason"), ("u", "differ"))
UNEXPLAINED = "unexplained"


def svg(tables: Mapping[str, Sequence[Row]]) -> str:
    """Draw a bar for each source of captures and each stack with qlog."""
    captures = counts(tables["captures"], "source", lambda row: state(bool(row["differing"]), row))
    stacks = counts(
        tables["qlogs"], "stack", lambda row: state(bool(row["differs"] or row["kind"]), row)
    )
    height = TOP + PITCH * (len(captures) + len(stacks) + 3)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        *legend(),
    ]
    y = TOP
    for title, groups in (("captures, by source", captures), ("qlog, by stack", stacks)):
        parts.append(f'<text x="{LEFT}" y="{y + 11}" class="h e">{title}</text>')
        y += PITCH
        for name, shares in groups.items():
            parts += bar(y, name, shares)
            y += PITCH
        y += PITCH // 2
    return "\n".join([*parts, "</svg>"]) + "\n"


def state(differs: bool, row: Row) -> str:
    """Return the class of a row's part of the bar."""
    if not differs:
        return "a"
    return "d" if row["kind"] and UNEXPLAINED not in row["kind"] else "u"


def counts(rows: Sequence[Row], key: str, of: Any) -> dict[str, dict[str, int]]:
    """Return the number of rows of each class, for each value of a column."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        shares = found.setdefault(str(row[key]).replace("+", "/"), {"a": 0, "d": 0, "u": 0})
        shares[of(row)] += 1
    return found


def legend() -> Iterator[str]:
    """Yield the elements of the legend."""
    x = LEFT
    for mark, name in LEGEND:
        yield f'<rect x="{x}" y="14" width="12" height="12" class="{mark}"/>'
        yield f'<text x="{x + 17}" y="24">{name}</text>'
        x += 40 + round(6.6 * len(name))


def bar(y: int, name: str, shares: Mapping[str, int]) -> Iterator[str]:
    """Yield the elements of a bar with its name and number."""
    whole, x = sum(shares.values()), float(LEFT + 8)
    yield f'<text x="{LEFT}" y="{y + 11}" class="e">{name}</text>'
    for mark, number in shares.items():
        if number:
            width = number / whole * (WIDTH - LEFT - 80)
            yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" class="{mark}"/>'
            x += width
    yield f'<text x="{x + 6:.1f}" y="{y + 11}">{shares["a"]} of {whole}</text>'
