"""`import sojourn`: running scenarios, reading runs, building and changing scenarios."""

import inspect
import keyword
from pathlib import Path

import polars as pl
import pytest
import sojourn
from sojourn.run.api import Source
from support import ROOT, SMALL


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sojourn.Run:
    file = tmp_path_factory.mktemp("api") / "small.toml"
    file.write_text(SMALL)
    return sojourn.run(file)


def built() -> sojourn.Scenario:
    return (
        sojourn.Scenario(
            title="A small drop", duration="6s", host="rfc", controls=["cubic", "dctcp"]
        )
        .link(
            "bottleneck",
            rate={"start": "12Mbit", "steps": [{"at": "3s", "rate": "6Mbit"}]},
            delay="10ms",
            queue={"kind": "codel", "ecn": True},
        )
        .link("back", delay="10ms")
        .flow("upload", path=["bottleneck"], back=["back"], source="bulk")
    )


def test_builders_take_every_key_of_the_schema() -> None:
    schema = sojourn.schema()
    top = schema["properties"]
    tables = [name for name, node in top.items() if "propertyNames" in node]
    assert tables == ["group", "link", "flow"]
    for table in tables:
        declared = top[table]["additionalProperties"]
        keys = (
            schema["$defs"]["group"]["properties"] if table == "group" else declared["properties"]
        )
        given = {key: [key] for key in keys}
        named = {
            f"{key}_" if keyword.iskeyword(key) else key: value for key, value in given.items()
        }
        builder = getattr(sojourn.Scenario(), table)
        assert builder("x", **named)[table] == {"x": given}
        assert set(inspect.signature(builder).parameters) == {"name", *named}


def test_queues_nest() -> None:
    queue = {"kind": "htb", "rate": "6Mbit", "inner": {"kind": "drr", "inner": "codel"}}
    scenario = built()
    scenario["link"]["bottleneck"] |= {"rate": "1Gbit", "queue": queue}
    link = sojourn.run(scenario, control="cubic").link("bottleneck")
    assert link.summary["capacity_bps"] == pytest.approx(6e6, rel=0.001)
    assert (link.summary["utilisation"] or 0.0) > 0.9
    queue["inner"] = {"kind": "drr", "inner": {"kind": "codel", "inner": "droptail"}}
    scenario["link"]["bottleneck"]["queue"] = queue
    with pytest.raises(sojourn.ScenarioError, match=r"`codel` has no parameter `inner`") as refused:
        scenario.check()
    assert "link.bottleneck.queue.inner.inner.inner" in str(refused.value)


def test_one_run_needs_no_choice(small: Path) -> None:
    run = sojourn.run(small, control="dctcp")
    flow = run.flow("upload")
    assert flow.summary["control"] == "dctcp"
    assert isinstance(flow.series, pl.DataFrame)
    assert flow.series["t_s"].is_sorted()
    assert flow.series.height > 100
    assert flow.series["control"].unique().to_list() == ["dctcp"]


def test_several_runs_need_one(run: sojourn.Run) -> None:
    with pytest.raises(LookupError, match=r"say which.*'cubic'.*'dctcp'"):
        run.flow("upload")
    with pytest.raises(LookupError, match="no run matches"):
        run.flow("upload", control="bbr")
    with pytest.raises(KeyError, match=r"no flow 'download'.*upload"):
        run.flow("download", control="cubic")
    link = run.link("bottleneck", control="cubic")
    assert link.summary["queue_delay_max_s"] == pytest.approx(
        link.series["queue_delay_s"].max(), rel=1e-3
    )


def test_series_agree_with_the_summary(run: sojourn.Run) -> None:
    flow = run.flow("upload", control="dctcp")
    assert flow.series["marked_packets"].max() == flow.summary["marked_packets"]
    sent = flow.series["delivered_bytes"].max()
    assert isinstance(sent, int)
    assert 8 * sent / 6 == pytest.approx(flow.summary["goodput_bps"], rel=0.01)


def test_scenario_built_in_python_runs_like_its_text(run: sojourn.Run) -> None:
    same = sojourn.run(built())
    assert same.runs == run.runs
    assert same.series == run.series
    assert sojourn.run(dict(built())).runs == run.runs


