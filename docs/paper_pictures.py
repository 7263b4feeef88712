"""Draws one small picture of each paper: `python docs/paper_pictures.py NAME...`.

The panels are those that the paper's own program draws, with the size of the other pictures. The
measured points of `latency-spike` need the authors' measurements in `shared/data`, beside the
checkout.
"""

import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pictures
from sojourn.picture import chart, static
from sojourn.picture.chart import PUBLISHED, Document, Layer, Panel, Point, Row
from sojourn.record.legend import INKS
from sojourn_papers import Lab, runner

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
WIDTH = 345
# A line of a small picture has about as many points as pixels.
POINTS = 240


@dataclass
class Kept(Lab):
    """A lab that keeps the drawings of figures instead of writing them."""

    documents: dict[str, Document] = field(default_factory=dict)

    def draw(self, name: str, figure: Document) -> None:
        """Keep a drawing."""
        self.documents[name] = figure


def panels(lab: Kept, figure: str, drawing: str) -> list[list[Panel]]:
    """Run a figure and return the panels of one of its drawings, by row."""
    if drawing not in lab.documents:
        runner.claims_of(runner.load(lab.folder), lab, figure)
    rows = lab.documents[drawing].rows
    return [[row] if isinstance(row, Panel) else list(row) for row in rows]


def small(panel: Panel, title: str, layers: Iterable[Layer], height: int) -> Panel:
    """Return a panel of the size of the pictures."""
    thinned = [
        replace(one, points=chart.thin(map(point, one.points), POINTS))
        if one.kind == "line"
        else one
        for one in layers
    ]
    return replace(panel, title=title, layers=thinned, width=WIDTH, height=height, columns=3)


def point(row: Row) -> Point:
    """Return a point of a line without gaps."""
    x, y = row
    return x or 0.0, y or 0.0


def renamed(layers: Iterable[Layer], names: dict[str, str]) -> list[Layer]:
    """Return the layers that `names` has, under their new names."""
    return [replace(one, name=names[one.name]) for one in layers if one.name in names]


def bufferbloat(lab: Kept) -> list[Panel]:
    """Draw figure 4: the boxes of all layers."""
    ((boxes,), *_) = panels(lab, "4", "figure-4")
    title = "RTTs by queue size, three layers at two hosts"
    return [small(replace(boxes, y="RTT (ms)", x="queue (kB)"), title, boxes.layers, 170)]


def l4s_prague(lab: Kept) -> list[Panel]:
    """Draw the round-trip times of figures 2 and 3 in one panel."""
    lines, published = [], []
    for figure, drawing, name, control in (
        ("2", "picture-reno", "New Reno", "reno"),
        ("3", "picture-repaired", "Prague", "prague"),
    ):
        _, (panel,), *_ = panels(lab, figure, drawing)
        (line,) = renamed(panel.layers, {"RTT above the minimum": name})
        lines.append(replace(line, colour=INKS[control].colour))
        published += renamed(panel.layers, {"peaks, published": "published peaks"})
    title = "Round-trip time above the minimum during four downloads"
    return [small(replace(panel, x="time (s)"), title, lines + published, 170)]


def latency_spike(lab: Kept) -> list[Panel]:
    """Draw the first row of figure 5 in one panel."""
    (row, *_) = panels(lab, "5", "figure-5")
    layers = [one for one in row[0].layers if one.name == "bound"]
    measured = []
    for panel in row:
        names = {"ours": panel.title.removesuffix(" (ms)")}
        layers += [replace(one, colour=None) for one in renamed(panel.layers, names)]
        # Beside the simulated points, which they would hide.
        measured += [
            replace(one, points=[(x + 2.5, y) for x, y in map(point, one.points)])
            for one in renamed(panel.layers, {"published": "measured"})
        ]
    scale: chart.Scale = {"domain": [15, 110]}
    base = replace(row[0], x="loop delay (ms)", y="spike (ms)", x_scale=scale)
    title = "Spikes on the testbed: simulated, measured, and the bound"
    return [replace(small(base, title, layers + measured, 200), columns=5)]


def lola(lab: Kept) -> list[Panel]:
    """Draw figure 4a, and the round-trip times of the same flows in figure 4c."""
    ((goodput,),) = panels(lab, "4a", "figure-4a")
    ((rtts,),) = panels(lab, "4c", "figure-4c")
    layers = [
        replace(one, name="published") if one.colour == PUBLISHED else one for one in goodput.layers
    ]
    flows = [one for one in rtts.layers if "21 ms" in one.name]
    names = {one.name: one.name.partition(",")[0] for one in flows}
    peak = [one for one in rtts.layers if one.colour == PUBLISHED and one.points[0][1] == 26]
    base = replace(rtts, x="time (s)", y_scale={"domain": [20, 32]})
    names[peak[0].name] = "published"
    rates = small(replace(goodput, x=""), "Goodput of two flows (Gbit/s)", layers, 90)
    times = small(base, "Their round-trip time (ms)", renamed(flows + peak, names), 90)
    return [rates, replace(times, legend=False)]


def packet_scale(lab: Kept) -> list[Panel]:
    """Draw the first row of figure 9b in one panel: a sender that knows what is available."""
    ((large, ideal), *_) = panels(lab, "9b", "figure-9b")
    dashed = [replace(one, dash=(4, 3)) if one.kind == "line" else one for one in large.layers]
    base = replace(ideal, x="mean load of the bursts (share of C)")
    title = "Utilisation beside bursts; tau 1 s, and dashed 50 ms"
    return [small(base, title, [*dashed, *ideal.layers], 190)]


PICTURES: dict[str, Callable[[Kept], list[Panel]]] = {
    "bufferbloat": bufferbloat,
    "l4s-prague": l4s_prague,
    "latency-spike": latency_spike,
    "lola": lola,
    "packet-scale": packet_scale,
}


def draw(name: str) -> None:
    """Run the figures of a paper's picture, and write it."""
    with tempfile.TemporaryDirectory() as out:
        folder = ROOT / "papers" / name.replace("-", "_")
        lab = Kept(folder, Path(out), data=DATA if DATA.is_dir() else None)
        rows = PICTURES[name](lab)
    pictures.write(static.figure(Document("", "", rows)), f"paper-{name}")


def main() -> None:
    """Draw the named pictures, by default all."""
    for name in sys.argv[1:] or PICTURES:
        draw(name)


if __name__ == "__main__":
    main()
