"""`sojourn paper`: its list, its errors and its files, tested on a paper with one drop."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sojourn as package
from polars.testing import assert_frame_equal
from sojourn.picture import chart
from sojourn_papers import Ask, Lab
from support import ROOT, SMALL, Sojourn
from test_bad_input import refused

SHIPPED = list((ROOT / "papers").glob("*/published.json"))
PAPER = """
from sojourn_papers import Claim, Figure, Lab, Paper
from sojourn.picture import chart


def drop(lab: Lab) -> list[Claim]:
    published = lab.published()["spike_ms"]
    run = lab.run("small.toml", control=lab.pick(["cubic", "dctcp"], "cubic"))
    series = run.link("bottleneck", "cubic").series.drop_nulls("queue_delay_s")
    points = zip(series["t_s"], 1e3 * series["queue_delay_s"])
    panel = chart.Panel("Queue (ms)", "s", "ms", [chart.line("queue", points)])
    lab.draw("drop", chart.Document("A drop", "small", [panel]))
    lab.note(f"data: {lab.data}; {len(run.runs)} runs")
    spikes = [1e3 * one["spikes"][0]["spike_s"] for one in run.runs]
    return [
        Claim("spike", published, spikes[0], "ms", spikes[0] > published, "above the bound"),
        Claim("beyond", None, "nothing | else"),
    ]


def broken(lab: Lab) -> list[Claim]:
    raise ArithmeticError("no figure")


FIGURES = {"1": Figure("A drop", drop), "2": Figure("Another", drop)}
PAPER = Paper("A small paper", "nobody", FIGURES)
"""


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder with one paper."""
    place = tmp_path / "papers" / "a-drop"
    place.mkdir(parents=True)
    (place / "small.toml").write_text(SMALL)
    (place / "paper.py").write_text(PAPER)
    (place / "published.json").write_text('{ "spike_ms": 20.0 }')
    return place.parent


def test_the_list_has_every_shipped_paper_and_its_figures(sojourn: Sojourn) -> None:
    done = sojourn("paper", "list", "--papers", ROOT / "papers", "--json")
    assert done.returncode == 0, done.stderr
    found = {
        one["paper"]: [fig["figure"] for fig in one["figures"]] for one in json.loads(done.stdout)
    }
    assert {"3", "5"} <= set(found["latency-spike"])
    assert {"4a", "4b", "4c", "4d", "5a", "5b", "6"} <= set(found["lola"])
    shown = sojourn("paper", "list", "--papers", ROOT / "papers").stdout
    for name, figures in found.items():
        assert name in shown
        assert all(figure in shown for figure in figures)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "b-drop"], ["b-drop", "a-drop"]),
        (["run", "a-drop", "--figure", "7"], ["'7'", "1, 2"]),
        (["run", "all", "--figure", "1"], ["--figure", "one paper"]),
        (["run", "a-drop", "--data", "nowhere"], ["--data", "nowhere"]),
        (["run", "a-drop", "--out", "taken"], ["taken", "--out"]),
        (["run", "a-drop", "--out", "papers/a-drop/small.toml"], ["small.toml", "no folder"]),
        (["run", "a-drop", "--jobs", "0"], ["--jobs"]),
        (["run", "a-drop", "--papers", "elsewhere"], ["elsewhere", "--papers"]),
        (["list", "--papers", "taken"], ["taken", "no paper"]),
        (["run", "a-drop", "--cluster", "tcp://127.0.0.1:1"], ["--cluster", "--dataset"]),
        (["run", "a-drop", "--live", "--dataset", "kept"], ["--live", "--dataset"]),
        (["run", "a-drop", "--live", "--cluster", "slurm"], ["--live", "--cluster"]),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(
    sojourn: Sojourn, papers: Path, args: list[str], words: list[str]
) -> None:
    (papers.parent / "taken").mkdir()
    (papers.parent / "taken" / "mine.txt").write_text("mine")
    before = sorted(papers.parent.rglob("*"))
    refused(sojourn("paper", *args), *words)
    after = sorted(path for path in papers.parent.rglob("*") if "__pycache__" not in path.parts)
    assert after == before


