"""The report's page and figure: links to select, repeated runs, distributions."""

import base64
import colorsys
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from sojourn.cli import main
from sojourn.errors import UsageError
from sojourn.picture import dark, run_picture, series
from sojourn.record import legend
from support import ROOT

LOT = {
    "duration": "2s",
    "controls": ["cubic", "reno"],
    "link": {
        "first": {"rate": "20Mbit", "delay": "5ms"},
        "second": {"rate": "10Mbit", "delay": "5ms"},
    },
    "flow": {
        "long": {"path": ["first", "second"], "source": "bulk"},
        "cross": {"path": ["first"], "source": "bulk"},
    },
}


@pytest.fixture(scope="module")
def lot() -> sojourn.Run:
    return sojourn.run(LOT)


def data_of(page: str) -> Any:
    found = re.search('<script type="application/json" id="figure-data">(.*?)</script>', page)
    assert found
    return json.loads(found[1])


def test_the_page_lets_its_reader_select_every_link(lot: sojourn.Run) -> None:
    data = data_of(lot.plot().html)
    assert data["links"] == ["first", "second"]
    (delay,) = data["rows"][1]
    assert delay["title"] == "Queueing delay of {link} (ms)"
    lines = [one for one in delay["layers"] if one["kind"] == "line"]
    first, second = ([one for one in lines if one["link"] == name] for name in data["links"])
    assert len(first) == len(second) == 2
    assert len(first[0]["columns"][0]) > 10
    assert first[0]["columns"] != second[0]["columns"]


def test_a_figure_draws_the_link_that_it_is_asked_for(lot: sojourn.Run, tmp_path: Path) -> None:
    assert "Queueing delay of second" in lot.plot(link="second").svg
    with pytest.raises(UsageError, match="there are: first, second"):
        lot.plot(link="third")
    lot.save(tmp_path / "lot")
    assert main(["report", str(tmp_path / "lot"), "--svg", "--link", "second"]) == 0
    assert "Queueing delay of second" in (tmp_path / "lot" / "report.svg").read_text()


def test_the_title_is_once_on_the_page(small: Path) -> None:
    run = sojourn.run(small, control="cubic")
    page = run.plot().html
    assert "title" not in data_of(page)
    assert page.count(f"<h1>{run.title}</h1>") == 1


def test_a_controller_without_a_window_has_no_row_for_it(small: Path) -> None:
    titles = titles_of(sojourn.run(small))
    assert "Congestion window (kB)" in titles
    ideal = titles_of(sojourn.run(small, control="ideal"))
    assert set(titles) - set(ideal) == {"Congestion window (kB)"}


def test_repeated_runs_have_bands_boxes_and_distributions(small: Path) -> None:
    run = sojourn.run(small, control=["cubic", "reno"], runs=5, spread="1s")
    figure = run.plot()
    assert "medians of 5 runs; shade: 5th to 95th percentile" in figure.svg
    for text in ("Goodput", "Greatest spike of a run", "Cumulative distribution"):
        assert text in figure.svg
    rows = figure.document.panels
    kinds = [{layer.kind for layer in panel.layers} for row in rows for panel in row]
    assert "area" in kinds[1]
    assert kinds.count({"boxes"}) == 2


def test_each_flow_of_repeated_runs_has_a_box() -> None:
    drawn = sojourn.run(LOT, runs=3).plot().svg
    for name in ("cubic long", "cubic cross", "reno long", "reno cross"):
        assert f">{name}</text>" in drawn


def test_a_dark_picture_keeps_the_hue_of_each_colour(small: Path, tmp_path: Path) -> None:
    figure = sojourn.run(small, control=["cubic", "dctcp"]).plot()
    drawn = figure.save(tmp_path / "x.svg", dark=True).read_text()
    assert f"fill: {dark.GROUND}" in drawn
    cubic = legend.INKS["cubic"].colour
    assert cubic not in drawn
    assert dark.dark(cubic) in drawn
    with pytest.raises(ValueError, match="follows its reader"):
        figure.save(tmp_path / "x.html", dark=True)
    # Oklab's hue is not that of HSV, but no colour may turn into another one.
    for colour in ("#0072b2", "#d55e00", "#3d1fe0", "#009e73"):
        light, on_dark = (hue(one) for one in (colour, dark.dark(colour)))
        assert abs(light - on_dark) < 0.07, colour


