"""The picture of the verdict is the same in the terminal, the report and a file of matplotlib."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import sojourn
from sojourn.cli import verdict_bars
from sojourn.picture.chart import Bars, Document
from sojourn.record import legend
from sojourn.record.record_types import VerdictPicture
from support import ROOT, environment
from test_report import data_of

PICTURE = cast(
    VerdictPicture,
    {
        "title": "Peak queueing delay after neck fell from 60 to 20 Mbit/s",
        "caption": "Grey: no sender that fills the link avoids it.",
        "scale_s": 0.3,
        "rows": [
            {
                "control": "bbr",
                "parts": [
                    {"part": "unavoidable", "delay_s": 0.1},
                    {"part": "queue", "delay_s": 0.05},
                    {"part": "late", "delay_s": 0.15},
                ],
                "recovery_s": 2.0,
                "text": "300 ms, 2 s to recover",
            },
            {
                "control": "ideal",
                "parts": [{"part": "unavoidable", "delay_s": 0.1}],
                "recovery_s": None,
                "text": "100 ms, met the bound",
            },
        ],
    },
)


def test_bars_of_blocks_share_one_scale() -> None:
    title, bbr, ideal, key = (line.plain for line in verdict_bars.lines(PICTURE, 100))
    assert title == PICTURE["title"]
    assert bbr == f" bbr   {'░' * 16}{'▒' * 8}{'█' * 24} 300 ms, 2 s to recover"
    assert ideal == f" ideal {'░' * 16} 100 ms, met the bound"
    assert key == " ░ unavoidable   ▒ standing queue   █ late reaction"


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_lines_fit_a_terminal_that_has_room_for_bars(width: int) -> None:
    longest = max(line.cell_len for line in verdict_bars.lines(PICTURE, width))
    assert longest <= max(width, 60)


def test_a_terminal_without_blocks_shows_ascii(small: Path) -> None:
    line = [sys.executable, "-m", "sojourn", "run", str(small), "--no-report"]
    given = environment() | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(line, env=given, cwd=small.parent, capture_output=True, check=True)
    (title, *rows) = re.findall(
        r"^Peak queueing .*|^ (?:cubic|dctcp) +[.:=#x]+ .*", done.stdout.decode("ascii"), re.M
    )
    assert title.startswith("Peak queueing delay")
    assert len(rows) == 2


@pytest.fixture(scope="module")
def drop() -> sojourn.Run:
    return sojourn.run(ROOT / "scenarios" / "capacity-drop.toml", control=["cubic", "bbr"])


def test_the_summary_the_page_and_the_file_have_one_picture(drop: sojourn.Run) -> None:
    picture: Any = drop.summary["picture"]
    assert [row["control"] for row in picture["rows"]] == ["bbr", "cubic"]
    (bound,) = (v for v in drop.summary["verdicts"] if v["controllers"])
    for row in picture["rows"]:
        own = next(one for one in bound["controllers"] if one["control"] == row["control"])
        whole = sum(part["delay_s"] for part in row["parts"])
        # The bar is the spike: floats, added in another order.
        assert whole == pytest.approx(own["spike_s"], rel=1e-12)
    bars = data_of(drop.plot().html)["bars"]
    assert bars["picture"] == json.loads(json.dumps(picture))
    assert bars["colours"] == [legend.INKS[name].colour for name in ("bbr", "cubic")]
    svg = drop.plot().svg
    for row in picture["rows"]:
        assert row["text"] in svg
    assert picture["title"] in svg


def test_a_picture_without_bars_has_no_place_for_them() -> None:
    drawn = sojourn.picture.Chart(Document("x", "", []))
    assert data_of(drawn.html)["bars"] is None
    assert 'id="verdict"' not in drawn.html


def test_narrow_pictures_have_names_above_their_bars() -> None:
    from sojourn.picture import static_verdict

    bars = Bars(PICTURE, ["#d2781e", None])
    narrow, wide = (static_verdict.Place(bars, width) for width in (330, 900))
    assert narrow.is_narrow
    assert not wide.is_narrow
    assert narrow.room > wide.room / 3
    assert narrow.height > wide.height
