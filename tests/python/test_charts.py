"""Every figure follows the schema of Vega-Lite, with any names and themes."""

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import altair as alt
import jsonschema
import pytest
import sojourn as api
from sojourn.cli import main
from sojourn.report import chart, render, theme, views
from sojourn_bench import figure as bench_figure
from sojourn_bench.figures import Bench
from sojourn_papers import page as paper_page
from sojourn_papers.measured import TableSummary
from sojourn_papers.paper import ClaimSummary, FigureSummary, PaperSummary
from support import ROOT, environment

SPIKE = ("theory", "spike", "--from", "60Mbit", "--to", "20Mbit", "--delay", "50ms")
BURSTS = ("--capacity", "1Gbit", "--load", "111Mbit", "--on", "100ms", "--off", "350ms")
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "small.toml", "--out", "out"),
    "spike": (*SPIKE, "--mitigations", "--plot", "x.svg"),
    "rapid": ("theory", "rapid", *BURSTS, "--tau", "150ms", "--eta", "75ms", "--plot", "x.svg"),
    "trace": ("theory", "trace", "--process", "wifi", "--delay", "40ms", "--plot", "x.svg"),
    "rtt": ("rtt", str(ROOT / "tests" / "captures" / "timestamps.pcapng"), "--plot", "x.svg"),
    "matrix": (
        *("matrix", "--controls", "cubic,reno", "--queues", "codel", "--rtts", "10ms,20ms"),
        *("--duration", "1s", "--out", "out"),
    ),
}


def check(spec: Any) -> None:
    """Check a figure against the schema, which altair holds for the same version as ours."""
    schema = alt.load_schema()
    jsonschema.validators.validator_for(schema)(schema).validate(spec)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the Vega-Lite of every figure that is drawn."""
    specs: list[Any] = []
    to_json = render.to_json

    def collect(spec: Any) -> str:
        # A page carries its dark colours beside its figures.
        if "$schema" in spec or "concat" in spec:
            specs.append(spec)
        return to_json(spec)

    monkeypatch.setattr(render, "to_json", collect)
    return specs


def test_the_schema_refuses_an_unknown_property() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check({"data": {"values": []}, "mark": "line", "encoding": {"x": {"feild": "t"}}})


@pytest.mark.parametrize("command", COMMANDS)
def test_figures_of_commands(
    command: str, small: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small.parent)
    assert main([*COMMANDS[command]]) == 0
    assert drawn
    for spec in drawn:
        check(spec)


def test_figures_of_comparisons_and_of_many_flows(small: Path) -> None:
    one = api.run(small, control="cubic")
    flow = {"path": ["neck"], "source": "bulk", "count": 40}
    link = {"neck": {"rate": "50Mbit", "delay": "10ms"}}
    many = api.run({"duration": "1s", "controls": ["cubic"], "link": link, "flow": {"up": flow}})
    seeds = api.run(small, control=["cubic", "reno"], runs=4, spread="1s")
    for figure in (api.compare(one, one).plot(), many.plot(), seeds.plot()):
        check(figure.spec)
        check(figure._document(interactive=False))


def test_figures_of_the_benchmark() -> None:
    case = {"ratio": 0.5, "sampled_ratio": 0.4}
    scaling = [{"flows": 1, "ns_per_packet": 80.0}, {"flows": 10, "ns_per_packet": 90.0}]
    found = {"version": "1", "quick": True, "bare_loop_pps": 1e7, "cases": {"A": case}}
    for some in ([], scaling):
        check(bench_figure.document(cast(Bench, {**found, "scaling": some})))


def panels(name: str) -> theme.Spec:
    points = [(0.0, 1.0), (1.0, 2.0)]
    layers = [
        chart.line(name, points, dash=(2, 2)),
        chart.dots("dots", points),
        chart.labels("labels", points, ["1", name], "#000000"),
    ]
    one = chart.Panel("p", "x", "y", layers, behind=[chart.shade([(0, 1)])], x_axis={"values": [1]})
    bare = chart.Panel("p", "x", "y", [chart.boxes("b", points)], bare=True, columns=2)
    return views.document(chart.Document("t", ["s", "u"], [one, [one, bare]]))


def test_figures_of_papers() -> None:
    check(panels("line"))


@pytest.mark.parametrize("name", ['a,"b"', "a\nb", "<b>&amp;", "1e3", " ", "NaN"])
def test_names_reach_the_picture_as_they_are(name: str) -> None:
    (view, _) = panels(name)["vconcat"]
    assert view["layer"][1]["encoding"]["color"]["scale"]["domain"][0] == name
    # A name that the data lost or changed would have no colour of the scale.
    picture = render.svg(panels(name))
    assert picture.count(f'stroke="{chart.COLOURS[0]}"') >= 2


def test_the_users_theme_is_for_the_users_charts() -> None:
    plain = panels("line")
    with alt.theme.enable("dark"):
        assert panels("line") == plain


def test_no_library_of_charts_or_pages_is_loaded_without_a_picture() -> None:
    script = (
        "import sys; from sojourn.cli import main; from sojourn.report import chart\n"
        f"assert main({[*SPIKE, '--mitigations', '--json']}) == 0\n"
        "assert not {'altair', 'jinja2', 'polars'} & set(sys.modules)\n"
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
    figure = views.document(chart.Document("", "", [chart.Panel("", "x", "y", layers)]))
    scale = figure["vconcat"][0]["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == [str(place) for place in range(len(asked))]
    assert len(set(scale["range"])) == len(asked)