def hue(colour: str) -> float:
    return colorsys.rgb_to_hsv(*bytes.fromhex(colour[1:]))[0]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2.2, 1.4.3)."""

    def luminance(colour: str) -> float:
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    return max(luminance(one), luminance(other)) / min(luminance(one), luminance(other))


def test_a_selection_leaves_the_data_whole(lot: sojourn.Run, tmp_path: Path) -> None:
    part = lot.only(flow="long", link="second")
    assert [one["name"] for one in part.runs[0]["flows"]] == ["long"]
    assert part.flows["flow"].unique().to_list() == ["long"]
    assert "Queueing delay of second" in part.plot().svg
    with pytest.raises(UsageError, match="no flow `nothing`; it has"):
        lot.only(flow="nothing")
    place = lot.save(tmp_path / "lot", ())
    before = (place / "summary.json").read_bytes()
    assert main(["report", str(place), "--flow", "long", "--link", "second"]) == 0
    assert (place / "summary.json").read_bytes() == before
    page = (place / "report.html").read_text()
    assert "cross" not in page.split("<details>")[0].split("</style>")[-1]


def test_changes_of_repeated_runs_are_aligned(small: Path) -> None:
    """With a spread, each run's capacity falls at another time; the figure shows one."""
    run = sojourn.run(small, control="cubic", runs=5, spread="2s")
    at = run.runs[0]["spikes"][0]["at_s"]
    assert len({one["spikes"][0]["at_s"] for one in run.runs}) == 5
    capacity = series.link_series(run, legend.of(run.summary), "capacity_bps", "bottleneck")
    full = pl.col("v") == pl.col("v").max()
    ends = capacity.filter(full).group_by("seed").agg(pl.col("t").max())
    # Up to a sample each.
    assert ends["t"].to_list() == pytest.approx([at] * 5, abs=0.011)


def test_completion_times_have_a_distribution() -> None:
    flow = {"path": ["neck"], "source": {"kind": "file", "size": "100kB"}, "count": 8}
    link = {"neck": {"rate": "20Mbit", "delay": "10ms"}}
    document = {"duration": "2s", "controls": ["cubic"], "link": link, "flow": {"down": flow}}
    assert "Completion time of each flow" in sojourn.run(document).plot().svg


def test_response_times_have_a_row() -> None:
    flow = {
        "path": ["neck"],
        "back": ["neck"],
        "source": {"kind": "request", "request": "200B", "response": "20kB", "count": 20},
    }
    link = {"neck": {"rate": "20Mbit", "delay": "10ms"}}
    document = {"duration": "2s", "controls": ["cubic"], "link": link, "flow": {"web": flow}}
    assert "Response time" in sojourn.run(document).plot().svg
    call = sojourn.Scenario.load(ROOT / "scenarios" / "video-call.toml").set("duration=11s")
    assert "Frame delay" in sojourn.run(call).plot().svg


def titles_of(run: sojourn.Run) -> list[str]:
    return [panel.title for row in run.plot().document.panels for panel in row]


def test_the_legend_has_columns_that_fit(small: Path) -> None:
    names = [f"a controller with a long name {place}" for place in range(12)]
    runs = {name: sojourn.run(small, control="cubic") for name in names}
    picture = sojourn.combine(runs).plot().picture()
    (legend,) = picture.legends
    picture.draw_without_rendering()
    assert legend.get_window_extent().width <= picture.bbox.width


def rtt_of(values: list[float | None], interval_s: float = 0.01) -> list[float | None]:
    """Return the drawn values of a flow with these RTTs."""
    times = [place * interval_s for place in range(len(values))]
    data = pl.DataFrame({"t": times, "v": values}, schema={"t": pl.Float64, "v": pl.Float64})
    lines = series.with_gaps(data.with_columns(series=pl.lit("a"), flow=pl.lit("")), times[-1])
    return series.thin(lines, times[-1], [])["v"].to_list()


def test_missing_samples_are_gaps_and_sparse_ones_stand_alone() -> None:
    # A recovery of 2.5 s without a sample: one gap, which no line crosses.
    assert rtt_of([*[0.02] * 300, *[None] * 250, *[0.3] * 300]).count(None) == 1
    # A ping each second: a gap on both sides of each.
    pings = rtt_of([0.02 if place % 100 == 0 else None for place in range(1000)])
    assert pings[:5] == [0.02, None, 0.02, None, 0.02]
    # Frames 33 ms apart are a line.
    assert None not in rtt_of([0.02 if place % 3 == 0 else None for place in range(1000)])[:-1]


def test_the_zoom_reaches_the_end_of_the_slowest_recovery() -> None:
    run = sojourn.run("capacity-drop", control=["bbr", "cubic"])
    at = run.runs[0]["spikes"][0]["at_s"]
    slowest = max(one["spikes"][0]["recovery_s"] or 0.0 for one in run.runs)
    ((begin, end),) = run_picture.windows(run)
    assert begin == at - 0.5
    assert end >= at + slowest
    for one in run.runs:
        one["spikes"][0]["recovery_s"] = 12.0
    ((_, end),) = run_picture.windows(run)
    assert end > at + 12


def test_bounds_are_those_of_drops_with_one_label_each() -> None:
    run = sojourn.run("wifi-outage", control="cubic")
    delay = run.plot().document.panels[1][0]
    (bounds,) = [one for one in delay.layers if one.name == "bound"]
    drops = [one for one in run.runs[0]["spikes"] if one["to_bps"] < one["from_bps"]]
    assert len(bounds.points) == len([text for text in bounds.texts if text]) == len(drops)


def test_the_page_allows_its_own_parts_alone(lot: sojourn.Run) -> None:
    page = lot.plot().html
    policy = re.search('Content-Security-Policy" content="(.*?)"', page)
    assert policy
    for text in re.findall("<style>(.*?)</style>|<script>(.*?)</script>", page, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256("".join(text).encode()).digest()).decode()
        assert f"sha256-{digest}" in html.unescape(policy[1])
    assert "style=" not in page.split("<script>")[0].split("</style>")[-1]