def test_a_run_writes_what_it_prints(sojourn: Sojourn, papers: Path) -> None:
    out = papers.parent / "out"
    done = sojourn("paper", "run", "a-drop", "--figure", "1", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads((out / "paper.json").read_text())
    assert found["version"] == package.__version__
    assert (found["paper"], found["title"], found["quick"]) == ("a-drop", "A small paper", False)
    (figure,) = found["figures"]
    assert set(figure) == {"figure", "title", "pictures", "claims", "tables", "notes"}
    assert figure["pictures"] == ["drop"]
    assert figure["notes"] == ["data: None; 2 runs"]
    first, second = figure["claims"]
    assert first["published"] == 20.0
    # The drop halves the capacity with a loop of 20 ms, which is the bound; CUBIC also fills a
    # queue.
    assert first["ours"] > 20.0
    assert (first["holds"], second["holds"], second["published"]) == (True, None, None)
    names = sorted(path.name for path in out.iterdir())
    assert names == ["drop.html", "drop.png", "drop.svg", "index.html", "paper.json", "paper.md"]
    assert (out / "drop.png").read_bytes().startswith(b"\x89PNG")
    index = (out / "index.html").read_text()
    assert 'src="drop.svg"' in index
    for page in (index, (out / "drop.html").read_text()):
        assert 'Content-Security-Policy" content="default-src &#39;none&#39;; ' in page
    (style,) = re.findall("<style>(.*?)</style>", index, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src &#39;sha256-{digest}&#39;; img-src" in index
    # A vertical bar would end the table cell.
    assert "nothing ¦ else" in (out / "paper.md").read_text()


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ('Claim("beyond", None, 1.0, "ms", True)', "nothing published"),
        ('Claim("beyond", None, 1.0, "ms", False)', "nothing published"),
        ('Claim("beyond", 1.0, 1.0)', "no verdict"),
        ('Claim("beyond", 1.0, None)', "no verdict"),
    ],
)
def test_a_verdict_is_on_what_is_published_and_nothing_else(
    sojourn: Sojourn, papers: Path, claim: str, words: str
) -> None:
    text = PAPER.replace('Claim("beyond", None, "nothing | else")', claim)
    assert text != PAPER
    (papers / "a-drop" / "paper.py").write_text(text)
    done = sojourn("paper", "run", "a-drop", "--figure", "2", "--quick", "--out", "out")
    refused(done, "a-drop", "figure 2", "beyond", words)
    assert not (papers.parent / "out").exists()


@pytest.mark.parametrize("name", sorted(one.parent.name for one in SHIPPED))
def test_every_paper_says_where_what_is_published_stands(name: str) -> None:
    entries = json.loads((ROOT / "papers" / name / "published.json").read_text())
    assert entries
    for key, entry in entries.items():
        assert len(entry["where"]) > 8, key


@pytest.mark.parametrize("name", ["latency_spike", "lola"])
def test_a_published_value_says_where_it_stands_and_is_used(name: str) -> None:
    folder = ROOT / "papers" / name
    lab = Lab(folder, folder)
    code = "".join(file.read_text() for file in folder.glob("*.py"))
    # The names of mitigations come from the theory's table.
    for key, entry in lab.published().items():
        assert set(entry) == {"value", "where"}, key
        assert "section" in entry["where"], key
        assert lab.value(key) == entry["value"]
        assert f'"{key}"' in code, key


def test_quick_and_data_reach_the_figure(sojourn: Sojourn, papers: Path) -> None:
    (papers.parent / "mine.csv").write_text("")
    args = ("--quick", "--data", "mine.csv", "--figure", "2", "--json")
    done = sojourn("paper", "run", "a-drop", *args)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["quick"] is True
    assert found["figures"][0]["notes"] == ["data: mine.csv; 1 runs"]
    assert (papers.parent / "runs" / "paper-a-drop" / "paper.json").is_file()


def test_a_figure_that_fails_leaves_nothing_behind(sojourn: Sojourn, papers: Path) -> None:
    file = papers / "a-drop" / "paper.py"
    file.write_text(PAPER.replace('Figure("Another", drop)', 'Figure("Another", broken)'))
    done = sojourn("paper", "run", "a-drop", "--out", "out")
    assert done.returncode != 0
    assert "no figure" in done.stderr
    assert not (papers.parent / "out").exists()


def test_a_claim_that_does_not_hold_is_counted_and_no_error(sojourn: Sojourn, papers: Path) -> None:
    (papers / "a-drop" / "published.json").write_text('{ "spike_ms": 1e6 }')
    done = sojourn("paper", "run", "all", "--quick")
    assert done.returncode == 0, done.stderr
    assert "0 of 2 claims hold" in done.stdout
    written = (papers.parent / "runs" / "paper-all" / "paper.md").read_text()
    assert "| spike | 1e+06 ms |" in written


