"""`sojourn live --view`: the columns of its charts, and the terminal, where live runs work here."""

import codecs
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import sojourn as package
from sojourn.live.column_chart import ASCII, BLOCKS, Chart, rounded_up
from sojourn.live.link_history import LinkHistory
from support import Sojourn, begun_in, command, environment, leave_out_live

LIVE = """
duration = "2s"
controls = ["cubic", "reno"]

[link.first]
delay = "5ms"

[link.narrow]
rate = "10Mbit"
delay = "5ms"
buffer = "40ms"

[link.back]
delay = "10ms"

[flow.upload]
path = ["first", "narrow"]
back = ["back"]
"""


def history(readings: list[tuple[float, float, float | None]]) -> LinkHistory:
    """Return the readings of a link of 10 bit/s: time, bits sent, greatest queueing delay."""
    found = LinkHistory(flows=1, span_s=10.0)
    found.add(
        json.dumps(
            [
                {
                    "t_s": t_s,
                    "sent_bits": bits,
                    "could_send_bits": 10 * t_s,
                    "queue_delay_s": delay_s,
                    "marked_packets": 2,
                    "dropped_packets": 0,
                    "received_bytes": [bits / 8],
                }
                for t_s, bits, delay_s in readings
            ]
        )
    )
    return found


def test_a_column_has_the_rate_and_the_greatest_delay_of_its_time() -> None:
    found = history([(1.5, 6.0, 0.2), (2.0, 8.0, 0.1), (3.5, 8.0, None), (4.0, 13.0, 0.4)])
    columns = found.columns(5)
    assert (columns.start_s, columns.end_s) == (0.0, 10.0)
    # Two seconds each, the last three after the latest reading.
    assert columns.rate_bps == [4.0, 2.5, None, None, None]
    assert columns.goodput_bps == [columns.rate_bps]
    assert columns.capacity_bps == [10.0, 10.0, None, None, None]
    assert columns.queue_delay_s == [0.2, 0.4, None, None, None]
    assert columns.marks[0] == 2
    latest = found.latest()
    assert (latest.t_s, latest.queue_delay_s, latest.marks) == (4.0, 0.4, 2)
    assert latest.rate_bps == pytest.approx(13.0 - 8.0)


def test_columns_move_to_the_left_after_the_span() -> None:
    found = history([(t / 2, 10 * t / 2, None) for t in range(1, 63)])
    columns = found.columns(5)
    assert (columns.start_s, columns.end_s) == (20.0, 30.0)
    assert columns.rate_bps == [10.0] * 5
    assert columns.queue_delay_s == [None] * 5


def test_a_chart_has_eighths_of_rows_and_shows_its_line_above_columns() -> None:
    chart = Chart([0.0, 0.01, 4.0, None, 16.0], 16.0, "cyan", [8.0, 16.0, None, 0.0, 8.0])
    assert [row.plain for row in chart.rows(2, BLOCKS)] == ["──  █", " ▁▄─█"]
    assert [row.plain for row in chart.rows(2, ASCII)] == ["--  #", " .:-#"]