def test_scenario_is_changed_like_a_dict(small: Path) -> None:
    scenario = sojourn.Scenario.load(small)
    scenario["link"]["bottleneck"]["rate"]["steps"][0]["rate"] = "3Mbit"
    scenario["title"] = "changed"
    run = sojourn.run(scenario, control="cubic")
    assert run.title == "changed"
    assert run.runs[0]["spikes"][0]["to_bps"] == 3e6
    assert sojourn.Scenario.load(small)["title"] == "A small drop"


def test_set_changes_values(small: Path) -> None:
    run = sojourn.run(
        small,
        control="cubic",
        set={"link.bottleneck.rate.steps.0.rate": "4Mbit", "link.bottleneck.queue.ecn": False},
    )
    assert run.runs[0]["spikes"][0]["to_bps"] == 4e6
    assert run.runs[0]["flows"][0]["marked_packets"] == 0


def test_copy_is_a_scenario_of_its_own() -> None:
    one = built()
    two = one.copy()
    two["link"]["back"]["delay"] = "1ms"
    assert one["link"]["back"]["delay"] == "10ms"
    assert one == built()


def test_toml_round_trip() -> None:
    again = sojourn.Scenario.parse(built().to_toml())
    assert again.to_toml() == built().to_toml()
    assert sojourn.run(again, control="cubic").runs == sojourn.run(built(), control="cubic").runs


def test_errors_point_at_the_text(small: Path) -> None:
    small.write_text(SMALL.replace("title", "titel"))
    with pytest.raises(sojourn.ScenarioError) as caught:
        sojourn.run(small)
    (item,) = caught.value.items
    assert (item["line"], item["column"]) == (1, 1)
    assert str(small) in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_errors_in_built_scenarios_name_the_key() -> None:
    scenario = built()
    scenario["link"]["back"]["dealy"] = "1ms"
    with pytest.raises(sojourn.ScenarioError, match="dealy"):
        scenario.check()


def test_run_directory_is_read_back(run: sojourn.Run, tmp_path: Path) -> None:
    where = run.save(tmp_path / "kept", report=["png", "html"])
    names = {one.name for one in where.iterdir() if one.stem == "report"}
    assert names == {"report.html", "report.png"}
    again = sojourn.load(where)
    assert again.summary == run.summary
    assert again.title == run.title
    assert again.flows.equals(run.flows)
    assert again.links.equals(run.links)
    with pytest.raises(sojourn.OutputExistsError, match="not empty"):
        run.save(where)


def test_figure_shows_and_saves_itself(run: sojourn.Run, tmp_path: Path) -> None:
    figure = run.plot()
    bundle = figure._repr_mimebundle_()
    assert bundle["text/html"].startswith("<iframe")
    for name in ("x.html", "x.svg", "x.png"):
        assert figure.save(tmp_path / name).stat().st_size > 10_000
    with pytest.raises(ValueError, match="html"):
        figure.save(tmp_path / "x.gif")
    assert "<table" in run._repr_html_()


def test_figures_of_one_process_are_the_same(run: sojourn.Run) -> None:
    first, second = run.plot(), run.plot()
    assert first.svg == second.svg
    assert first.png == second.png


def test_nothing_recorded_still_makes_a_figure(small: Path) -> None:
    run = sojourn.run(small, control="cubic", set={"record.interval": "0s"})
    assert run.flows.height == 0
    assert "no series were recorded" in run.plot().svg


def test_flows_may_name_their_controllers(small: Path) -> None:
    scenario = built()
    del scenario["controls"]
    scenario["flow"]["upload"]["control"] = "cubic"
    scenario.flow("other", path=["bottleneck"], back=["back"], control="reno")
    run = sojourn.run(scenario)
    assert [one["control"] for one in run.runs] == ["cubic+reno"]
    assert run.flow("other").summary["control"] == "reno"
    assert run.flow("other").series.height > 0
    assert ">reno<" in run.plot().svg


def test_theory() -> None:
    assert sojourn.theory.spike("60Mbit", "20Mbit", "50ms")["spike_s"] == pytest.approx(0.1)
    with pytest.raises(ValueError, match="unit"):
        sojourn.theory.spike("60", "20Mbit", "50ms")
    with pytest.raises(TypeError, match=r'before is 60.*such as "60Mbit"'):
        sojourn.theory.spike(60e6, "20Mbit", "50ms")  # type: ignore[arg-type]


