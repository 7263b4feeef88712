"""Figures are data that the page and matplotlib both draw, with any names."""

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import msgspec
import pytest
from sojourn.cli import main
from sojourn.errors import PictureError
from sojourn.picture import Chart, chart, heat, static
from sojourn.picture.chart import Document, Layer, Panel
from sojourn.record import legend
from sojourn_bench import figure as bench_figure
from sojourn_bench.figures import Bench
from sojourn_papers import page as paper_page
from sojourn_papers.measured import TableSummary
from sojourn_papers.paper import ClaimSummary, FigureSummary, PaperSummary
from support import ROOT, environment

SPIKE = ("theory", "spike", "--from", "60Mbit", "--to", "20Mbit", "--delay", "50ms")
BURSTS = ("--capacity", "1Gbit", "--load", "111Mbit", "--on", "100ms", "--off", "350ms")
COMMANDS: dict[str, tuple[str, ...]] = {
    "spike": (*SPIKE, "--mitigations"),
    "rapid": ("theory", "rapid", *BURSTS, "--tau", "150ms", "--eta", "75ms"),
    "trace": ("theory", "trace", "--process", "wifi", "--delay", "40ms"),
    "rtt": ("rtt", str(ROOT / "tests" / "captures" / "timestamps.pcapng")),
}


def test_names_beside_controllers_have_looks_that_no_controller_has() -> None:
    drawn = [chart.line(name, [(0, 0), (1, 1)]) for name in ("cubic", "ours", "published")]
    cubic, *others = chart.coloured(Panel("", "", "", drawn)).layers
    assert cubic.colour == legend.INKS["cubic"].colour
    assert {one.colour for one in others} <= {ink.colour for ink in legend.OTHERS}
    assert len({one.colour for one in others}) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_draw_every_format(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heads = {"html": b"<!doctype html>", "svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for suffix, head in heads.items():
        assert main([*COMMANDS[command], "--plot", f"x.{suffix}"]) == 0
        assert Path(f"x.{suffix}").read_bytes().startswith(head)


def test_equal_figures_have_equal_bytes() -> None:
    for suffix in (".svg", ".png", ".pdf"):
        first, second = (static.saved(static.figure(figure("line")), suffix) for _ in range(2))
        assert first == second


def test_figures_of_the_benchmark() -> None:
    case = {"ratio": 0.5, "sampled_ratio": 0.4}
    scaling = [{"flows": 1, "ns_per_packet": 80.0}, {"flows": 10, "ns_per_packet": 90.0}]
    found = {"version": "1", "quick": True, "bare_loop_pps": 1e7, "cases": {"A": case}}
    for some in ([], scaling):
        drawn = Chart(bench_figure.document(cast(Bench, {**found, "scaling": some})))
        assert drawn.svg
        assert drawn.html


def figure(name: str) -> Document:
    points = [(0.0, 1.0), (1.0, 2.0)]
    layers = [
        chart.line(name, points, dash=(2, 2)),
        chart.dots("dots", points),
        chart.labels("labels", points, ["1", name], "#000000"),
        Layer("band", "area", [(0.0, 0.5, 1.5), (1.0, 1.0, 3.0)], opacity=0.2),
        Layer("guide", "rules", [(None, 1.0, None, 1.0), (0.5, None, 0.5, None)]),
    ]
    one = Panel("p", "x", "y", layers, behind=[chart.shade([(0, 1)])], x_axis={"values": [1]})
    bare = Panel("p", "x", "y", [chart.boxes("b", points)], bare=True, columns=2)
    zoomed = Panel("z", "time (s)", "ms", layers, zoom=(0.2, 0.4), legend=False)
    return Document("t", ["s", "u"], [one, [one, bare], zoomed])


NAMES = ['a,"b"', "a\nb", "<b>&amp;", "1e3", " ", "NaN", "_hidden", "$x$", "</script>"]


@pytest.mark.parametrize("name", NAMES)
def test_names_reach_page_and_picture_as_they_are(name: str) -> None:
    drawn = Chart(figure(name))
    assert drawn.svg
    data = drawn.html.split('id="figure-data">')[1].split("</script>")[0]
    (row, *_) = json.loads(data)["rows"]
    assert row[0]["layers"][0]["name"] == name
    legend = drawn.picture().axes[0].get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[0].replace("\u200b", "").replace(r"\$", "$") == name


def test_a_picture_is_the_researchers_to_change() -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 5.0, "axes.titlesize": 4.0}):
        picture = Chart(figure("line")).picture(columns=1)
    assert picture.get_figwidth() == pytest.approx(3.5)
    assert picture.axes[0].title.get_fontsize() == 4.0
    # In one column, a row over time has the selected part alone.
    assert len(picture.axes) == 4
    assert picture.axes[-1].get_xlim() == (0.2, 0.4)
    picture.axes[0].set_xlabel("mine")
    assert b">mine<" in static.saved(picture, ".svg")
    wide = Chart(figure("line")).picture(columns=2)
    assert wide.get_figwidth() == pytest.approx(7.16)
    assert len(wide.axes) == 5
    with pytest.raises(ValueError, match="1 or 2"):
        Chart(figure("line")).picture(columns=3)


