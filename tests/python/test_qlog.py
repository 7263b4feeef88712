"""`sojourn run --qlog` against its schema, and `sojourn qlog` on these and other files."""

import gzip
import json
from pathlib import Path

import pytest
import qlog_schema
import sojourn
from sojourn import qlog
from support import ROOT, Sojourn

SCENARIO = """\
duration = "3s"

[link.bottleneck]
rate  = "5Mbit"
delay = "10ms"
loss  = 0.005
queue = {{ kind = "codel", ecn = true }}

[link.back]
delay = "15ms"

[flow.upload]
control   = "{control}"
path      = ["bottleneck"]
back      = ["back"]
host = "{host}"

[flow.page]
control = "reno"
path    = ["bottleneck"]
back    = ["back"]
source  = {{ kind = "request", request = "300B", response = "20kB", think = "100ms", count = 5 }}
"""


def exported(tmp_path: Path, control: str, host: str) -> tuple[sojourn.Run, Path]:
    source = tmp_path / "it.toml"
    source.write_text(SCENARIO.format(control=control, host=host))
    run = sojourn.run(source, qlog=tmp_path / "events")
    return run, tmp_path / "events"


@pytest.mark.parametrize(("control", "host"), [("cubic", "rfc"), ("prague", "quic")])
def test_every_line_keeps_to_the_schema(tmp_path: Path, control: str, host: str) -> None:
    _, folder = exported(tmp_path, control, host)
    files = sorted(folder.iterdir())
    names = {
        f"run-1.{name}.{end}.sqlog" for name in _connections() for end in ("receiver", "sender")
    }
    assert {file.name for file in files} == names
    assert qlog_schema.require(*files) == set(qlog_schema.DATA)


def _connections() -> tuple[str, ...]:
    return ("upload", "page", "page-requests")


@pytest.mark.parametrize("host", ["rfc", "quic"])
def test_a_run_comes_back_as_it_was(tmp_path: Path, host: str) -> None:
    run, folder = exported(tmp_path, "reno", host)
    # The comparison matches controllers by name, and the run's flows have two controllers.
    back, damages = qlog.read(folder / "run-1.upload.sender.sqlog", "reno", 0.1)
    truth, found = run.flow("upload").summary, back.flow("upload").summary
    assert damages == []
    for key in ("sent_packets", "retransmitted_packets", "marked_packets"):
        assert found[key] == truth[key]
    # The run's percentiles come from a histogram with a resolution of 0.2 %. One sample more or
    # less among a few hundred affects the upper percentiles.
    assert found["rtt_min_s"] == pytest.approx(truth["rtt_min_s"], rel=0.003)
    assert found["rtt_p50_s"] == pytest.approx(truth["rtt_p50_s"], rel=0.01)
    assert found["rtt_max_s"] == pytest.approx(truth["rtt_max_s"], rel=0.003)
    assert found["rtt_mean_s"] == pytest.approx(truth["rtt_mean_s"], rel=0.003)
    # The sender's delivered bytes are those it knows of, and its time ends with its last event.
    assert found["goodput_bps"] == pytest.approx(truth["goodput_bps"], rel=0.03)
    window = sojourn.compare(run, back).summary["flows"][0]["window"]
    assert window is not None
    assert window["correlation"] == pytest.approx(1, abs=0.01)
    receiver, _ = qlog.read(folder / "run-1.upload.receiver.sqlog")
    assert receiver.flow("upload").summary["goodput_bps"] == pytest.approx(
        truth["goodput_bps"], rel=0.03
    )


FILES = ROOT / "tests/qlog"


@pytest.mark.parametrize(
    ("name", "flows"),
    [
        ("crypto-levels", {"crypto-levels": (0, 30)}),
        ("datagrams", {"datagrams": (0, 20)}),
        ("two-paths", {"two-paths, path 0": (0, 200), "two-paths, path 1": (0, 50)}),
    ],
)
def test_retransmissions_and_rtts_in_ms(
    sojourn: Sojourn, name: str, flows: dict[str, tuple[int, int]]
) -> None:
    done = sojourn("qlog", FILES / f"{name}.sqlog", "--json")
    assert done.returncode == 0, done.stderr
    found = {
        flow["name"]: (flow["retransmitted_packets"], round(flow["rtt_p50_s"] * 1e3))
        for flow in json.loads(done.stdout)["runs"][0]["flows"]
    }
    assert found == flows


