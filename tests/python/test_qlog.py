"""`sojourn run --qlog` against its schema, and `sojourn qlog` on files of every form."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import qlog_schema
import sojourn
from jsonschema import Draft202012Validator
from sojourn import qlog
from sojourn.errors import UsageError
from support import Sojourn

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
    names = {f"run-1.{name}.{end}.sqlog" for name in _connections() for end in ("client", "server")}
    assert {file.name for file in files} == names
    header = Draft202012Validator(qlog_schema.HEADER)
    data = {name: Draft202012Validator(one) for name, one in qlog_schema.DATA.items()}
    seen = set()
    for file in files:
        first, *events = [json.loads(text) for text in file.read_text().split("\x1e")[1:]]
        header.validate(first)
        for event in events:
            assert set(event) == {"time", "name", "data"}
            assert event["time"] >= 0
            data[event["name"]].validate(event["data"])
            seen.add(event["name"])
    assert seen == set(qlog_schema.DATA)


def _connections() -> tuple[str, ...]:
    return ("upload", "page", "page-requests")


@pytest.mark.parametrize("host", ["rfc", "quic"])
def test_a_run_comes_back_as_it_was(tmp_path: Path, host: str) -> None:
    run, folder = exported(tmp_path, "reno", host)
    # The comparison matches controllers by name, and the run's flows have two controllers.
    back, damages = qlog.read(folder / "run-1.upload.server.sqlog", "reno", 0.1)
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
    client, _ = qlog.read(folder / "run-1.upload.client.sqlog")
    assert client.flow("upload").summary["goodput_bps"] == pytest.approx(
        truth["goodput_bps"], rel=0.03
    )


def packets(sent: str, received: str, metrics: str, lost: str) -> list[tuple[float, str, Any]]:
    """Events of three packets, in ms: the second packet is lost and sent again."""

    def stream(number: int, offset: int, kind: str = "1RTT") -> dict[str, Any]:
        frame = {"frame_type": "stream", "stream_id": "0", "offset": offset, "length": 1000}
        return {"header": {"packet_type": kind, "packet_number": number}, "frames": [frame]}

    def ack(number: int, *ranges: list[int]) -> dict[str, Any]:
        frame = {"frame_type": "ack", "acked_ranges": list(ranges), "ce": 1}
        return {"header": {"packet_type": "1RTT", "packet_number": number}, "frames": [frame]}

    return [
        (10.0, sent, stream(0, 0)),
        (11.0, sent, stream(1, 1000)),
        (12.0, sent, stream(2, 2000)),
        (50.0, received, ack(0, [0], [2, 2])),
        (50.5, metrics, {"smoothed_rtt": 40.0, "congestion_window": 14000, "bytes_in_flight": 0}),
        (51.0, lost, {"header": {"packet_type": "1RTT", "packet_number": 1}}),
        (52.0, sent, stream(3, 1000)),
        (92.0, received, ack(1, [0, 3])),
    ]


NEW = ("quic:packet_sent", "quic:packet_received", "quic:recovery_metrics_updated")
OLD = ("transport:packet_sent", "transport:packet_received", "recovery:metrics_updated")


def today() -> str:
    head = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"event_schemas": []}}
    events = [
        {"time": at, "name": name, "data": data}
        for at, name, data in packets(*NEW, "quic:packet_lost")
    ]
    return "".join(f"\x1e{json.dumps(one)}\n" for one in [head, *events])


def lines() -> str:
    head = {"qlog_version": "0.3", "qlog_format": "NDJSON", "trace": {"common_fields": {}}}
    events = [
        {"time": at, "name": name, "data": data}
        for at, name, data in packets(*OLD, "recovery:packet_lost")
    ]
    return "".join(f"{json.dumps(one)}\n" for one in [head, *events])


def deltas() -> str:
    """Return the same with `time_format` delta, declared after the events."""
    events, before = [], 0.0
    for at, name, data in packets(*OLD, "recovery:packet_lost"):
        events.append({"time": at - before, "name": name, "data": data})
        before = at
    trace = {"events": events, "common_fields": {"time_format": "delta"}}
    return json.dumps({"qlog_version": "0.3", "traces": [trace]}, indent=1)


def calendar() -> str:
    events = [
        {"time": 1_700_000_000_000.0 + at, "name": name, "data": data}
        for at, name, data in packets(*OLD, "recovery:packet_lost")
    ]
    return json.dumps({"qlog_version": "0.4", "traces": [{"events": events}]})


def tuples() -> str:
    """draft-01: events as lists, times in microseconds, numbers as text."""
    events = []
    for at, name, data in packets(*OLD, "recovery:packet_lost"):
        category, _, event = name.partition(":")
        for key in ("smoothed_rtt",):
            if key in data:
                data[key] *= 1000
        if "header" in data:
            data["header"]["packet_number"] = str(data["header"]["packet_number"])
            data["packet_type"] = data["header"].pop("packet_type")
        for frame in data.get("frames", ()):
            if "stream_id" in frame:
                frame["id"] = frame.pop("stream_id")
        events.append([int(at * 1000), category.upper(), event.upper(), data])
    trace = {
        "vantage_point": {"type": "server"},
        "configuration": {"time_units": "us"},
        "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"],
        "events": events,
    }
    return json.dumps({"qlog_version": "draft-01", "traces": [trace]})


FORMS = {form.__name__: form for form in (today, lines, deltas, calendar, tuples)}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(tmp_path: Path, form: str) -> None:
    file = tmp_path / "it.qlog"
    file.write_text(FORMS[form]())
    run, damages = qlog.read(file)
    assert damages == []
    flow = run.runs[0]["flows"][0]
    assert (flow["sent_packets"], flow["retransmitted_packets"], flow["marked_packets"]) == (
        4,
        1,
        1,
    )
    assert flow["rtt_min_s"] == pytest.approx(0.038, abs=1e-6)
    assert flow["rtt_max_s"] == pytest.approx(0.040, abs=1e-6)
    last = run.flows.row(-1, named=True)
    assert (last["delivered_bytes"], last["lost_packets"]) == (3000, 1)
    assert (last["srtt_s"], last["cwnd_bytes"]) == (pytest.approx(0.04), 14000)
    assert last["t_s"] < 0.2


def attempt(file: Path) -> tuple[sojourn.Run, list[qlog.Damage]] | None:
    """Read a file; return None if it is refused by name."""
    try:
        return qlog.read(file)
    except UsageError as error:
        message = str(error)
    assert str(file) in message
    return None


# A step that is prime meets each part of a record.
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("form", ["today", "lines", "tuples"])
def test_a_file_that_is_cut_anywhere_says_where(tmp_path: Path, form: str, step: int) -> None:
    text, file = FORMS[form](), tmp_path / "it.qlog"
    before = 0
    for end in range(0, len(text), step):
        file.write_text(text[:end])
        found = attempt(file)
        if found is None:
            continue
        run, damages = found
        events = sum(one.events for one in damages) if damages else None
        assert run.runs[0]["flows"]
        if events is not None:
            assert damages[0].at_byte <= end
            assert events >= before - 1
            before = events


@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_faults_anywhere_never_breaks_the_reader(tmp_path: Path, form: str) -> None:
    text, file, draws = FORMS[form]().encode(), tmp_path / "it.qlog", random.Random(1)
    parts = [b"null", b"-1", b"1e999", b"[[", b"}", b'"', b"\xff", b"NaN", b"9" * 5000, b"\x1e"]
    parts += [b"[0,18446744073709551615]", b"[" * 100_000, b"{}", b"true", b'"\\ud800"']
    for _ in range(300):
        at = draws.randrange(len(text))
        changed = text[:at] + draws.choice(parts) + text[at + draws.randrange(12) :]
        file.write_bytes(changed)
        found = attempt(file)
        assert found is None or found[0].flows.height > 0


def test_the_command_says_what_is_damaged_and_shows_the_rest(
    sojourn: Sojourn, tmp_path: Path
) -> None:
    file = tmp_path / "cut.sqlog"
    file.write_text(today()[:-20])
    done = sojourn("qlog", file, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["runs"][0]["flows"][0]["sent_packets"] == 4
    assert "byte" in done.stderr
    assert "7 events before it could be read" in done.stderr
    file.write_text("{}")
    done = sojourn("qlog", file, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "it has no `traces`" in done.stderr


def test_it_becomes_a_run_directory_and_a_figure(sojourn: Sojourn, tmp_path: Path) -> None:
    file = tmp_path / "it.sqlog"
    file.write_text(today())
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
    header, event, *_ = (folder / "run-1.upload.server.sqlog").read_text().split("\x1e")[1:]
    short = tmp_path / "short.sqlog"
    short.write_text(f"\x1e{header}\x1e{event}")
    done = sojourn("qlog", short, "--plot", tmp_path / "short.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "short.svg").read_text().startswith("<svg")


def test_brackets_in_names_are_text(sojourn: Sojourn, tmp_path: Path) -> None:
    _, folder = exported(tmp_path, "cubic", "quic")
    text = (folder / "run-1.upload.server.sqlog").read_text()
    files = [tmp_path / "[link=x].sqlog", tmp_path / "second.sqlog"]
    for file, title in zip(files, ("[/x]", "[bold]"), strict=True):
        first, rest = text[1:].split("\x1e", 1)
        header = json.loads(first)
        header["title"] = header["trace"]["title"] = title
        file.write_text("\x1e" + json.dumps(header) + "\n\x1e" + rest)
    done = sojourn("qlog", *files)
    assert done.returncode == 0, done.stderr