def test_without_matplotlib_one_line_names_the_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PictureError, match="pictures need matplotlib; install it with: pip"):
        Chart(figure("line")).save("x.png")
    assert main([*SPIKE, "--plot", "x.png"]) == 2
    assert main(["run", "capacity-drop", "--png"]) == 2
    said = capsys.readouterr().err
    assert said.count("sojourn: pictures need matplotlib; install it with: pip") == 2
    assert said.count("\n") == 2
    assert main([*SPIKE, "--plot", "x.html"]) == 0


def test_numbers_have_no_exponent() -> None:
    assert [static.number(value) for value in (0.0, 1e-5, 0.25, 1500.0, 2e7)] == [
        *("0", "0.00001", "0.25", "1,500", "20,000,000"),
    ]


def test_a_guide_outside_the_data_does_not_scale_the_axis() -> None:
    line = chart.line("line", [(0.0, 1.0), (1.0, 10.0)])
    far = Layer("bound", "rules", [(None, 90.0, None, 90.0)])
    near = Layer("bound", "rules", [(None, 11.0, None, 11.0)])
    for guide, most in ((far, 10.0), (near, 11.0)):
        panel = Panel("", "", "", [line, guide], y_scale={"zero": True})
        (axes,) = Chart(Document("", "", [panel])).picture().axes
        assert axes.get_ylim()[1] == pytest.approx(most, rel=0.05)


def test_a_declared_logarithmic_axis_is_one() -> None:
    panel = Panel("", "", "", [chart.line("", [(1.0, 1.0), (4.0, 2.0)])], x_scale={"type": "log"})
    (axes,) = Chart(Document("", "", [panel])).picture().axes
    assert axes.get_xscale() == "log"


def test_gaps_and_single_samples_reach_both_renderers() -> None:
    points = [(0.0, 1.0), (1.0, 2.0), (2.0, None), (3.0, 5.0), (4.0, None)]
    document = Document("", "", [Panel("", "", "", [Layer("rtt", "line", points)])])
    (axes,) = Chart(document).picture().axes
    line, single = axes.get_lines()
    assert [value == value for value in line.get_ydata()] == [True, True, False, True, False]
    assert list(single.get_ydata()) == [5.0]
    ((panel,),) = chart.as_data(document)["rows"]
    assert msgspec.json.encode(panel["layers"][0]["columns"][1]) == b"[1.0,2.0,null,5.0,null]"


def test_a_heat_map_has_white_text_on_dark_cells_alone() -> None:
    cells = {("a", "x"): 0.0, ("b", "x"): 1000.0}
    panel = heat.panel("", ("", ""), ["a", "b"], ["x"], cells, heat.Scheme.of([0.0, 1000.0]))
    _, texts = panel.layers
    assert list(texts.texts) == ["0", "1,000"]
    assert list(texts.fills) == ["#222222", "#ffffff"]


def test_no_library_of_charts_or_pages_is_loaded_without_a_picture() -> None:
    script = (
        "import sys; from sojourn.cli import main; from sojourn.picture import chart\n"
        f"assert main({[*SPIKE, '--mitigations', '--json']}) == 0\n"
        "assert not {'matplotlib', 'jinja2', 'polars'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_the_page_of_a_paper_escapes_every_text() -> None:
    hostile = '"><img src=x>&'
    claim = ClaimSummary(
        claim=hostile, published=hostile, ours=hostile, unit=hostile, holds=False, why=hostile
    )
    table = TableSummary(title=hostile, columns={"a": hostile}, rows=[{"a": hostile}])
    figure = FigureSummary(
        figure=hostile,
        title=hostile,
        pictures=["one"],
        claims=[claim],
        tables=[table],
        notes=[hostile],
    )
    whole = PaperSummary(
        version="1",
        paper=hostile,
        title=hostile,
        source=hostile,
        quick=True,
        live=True,
        stack=None,
        figures=[figure],
    )
    page = paper_page.html(whole)
    assert "<img src=x>" not in page
    assert page.count("&gt;&lt;img src=x&gt;&amp;") >= 13
    assert '<td class="no">no</td>' in page
    assert '<img src="one.svg" alt="' in page


def test_names_without_a_colour_share_none() -> None:
    asked = [None, *chart.COLOURS[:3], None, chart.COLOURS[3]]
    layers = [chart.line(str(place), [(0, 0)], colour) for place, colour in enumerate(asked)]
    drawn = chart.coloured(Panel("", "x", "y", layers))
    assert [one.name for one in drawn.layers] == [str(place) for place in range(len(asked))]
    assert len({one.colour for one in drawn.layers}) == len(asked)