def test_a_packed_file_is_the_same(tmp_path: Path) -> None:
    file = FILES / "datagrams.sqlog"
    packed = tmp_path / "datagrams.sqlog.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    both, _ = qlog.read([file, packed])
    names = [flow.pop("name") for flow in map(dict, both.runs[0]["flows"])]
    assert names == ["datagrams (client) 1", "datagrams (client) 2"]
    same, _ = qlog.read(packed)
    assert same.summary == qlog.read(file)[0].summary


def test_the_command_says_what_is_damaged_and_shows_the_rest(
    sojourn: Sojourn, tmp_path: Path
) -> None:
    file = tmp_path / "cut.sqlog"
    text = (FILES / "datagrams.sqlog").read_text()
    file.write_text(text[:-20])
    done = sojourn("qlog", file, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["runs"][0]["flows"][0]["sent_packets"] == 3
    at = f"{file}: byte {len(text) - 20} (line 5): not JSON"
    assert at in done.stderr
    assert "3 events before it could be read" in done.stderr
    file.write_text("{}")
    done = sojourn("qlog", file, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "it has no `traces`" in done.stderr


def test_it_becomes_a_run_directory_and_a_figure(sojourn: Sojourn, tmp_path: Path) -> None:
    file = FILES / "two-paths.sqlog"
    done = sojourn("qlog", file, "--out", "kept", "--control", "mine")
    assert done.returncode == 0, done.stderr
    assert "Run directory: kept" in done.stdout
    done = sojourn("qlog", file, "--plot", "it.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "it.svg").read_text().startswith("<svg")
    kept = tmp_path / "kept"
    assert json.loads((kept / "summary.json").read_text())["runs"][0]["control"] == "mine"


def test_a_file_of_one_event_can_be_drawn(sojourn: Sojourn, tmp_path: Path) -> None:
    _, folder = exported(tmp_path, "cubic", "quic")
    header, event, *_ = (folder / "run-1.upload.sender.sqlog").read_text().split("\x1e")[1:]
    short = tmp_path / "short.sqlog"
    short.write_text(f"\x1e{header}\x1e{event}")
    done = sojourn("qlog", short, "--plot", tmp_path / "short.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "short.svg").read_text().startswith("<svg")


def test_brackets_in_names_are_text(sojourn: Sojourn, tmp_path: Path) -> None:
    _, folder = exported(tmp_path, "cubic", "quic")
    text = (folder / "run-1.upload.sender.sqlog").read_text()
    files = [tmp_path / "[link=x].sqlog", tmp_path / "second.sqlog"]
    for file, title in zip(files, ("[/x]", "[bold]"), strict=True):
        first, rest = text[1:].split("\x1e", 1)
        header = json.loads(first)
        header["title"] = header["trace"]["title"] = title
        file.write_text("\x1e" + json.dumps(header) + "\n\x1e" + rest)
    done = sojourn("qlog", *files)
    assert done.returncode == 0, done.stderr


def test_values_that_cannot_be(tmp_path: Path) -> None:
    wrong = ("1e300", "1" + 400 * "0", "NaN", "Infinity", "-1", "null", '"x"', "[]", "1e17")
    lines = [
        f'{{"time":{time},"name":"metrics_updated","data":{{"latest_rtt":{value},"cwnd":{value},'
        f'"bytes_in_flight":{value},"ssthresh":{value}}}}}\n'
        for time in wrong
        for value in wrong
    ]
    # More bytes in total than 64 bits hold, with each packet below the limit of one value.
    lines += [
        '{"time":1,"name":"packet_sent","data":{"frames":[{"frame_type":"stream","stream_id":'
        f'{stream},"length":900000000000000000}}]}}}}\n'
        for stream in range(40)
    ]
    (tmp_path / "x.qlog").write_text('{"trace":{}}\n' + "".join(lines))
    run, damages = qlog.read(tmp_path / "x.qlog")
    assert not damages
    assert run.flow("x").series.height > 0