def test_theory_of_rapid() -> None:
    found = sojourn.theory.rapid("1Gbit", "111Mbit", "100ms", "350ms", "150ms", "75ms")
    assert (found["case"], round(found["utilisation"], 3)) == ("L1", 0.903)
    with pytest.raises(ValueError, match="eta <= tau"):
        sojourn.theory.rapid("1Gbit", "111Mbit", "100ms", "350ms", "75ms", "150ms")
    with pytest.raises(TypeError, match=r"on is 0.1; .*such as \"20ms\""):
        sojourn.theory.rapid("1Gbit", "111Mbit", 0.1, "350ms", "150ms", "75ms")  # type: ignore[arg-type]


def test_what_is_no_scenario_is_refused() -> None:
    with pytest.raises(TypeError, match="scenario is 3 of type int; it must be text or a path"):
        sojourn.run(3)  # type: ignore[arg-type]


def test_a_scenario_may_be_a_path_text_a_dict_or_an_object(small: Path) -> None:
    text = small.read_text()
    as_object = sojourn.Scenario.load(small)
    forms: list[Source] = [small, str(small), text, dict(as_object), as_object]
    runs = [sojourn.run(form, control="cubic").runs for form in forms]
    assert runs == [runs[0]] * len(forms)
    with pytest.raises(sojourn.ScenarioError, match="there is no controller `cubik`"):
        sojourn.run(text.replace('"dctcp"', '"cubik"'))


def test_the_table_is_tidy(small: Path) -> None:
    run = sojourn.run(small, runs=2)
    flows, links = run.table(), run.table("links")
    assert flows.columns[:4] == ["control", "seed", "flow", "flow_control"]
    assert flows.rows_by_key(["control", "seed"]).keys() == {
        (control, seed) for control in ("cubic", "dctcp") for seed in (1, 2)
    }
    first = run.flow("upload", "cubic", 1).summary
    row = flows.row(by_predicate=(pl.col("control") == "cubic") & (pl.col("seed") == 1), named=True)
    assert {key: row[key] for key in first if key in row and key != "control"} == {
        key: value for key, value in first.items() if key in row and key != "control"
    }
    assert set(links["link"]) == {"bottleneck", "back"}
    assert run.table("spikes")["at_s"].unique().to_list() == [3.0]
    assert run.table("sizes").shape == (0, 2)
    with pytest.raises(ValueError, match="there are: flows, links, spikes, sizes"):
        run.table("queues")  # type: ignore[arg-type]


def test_help_has_an_example_the_result_and_the_errors() -> None:
    text = inspect.getdoc(sojourn.run) or ""
    assert all(word in text for word in ("run = sojourn.run(", "`Run`", "ScenarioError", "OSError"))
    for named in (sojourn.Feedback, sojourn.Limits, sojourn.Setup, sojourn.Sent):
        assert named.__doc__
    fields = [name for name in vars(sojourn.Feedback) if not name.startswith("_")]
    assert len(fields) > 20
    assert all(getattr(sojourn.Feedback, name).__doc__ for name in fields)


def test_spread_moves_the_changes(small: Path) -> None:
    run = sojourn.run(small, control="cubic", runs=2, spread="1s")
    first, second = (one["spikes"][0]["at_s"] for one in run.runs)
    assert first != second
    assert 3 <= min(first, second) <= max(first, second) < 4
    assert "2 runs" in repr(run)


def test_representation_counts_runs(small: Path) -> None:
    assert repr(sojourn.run(small, control="cubic")).endswith("cubic; 1 run>")


def test_scenario_is_saved(tmp_path: Path) -> None:
    saved = built().save(tmp_path / "built.toml")
    assert sojourn.Scenario.load(saved).to_toml() == built().to_toml()


def test_scenario_is_saved_with_its_trace(tmp_path: Path) -> None:
    cellular = sojourn.Scenario.load(ROOT / "scenarios" / "cellular.toml")
    saved = cellular.save(tmp_path / "moved.toml")
    sojourn.Scenario.load(saved).check()
    (trace,) = (path for path in tmp_path.iterdir() if path != saved)
    trace.write_text("1\n")
    with pytest.raises(sojourn.OutputExistsError, match="something else"):
        cellular.save(saved)


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"jobs": 0}])
def test_impossible_numbers_are_refused(small: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        sojourn.run(small, runs=wrong.get("runs", 1), jobs=wrong.get("jobs"))


def test_names_are_complete() -> None:
    assert {name for name in dir(sojourn) if not hasattr(sojourn, name)} == set()
    with pytest.raises(AttributeError, match="nonsense"):
        _ = sojourn.nonsense