@pytest.mark.parametrize(("value", "top"), [(0.031, 0.05), (0.05, 0.05), (7.0, 10.0), (1.0, 1.0)])
def test_an_axis_ends_at_a_round_value(value: float, top: float) -> None:
    assert rounded_up(value) == pytest.approx(top)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a scenario; skip the tests on a machine without live runs."""
    folder = tmp_path_factory.mktemp("view")
    (folder / "small.toml").write_text(LIVE)
    try:
        package.live(folder / "small.toml", set={"duration": "100ms"})
    except package.LiveError as error:
        leave_out_live(error)
    return folder


class Terminal:
    """A terminal whose output a test reads."""

    def __init__(self, args: list[str], columns: int, rows: int, **variables: str) -> None:
        self._own, terminal = pty.openpty()
        self.shown = ""
        # A character may come in two parts.
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._resize(terminal, columns, rows)

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            args,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            env={**environment(), "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **variables},
            preexec_fn=take_terminal,
        )
        os.close(terminal)

    def resize(self, columns: int, rows: int) -> None:
        self._resize(self._own, columns, rows)

    def _resize(self, of: int, columns: int, rows: int) -> None:
        fcntl.ioctl(of, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, is_shown: Callable[[str], bool]) -> None:
        """Read until the condition holds, or to the end."""
        with suppress(OSError):
            while not is_shown(self.shown) and (part := os.read(self._own, 65_536)):
                self.shown += self._decoder.decode(part)

    def press(self, key: bytes) -> None:
        os.write(self._own, key)

    def end(self) -> int:
        """Read to the end; return the exit status."""
        self.read_until(lambda _: False)
        return self.process.wait(60)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._own)


@contextmanager
def terminal(args: list[str], columns: int, rows: int, **variables: str) -> Iterator[Terminal]:
    opened = Terminal(args, columns, rows, **variables)
    try:
        yield opened
    finally:
        opened.close()


def is_restored(shown: str) -> bool:
    """Whether the alternate screen was left, and the cursor shown, after the last picture."""
    _, _, after = shown.rpartition("queueing delay")
    left = max(after.rfind("\x1b[?1049l"), after.rfind("\x1b[?1047l"))
    return "\x1b[?1049h" in shown and left >= 0 and "\x1b[?25h" in after


def test_the_charts_show_the_bottleneck_of_each_run(place: Path) -> None:
    args = command("live", place / "small.toml", "--view", "--json")
    with terminal(args, 80, 24) as found:
        assert found.process.stdout is not None
        assert found.end() == 0, found.shown
        runs = json.loads(found.process.stdout.read())["runs"]
    assert is_restored(found.shown)
    assert "small.toml, run 1 of 2, cubic, seed 1, link narrow" in found.shown
    assert "run 2 of 2, reno" in found.shown
    for label in ("rate", "queueing delay", "marks", "drops", "upload", "of 10 Mbit/s"):
        assert label in found.shown
    assert "█" in found.shown
    # The view does not take the delays from the series.
    for run in runs:
        (link,) = [one for one in run["links"] if one["name"] == "narrow"]
        assert link["queue_delay_p99_s"] > 0


def test_the_charts_follow_the_size_of_the_terminal(place: Path) -> None:
    args = ("live", place / "small.toml", "--view", "--control", "cubic", "--set", "duration=60s")
    with terminal(command(*args), 40, 24) as found:
        found.read_until(lambda shown: "The charts need" in shown)
        found.resize(120, 30)
        # A whole picture: the next one has begun.
        found.read_until(lambda shown: shown.count("small.toml, ") > 1)
        found.press(b"\x03")
        assert found.end() == 130, found.shown
    first = found.shown.split("small.toml, ")[1]
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", first).splitlines()
    assert len(lines) == 30
    assert {len(line) for line in lines[1:-1]} == {120}


def test_ascii_terminals_get_ascii(place: Path) -> None:
    args = command("live", place / "small.toml", "--view", "--json", "--control", "cubic")
    with terminal(args, 80, 24, PYTHONIOENCODING="ascii") as found:
        assert found.end() == 0, found.shown
    assert "queueing delay" in found.shown
    assert "#" in found.shown
    assert "\\u" not in found.shown
    assert found.shown.isascii()


def test_ctrl_c_restores_the_terminal_and_leaves_nothing(place: Path) -> None:
    args = ("live", place / "small.toml", "--view", "--set", "duration=60s", "--out", place / "cut")
    with terminal(command(*args), 80, 24) as found:
        found.read_until(lambda shown: "upload" in shown)
        found.press(b"\x03")
        assert found.end() == 130, found.shown
    assert is_restored(found.shown)
    assert "sojourn: interrupted; nothing was written" in found.shown
    assert not (place / "cut").exists()


def test_an_error_restores_the_terminal(place: Path) -> None:
    args = command("live", place / "small.toml", "--view", "--control", "cubic,vegas")
    with terminal(args, 80, 24) as found:
        assert found.end() != 0
    shown = found.shown
    assert "has no congestion controller `vegas`" in shown.rpartition("\x1b[?1049l")[2]


def test_a_page_shows_the_charts_while_the_run_goes_on(place: Path) -> None:
    page = place / "target" / "page"
    page.mkdir(parents=True, exist_ok=True)
    for name in ("index.html", "sojourn.wasm"):
        (page / name).write_text('<html lang="en">')
    args = command("live", place / "small.toml", "--page", "--json", "--control", "cubic")
    with begun_in(place, args) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        _, _, address = process.stderr.readline().strip().rpartition(" ")
        now: dict[str, Any] = {}
        while not now or now["latest"]["t_s"] < 0.5:
            assert process.poll() is None
            now = json.load(urlopen(f"{address}now.json"))
            time.sleep(0.05)
        (run,) = json.loads(process.stdout.read())["runs"]
        assert process.wait() == 0
    assert now["name"] == "small.toml, cubic, seed 1, link narrow"
    assert now["flows"] == ["upload"]
    assert max(rate for rate in now["past"]["capacity_bps"] if rate) == pytest.approx(10e6, rel=0.1)
    assert run["duration_s"] == now["duration_s"] == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--view"], "standard error, which is not a terminal"),
        (["--view", "--dry-run", "--bottleneck", "tc"], "--dry-run runs nothing"),
        (["--view", "--page"], "leave out one of them"),
    ],
)
def test_a_view_that_nobody_can_see_is_refused(
    place: Path, sojourn: Sojourn, args: list[str], said: str
) -> None:
    done = sojourn("live", place / "small.toml", *args)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