def test_several_scenarios_in_one_pool_are_what_each_is_alone(papers: Path, tmp_path: Path) -> None:
    lab = Lab(papers / "a-drop", tmp_path)
    halves = {"link.bottleneck.rate.steps.0.rate": "3Mbit"}
    one, two = lab.runs([Ask("small.toml"), Ask("small.toml", halves, "cubic")], runs=2)
    assert one.series == package.run(papers / "a-drop" / "small.toml", runs=2).series
    alone = package.run(papers / "a-drop" / "small.toml", "cubic", set=halves, runs=2)
    assert two.series == alone.series
    assert two.scenario == alone.scenario


def test_a_dataset_gives_the_same_results(papers: Path, tmp_path: Path) -> None:
    folder = papers / "a-drop"
    (folder / "other.toml").write_text(f"seed = 3\n{SMALL}")
    halves = {"link.bottleneck.rate.steps.0.rate": "3Mbit"}
    asks = [Ask("small.toml"), Ask("other.toml", halves, "cubic")]
    cells = [{"link.back.delay": "20ms", "controls": "['bbr']"}, {"controls": "['cubic']"}]

    def measured(lab: Lab) -> list[object]:
        return lab.measure("small.toml", cells, lambda cell: (cell.summary, cell.flows, cell.links))

    memory = Lab(folder, tmp_path)
    kept = Lab(folder, tmp_path, dataset=str(tmp_path / "kept"), jobs=2)
    for one, two in zip(memory.runs(asks, 2), kept.runs(asks, 2), strict=True):
        assert one.summary == two.summary
        assert one.scenario == two.scenario
        for what in ("flows", "links"):
            assert_frame_equal(getattr(one, what), getattr(two, what), check_column_order=False)
    for here, there in zip(measured(memory), measured(kept), strict=True):
        assert here[0] == there[0]  # type: ignore[index]
        assert_frame_equal(here[1], there[1], check_column_order=False)  # type: ignore[index]
        assert_frame_equal(here[2], there[2], check_column_order=False)  # type: ignore[index]
    batches = sorted((tmp_path / "kept" / "runs").iterdir())
    again = replace(kept, _made={})
    assert again.runs(asks, 2)[0].summary == memory.runs(asks, 2)[0].summary
    assert sorted((tmp_path / "kept" / "runs").iterdir()) == batches


def test_what_was_simulated_is_remembered_unless_told_not_to(papers: Path, tmp_path: Path) -> None:
    lab = Lab(papers / "a-drop", tmp_path)
    kept = lab.run("small.toml", control="cubic")
    assert lab.run("small.toml", control="cubic") is kept
    other = {"link.bottleneck.delay": "11ms"}
    assert lab.run("small.toml", other, "cubic") is not kept
    (loose,) = lab.runs([Ask("small.toml", other, "dctcp")], keep=False)
    assert lab.run("small.toml", other, "dctcp") is not loose


def test_thinned_lines_keep_their_peaks_and_ends() -> None:
    points = [(float(t), float(t % 97)) for t in range(20_000)]
    points[12_345] = (12_345.0, 1000.0)
    points[777] = (777.0, -1000.0)
    kept = chart.thin(points, 400)
    assert len(kept) < 500
    assert {points[0], points[-1], points[12_345], points[777]} <= set(kept)
    assert kept == sorted(kept)


def test_a_line_that_goes_back_is_left_as_it_is() -> None:
    loop = [(float(t % 10), float(t)) for t in range(5000)]
    assert chart.thin(loop, 100) == loop
    assert chart.thin([(0.0, float("nan")), (1.0, 1.0)]) == [(1.0, 1.0)]


def test_names_have_one_colour_each_and_keep_their_own() -> None:
    layers = [
        chart.line("ours", [(0, 0)]),
        chart.line("published", [(0, 0)], chart.PUBLISHED),
        chart.dots("ours", [(1, 1)]),
        chart.line("other", [(0, 0)]),
    ]
    drawn = chart.coloured(chart.Panel("p", "x", "y", layers)).layers
    assert [one.name for one in chart.legend(drawn)] == ["ours", "published", "other"]
    assert drawn[1].colour == chart.PUBLISHED
    assert drawn[0].colour == drawn[2].colour
    assert len({one.colour for one in drawn}) == 3
