"""Output for people: the table, the notes, and the latency of the command."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from support import SMALL, Sojourn, command, environment

# Modules that neither the help nor the import of the package may load.
HEAVY = {"polars", "rich", "vl_convert", "sojourn._core", "json", "concurrent.futures", "tempfile"}


def loaded(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split("\n")[-2].split())


def test_help_loads_nothing_heavy() -> None:
    code = "from sojourn.cli import main\nassert main(['--help']) == 0"
    assert loaded(code) & HEAVY == set()


def test_import_loads_nothing_heavy() -> None:
    own = {"sojourn", "sojourn.live", "sojourn.run", "sojourn.sweep"}
    # The environment's .pth files may load numpy, pandas or json: compare with an empty program.
    assert loaded("import sojourn") - loaded("") == own | loaded_by_typing()


def loaded_by_typing() -> set[str]:
    return loaded("from importlib import import_module\nimport typing") - loaded("")


def test_table_has_a_row_a_controller(without_report: Sojourn, small: Path) -> None:
    done = without_report("run", small)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].rstrip() == "A small drop"
    # The verdict comes first, on as many lines as it needs.
    assert lines[1].startswith("At 3 s bottleneck fell from 12 to 6 Mbit/s.")
    head = "bottleneck 12 Mbit/s → 6 Mbit/s at 3 s; host "
    caption = next(place for place, line in enumerate(lines) if line.startswith(head))
    (cubic,) = [line.split() for line in lines if line.startswith(" ● cubic")]
    (dctcp,) = [line.split() for line in lines if line.startswith(" ● dctcp")]
    assert len(cubic) == len(dctcp)
    assert all(is_number(cell) for cell in cubic[2:] + dctcp[2:])
    assert "20.0" in cubic
    heads = " ".join(lines[caption + 2 : caption + 5])
    for head in ("goodput", "spike", "bound", "excess", "drops", "marks", "Mbit/s", "ms"):
        assert head in heads


def is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit() or text == "–"


def test_without_a_change_of_capacity_there_is_no_spike(
    without_report: Sojourn, small: Path
) -> None:
    steady = SMALL.replace(', steps = [{ at = "3s", rate = "6Mbit" }]', "")
    small.write_text(steady)
    done = without_report("run", small)
    assert done.returncode == 0, done.stderr
    assert "spike" not in done.stdout
    assert "util." in done.stdout


def test_several_flows_and_changes_have_their_rows(without_report: Sojourn, small: Path) -> None:
    second = '[flow.second]\npath = ["bottleneck"]\nback = ["back"]\nstart = "1s"\n'
    twice = SMALL.replace('rate = "6Mbit" }', 'rate = "6Mbit" }, { at = "5s", rate = "4Mbit" }')
    small.write_text(twice + second)
    done = without_report("run", small)
    assert done.returncode == 0, done.stderr
    assert (
        len([line for line in done.stdout.splitlines() if "●" in line and " second " in line]) == 2
    )
    assert "Every change of capacity" in done.stdout
    assert "bottleneck 6 Mbit/s → 4 Mbit/s at 5 s" in done.stdout


def test_many_flows_share_a_row(without_report: Sojourn, small: Path) -> None:
    small.write_text(f"{SMALL}count = 101\n".replace('"6s"', '"4s"'))
    done = without_report("run", small, "--control", "cubic")
    assert done.returncode == 0, done.stderr
    flows = done.stdout.split("Every change of capacity")[0]
    (row,) = [line.split() for line in flows.splitlines() if " ● " in line]
    assert row[1:4] == ["cubic", "101", "flows"]
    assert "upload-101" in (small.parent / "runs" / "small" / "summary.json").read_text()


def test_several_links_with_a_rate_have_their_rows(without_report: Sojourn, small: Path) -> None:
    small.write_text(SMALL.replace("[link.back]", '[link.back]\nrate = "1Mbit"'))
    done = without_report("run", small, "--control", "cubic")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.split("Every link with a rate")[1].splitlines()
    assert [line.split()[2] for line in rows if "● cubic" in line] == ["bottleneck", "back"]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_table_folds_by_whole_columns(small: Path, width: int) -> None:
    lines = in_terminal(small, width, "run", small, "--runs", "6", "--spread", "1s", "--seed", "1")
    table = [line for line in lines if "●" in line or "–" in line]
    assert table
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in table)


def in_terminal(small: Path, width: int, *args: str | Path) -> list[str]:
    ours, theirs = pty.openpty()
    env = {**environment(), "COLUMNS": str(width), "NO_COLOR": "1", "TERM": "dumb"}
    process = subprocess.Popen(
        command(*args, "--no-report"),
        cwd=small.parent,
        env=env,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:  # the other end is closed
        pass
    assert process.wait(timeout=60) == 0
    return text.decode().replace("\r", "").split("\n")


def test_runs_that_are_all_the_same_are_said_to_be(sojourn: Sojourn, small: Path) -> None:
    still = ("--set", "start_jitter=0s", "--set", "noise=none")
    done = sojourn("run", small, "--control", "cubic", "--runs", "2", *still, "--json")
    assert "nothing in" in done.stderr
    assert "--spread" in done.stderr


@pytest.mark.parametrize("what", ["schema", "controllers"])
def test_a_reader_that_leaves_is_no_fault(what: str) -> None:
    process = subprocess.Popen(
        command(what), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141


def test_columns_are_explained_where_they_are_shown(without_report: Sojourn, small: Path) -> None:
    shown = without_report("run", small, "--control", "cubic", "--explain").stdout
    notes = shown.rsplit("●", 1)[1].splitlines()[2:-1]
    assert 3 <= len(notes) <= 5
    for column in ("util. before", "queue p50", "bound", "excess", "recovery", "drops"):
        assert column in " ".join(notes)
    assert "resp." not in shown
    small.write_text(
        SMALL.replace('"bulk"', '{ kind = "request", request = "1kB", response = "9kB" }')
    )
    shown = without_report("run", small, "--control", "cubic", "--explain").stdout
    assert "resp. p50, p99: " in shown
    assert "p99: " not in without_report("run", small, "--control", "cubic").stdout


@pytest.mark.parametrize(("columns", "most"), [("80", 80), ("200", 200), ("nonsense", 160)])
def test_columns_of_the_environment_hold_without_a_terminal(columns: str, most: int) -> None:
    env = {**environment(), "COLUMNS": columns}
    done = subprocess.run(command("queues", "codel"), env=env, capture_output=True, check=True)
    # Prose fills the available width to within a word or two.
    width = max(map(len, done.stdout.decode().splitlines()))
    assert most - 30 < width <= most


def test_theory_of_a_rise_has_no_spike(sojourn: Sojourn) -> None:
    shown = sojourn("theory", "spike", "--from", "20Mbit", "--to", "60Mbit", "--delay", "50ms")
    assert "capacity rises: no spike" in shown.stdout
    assert "time to peak" not in shown.stdout


def test_theory_shows_the_equation(sojourn: Sojourn) -> None:
    asked = ("--from", "60Mbit", "--to", "20Mbit", "--delay", "50ms", "--max-queue", "20ms")
    shown = sojourn("theory", "spike", *asked).stdout
    assert "(3 - 1) x 50 ms = 100 ms" in shown
    assert "(100 ms - 20 ms) / 100 ms = 80 %" in shown
    assert "q = 20ms, the longest that a packet can wait" in shown
    # An excess of 40 Mbit/s builds a queue of 20 ms at 20 Mbit/s within 10 ms.
    assert "10 ms after the drop" in shown
    assert "leaves the queue 20 ms later" in shown


def test_listing_shows_parameters(sojourn: Sojourn) -> None:
    assert "cubic" in sojourn("controllers").stdout
    shown = sojourn("queues", "codel").stdout
    assert "target" in shown
    assert "5ms" in shown
    assert "RFC 8289" in shown


def test_version(sojourn: Sojourn) -> None:
    import sojourn as package

    assert sojourn("--version").stdout == f"sojourn {package.__version__}\n"
