"""The run directory is complete or absent, and reproducible byte by byte."""

import json
import signal
import time
from pathlib import Path

import pytest
from support import SMALL, Sojourn, begun, command

FILES = {
    *("summary.json", "flows.parquet", "links.parquet", "scenario.toml", "report.html"),
}


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_same_bytes_twice_and_with_any_number_of_threads(sojourn: Sojourn, small: Path) -> None:
    args = ("run", small, "--runs", "2", "--spread", "1s", "--seed", "3")
    for name, jobs in (("a", "1"), ("b", "1"), ("c", "4")):
        done = sojourn(*args, "--jobs", jobs, "--out", name)
        assert done.returncode == 0, done.stderr
    first = contents(small.parent / "a")
    assert set(first) == FILES
    for name in "bc":
        again = contents(small.parent / name)
        assert [file for file in FILES if again[file] != first[file]] == [], name


def test_another_seed_gives_another_run(sojourn: Sojourn, small: Path) -> None:
    spikes = []
    for seed in ("1", "2"):
        done = sojourn("run", small, "--spread", "1s", "--seed", seed, "--json")
        assert done.returncode == 0, done.stderr
        spikes.append([one["spikes"] for one in json.loads(done.stdout)["runs"]])
    assert spikes[0] != spikes[1]


def test_default_directory_is_numbered(sojourn: Sojourn, small: Path) -> None:
    for expected in ("runs/small", "runs/small-3"):
        done = sojourn("run", small, "--control", "cubic")
        assert done.returncode == 0, done.stderr
        assert f"Run directory: {expected} " in done.stdout
        assert set(contents(small.parent / expected)) == FILES
        (small.parent / "runs" / "small-2").mkdir(exist_ok=True)


def test_scenario_as_run_gives_the_same_run(without_report: Sojourn, small: Path) -> None:
    changes = ("--set", "link.back.delay=15ms", "--seed", "9", "--control", "reno")
    assert without_report("run", small, *changes, "--out", "a").returncode == 0
    again = without_report("run", "a/scenario.toml", "--out", "b")
    assert again.returncode == 0, again.stderr
    one, two = contents(small.parent / "a"), contents(small.parent / "b")
    assert b"Sojourn" in one["scenario.toml"].splitlines()[0]
    assert b"seed" in one["scenario.toml"]
    assert two["scenario.toml"] == one["scenario.toml"]
    assert two["flows.parquet"] == one["flows.parquet"]


def test_report_stands_alone(sojourn: Sojourn, small: Path) -> None:
    assert sojourn("run", small, "--out", "out", "--svg", "--png", "--no-live").returncode == 0
    out = contents(small.parent / "out")
    page = out["report.html"].decode()
    for fetched in ("src=", "@import", 'rel="stylesheet"', "fetch("):
        assert fetched not in page.split("<script>")[0]
    assert "A small drop" in page
    assert '<th scope="row">' in page
    assert out["report.png"].startswith(b"\x89PNG\r\n")
    assert b"Queueing delay of bottleneck" in out["report.svg"]
    # For two controllers: the script, and a few points per pixel.
    assert len(page) < 300_000


def test_reports_have_paths_as_the_user_gave_them(sojourn: Sojourn, small: Path) -> None:
    """A report that is passed on does not tell where its author keeps files."""
    for name in ("a", "b"):
        assert sojourn("run", small.name, "--control", "cubic", "--out", name).returncode == 0
    assert sojourn("compare", "a", "b", "--out", "both").returncode == 0
    assert sojourn("report", "a").returncode == 0
    axis = "link.back.delay=1ms,2ms"
    swept = sojourn("sweep", small.name, "--control", "cubic", "--vary", axis, "--out", "swept")
    assert swept.returncode == 0
    assert sojourn("sweep", "show", "swept", "--plot", "swept.html").returncode == 0
    written = [*small.parent.glob("*/*.html"), *small.parent.glob("*.html")]
    assert len(written) == 4
    for file in (*written, *small.parent.glob("*/*.json")):
        assert str(small.parent) not in file.read_text()


def test_text_in_a_scenario_cannot_break_the_page(sojourn: Sojourn, small: Path) -> None:
    small.write_text(SMALL.replace("A small drop", "</script><img src=x>&<b>"))
    assert sojourn("run", small, "--control", "cubic", "--out", "out", "--no-live").returncode == 0
    page = (small.parent / "out" / "report.html").read_text()
    assert "<img" not in page
    # The data of the figure and the script.
    assert page.count("</script") == 2
    assert "&lt;/script&gt;&lt;img src=x&gt;&amp;&lt;b&gt;" in page


@pytest.mark.parametrize("after_s", [0.6, 1.5])
def test_interrupting_leaves_nothing(small: Path, after_s: float) -> None:
    # Long enough not to end during the test.
    args = ("run", small, "--set", "duration=100000s", "--set", "record.interval=10s")
    process = begun(command(*args), small.parent)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    assert stderr.strip().splitlines()[-1].startswith("sojourn: interrupted")
    left = [path.name for path in small.parent.rglob("*") if path.name != "small.toml"]
    assert left == []


def test_interrupting_the_report_leaves_nothing(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sojourn
    from sojourn.picture import Figure

    run = sojourn.run(small, control="cubic")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    # The report of a package with the page is live.
    for method in ("save", "live_html"):
        monkeypatch.setattr(Figure, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.save(small.parent / "out")
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]
