"""Draws the small pictures of the documents: `python docs/pictures.py NAME...`.

Each shows the queueing delay of a shipped scenario: a line for each controller, or for each link if
the scenario has one run. Picture and text have one size, and are readable at 420 px.
"""

import re
import sys
from pathlib import Path

import polars as pl
import sojourn
from matplotlib.figure import Figure
from sojourn.picture import chart, static
from sojourn.picture.chart import Document, Panel
from sojourn.record import legend
from sojourn.run import shipped

PLACE = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 420, 170
# A line has its greatest value in each of these parts of the time, so that no spike is lost.
PARTS = 150
LINES = 5
# The first picture of the README: the second around the drop, and the controllers of its text.
DROP = ("reno", "cubic", "dctcp", "bbr", "ideal")
DARK = (
    "<style>@media (prefers-color-scheme: dark)"
    "{svg{filter:invert(0.93) hue-rotate(180deg)}}</style>"
)


def lines_of(run: sojourn.Run) -> pl.DataFrame:
    """Return the queueing delay (ms) by time and line: of the worst link, or of several links."""
    data = run.links.filter(pl.col("seed") == run.runs[0]["seed"])
    greatest = data.group_by("link").agg(pl.col("queue_delay_s").max()).sort("queue_delay_s")
    several = len(run.runs) > 1
    # Links without a queue need no line.
    worst = greatest.filter(pl.col("queue_delay_s") > 0.02 * pl.col("queue_delay_s").max())[
        "link"
    ].to_list()[::-1]
    key = "control" if several else "link"
    data = data.filter(pl.col("link").is_in(worst[: 1 if several else LINES]))
    return data.select("t_s", line=key, delay_ms=pl.col("queue_delay_s") * 1e3)


def thinned(data: pl.DataFrame) -> pl.DataFrame:
    """Return the maximum of each part of the time, rounded, so that the file is small."""
    begin, end = data["t_s"].min(), data["t_s"].max()
    assert isinstance(begin, float)
    assert isinstance(end, float)
    step = (end - begin) / PARTS
    time = (((pl.col("t_s") - begin) / step).floor() * step + begin).round(3)
    return (
        data.with_columns(t_s=time)
        .group_by("line", "t_s", maintain_order=True)
        .agg(delay_ms=pl.col("delay_ms").max().round(2))
    )


def picture(data: pl.DataFrame, title: str, order: list[str]) -> Document:
    """Return the chart of these lines."""
    layers = [
        chart.line(
            name,
            data.filter(line=name).select("t_s", "delay_ms").drop_nulls().rows(),
            ink.colour,
            ink.dash,
        )
        for name, ink in legend.inks({name: name for name in order}).items()
    ]
    panel = Panel(
        title,
        "time (s)",
        "queueing delay (ms)",
        layers,
        width=WIDTH - 60,
        height=HEIGHT - 20,
        x_scale={"nice": False},
        y_scale={"zero": True},
    )
    return Document("", "", [panel])


def write(picture: Figure, name: str) -> None:
    """Write a picture that follows its reader's dark mode."""
    PLACE.mkdir(exist_ok=True)
    file = PLACE / f"{name.replace('/', '-')}.svg"
    text = static.saved(picture, ".svg").decode()
    opening = text.index(">") + 1
    text = text[:opening] + DARK + text[opening:]
    # A tenth of a pixel is more than a reader sees, and a document shows the file as one image.
    text = re.sub(r"(\d\.\d)\d+", r"\1", text)
    file.write_text(re.sub(r"<metadata>.*?</metadata>|\n *", " ", text, flags=re.DOTALL), "utf-8")
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def of_scenario(name: str) -> None:
    """Draw a whole scenario."""
    run = sojourn.run(name)
    data = lines_of(run)
    order = data["line"].unique(maintain_order=True).to_list()
    write(static.figure(picture(thinned(data), run.title, order)), name)


def of_drop() -> None:
    """Draw the seconds around the drop of `capacity-drop`."""
    run = sojourn.run("capacity-drop", control=list(DROP))
    data = lines_of(run).filter(pl.col("t_s").is_between(29.5, 34.5))
    title = "A link falls from 60 to 20 Mbit/s at 30 s"
    write(static.figure(picture(thinned(data), title, list(DROP))), "drop")


def main() -> None:
    """Draw the named pictures, by default all."""
    names = sys.argv[1:] or ["drop", *shipped.names()]
    for name in names:
        of_drop() if name == "drop" else of_scenario(name)


if __name__ == "__main__":
    main()
