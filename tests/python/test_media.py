"""Flows of media: their figures, their frames, and their files."""

from pathlib import Path

import polars as pl
import pytest
import sojourn
from sojourn.record.summary_table import build_all
from support import Sojourn as Command

SCENARIO = """\
duration = "8s"
controls = ["scream", "nada", "gcc"]

[link.down]
rate   = "2Mbit"
delay  = "20ms"
buffer = "200ms"

[link.up]
delay = "20ms"

[flow.video]
path   = ["down"]
back   = ["up"]
source = { kind = "media", max_rate = "3Mbit" }

[flow.voice]
control = "none"
path    = ["down"]

[flow.voice.source]
kind       = "media"
min_rate   = "64kbit"
frame_rate = 50
variation  = 0.0
packet     = "172B"
quality    = "voice"
"""


@pytest.fixture(scope="module")
def run() -> sojourn.Run:
    return sojourn.run(SCENARIO, runs=2)


def test_the_frames_agree_with_the_summary(run: sojourn.Run) -> None:
    assert len(run.runs) == 6
    for one in run.runs:
        for flow in one["flows"]:
            media = flow["media"]
            own = run.frames.filter(
                (pl.col("control") == one["control"])
                & (pl.col("seed") == one["seed"])
                & (pl.col("flow") == flow["name"])
            )
            assert own.height == media["frames"]
            complete = own.drop_nulls("delay_s").filter(pl.col("delay_s").is_not_nan())
            assert complete.height == media["complete_frames"]
            assert complete["delay_s"].mean() == pytest.approx(media["frame_delay_mean_s"])
            least = complete["least_delay_s"].mean()
            assert least == pytest.approx(media["least_frame_delay_mean_s"])
            assert (complete["delay_s"] > complete["least_delay_s"] - 1e-6).all()
            assert own["key"].sum() == media["key_frames"] == 1


def test_voice_has_the_rate_and_the_score_of_g711(run: sojourn.Run) -> None:
    voices = run.table("media").filter(pl.col("flow") == "voice")
    assert voices.height == 6
    assert set(voices["quality_model"]) == {"ITU-T G.107"}
    for row in voices.iter_rows(named=True):
        # 400 frames of 160 bytes.
        assert row["frames"] == 400
        # The flow starts up to a round trip late: 40 ms of 8 s.
        assert row["media_bps"] == pytest.approx(64e3, rel=5e-3)
        assert 1.0 <= row["quality_mos"] <= 4.41


def test_the_table_names_every_flow_of_media(run: sojourn.Run) -> None:
    tables = {table.caption: table for table in build_all(run.summary)}
    frames = next(table for caption, table in tables.items() if caption.startswith("Frames"))
    assert [column.metric.key for column in frames.columns][:3] == [
        "frame_delay_p50_s",
        "frame_delay_p99_s",
        "avoidable_share",
    ]
    assert len(frames.names) == 6


def test_a_run_directory_keeps_the_frames(run: sojourn.Run, tmp_path: Path) -> None:
    place = run.save(tmp_path / "run", report=[], csv=True)
    again = sojourn.load(place)
    assert again.frames.equals(run.frames)
    assert again.table("media").equals(run.table("media"))
    assert len(pl.read_csv(place / "frames.csv")) == len(run.frames)


def test_medians_have_the_frames(run: sojourn.Run) -> None:
    (flow,) = (one for one in run.summary["medians"][0]["flows"] if one["name"] == "video")
    assert flow["media"]["frame_delay_p99_s"]["n"] == 2


def test_the_command_shows_the_frames(sojourn: Command, tmp_path: Path) -> None:
    file = tmp_path / "call.toml"
    file.write_text(SCENARIO)
    done = sojourn("run", file, "--control", "scream", "--no-report")
    assert done.returncode == 0, done.stderr
    for text in ("Frames of media", "p99", "avoidable", "MOS"):
        assert text in done.stdout


def test_controllers_of_media_and_others_do_not_mix() -> None:
    for old, new, message in (
        ('source = { kind = "media", max_rate = "3Mbit" }\n', "", "controls media"),
        ('controls = ["scream", "nada", "gcc"]', 'controls = ["cubic"]', "sets no rate"),
        ('back   = ["up"]\n', "", "needs a path for its reports"),
        ('quality    = "voice"', 'repair     = "key-frame"', "wait forever for a key frame"),
    ):
        with pytest.raises(sojourn.ScenarioError, match=message):
            sojourn.run(SCENARIO.replace(old, new))


def test_a_sweep_has_the_figures_of_frames(run: sojourn.Run, tmp_path: Path) -> None:
    axes = {"link.down.queue": ["droptail", "codel"]}
    found = sojourn.sweep(SCENARIO, axes, tmp_path / "out", control="gcc")
    (own,) = (one for one in run.runs if (one["control"], one["seed"]) == ("gcc", 1))
    (video,) = (flow["media"] for flow in own["flows"] if flow["name"] == "video")
    medians = found.medians(["flows.frame_delay_p99_s", "flows.quality_mos"], ["video"])
    assert medians["flows.frame_delay_p99_s"][0] == video["frame_delay_p99_s"]
    assert medians["flows.quality_mos"][0] == video["quality_mos"]
