"""`sojourn view` serves the page and run directories, and nothing else."""

import base64
import gzip
import json
import shutil
import socket
import struct
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

import polars as pl
import pytest
import sojourn
from sojourn.cli import main, view
from sojourn.cli.page.items import content, found, listed
from sojourn.cli.page.server import PageServer
from sojourn.cli.page.sweep import scenario_of
from sojourn.errors import UsageError
from sojourn.picture import simulator_page
from sojourn.picture.page_record import to_json
from sojourn.picture.simulator_page import page_folder
from sojourn.run import results
from support import SMALL

CAPTURES = Path(__file__).parents[1] / "captures"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    folder = tmp_path_factory.mktemp("view")
    page, runs = folder / "page", folder / "runs"
    page.mkdir()
    (page / "index.html").write_text('<html lang="en">')
    (page / "sojourn.wasm").write_bytes(b"\0asm")
    (folder / "secret.txt").write_text("secret")
    runs.mkdir()
    sojourn.run(SMALL).save(runs / "small", report=())
    (runs / "broken").mkdir()
    (runs / "broken" / "summary.json").write_text("{}")
    capture = CAPTURES / "timestamps.pcapng"
    (runs / "upload.pcapng.gz").write_bytes(gzip.compress(capture.read_bytes()))
    with PageServer(page, [runs], results.read) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def get(server: PageServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def fetched(server: PageServer, name: str) -> Any:
    status, content = get(server, f"/{server.token}/{name}")
    assert status == 200, content
    return json.loads(content)


def test_the_page_and_its_runs_are_served(server: PageServer) -> None:
    status, content = get(server, f"/{server.token}/")
    assert (status, content) == (200, b'<html data-runs lang="en">')
    broken, small, capture = fetched(server, "items.json")["items"]
    assert (capture["kind"], capture["name"]) == ("capture", "upload.pcapng.gz")
    assert (broken["name"], broken["controls"]) == ("broken", [])
    assert (small["name"], small["controls"]) == ("small", ["cubic", "dctcp"])
    run = fetched(server, f"item-{small['key']}.json")
    assert [one["control"] for one in run["runs"]] == ["cubic", "dctcp"]
    assert run["flows"][1]["names"] == ["upload"]
    # The link back has no limit, and so no queue.
    assert run["links"][0]["names"] == ["bottleneck"]
    times, delays = (run["links"][0]["columns"][name] for name in ("t_s", "queue_delay_s"))
    assert len(times) == len(delays) == 600
    assert (
        max(delay for delay in delays if delay) == run["runs"][0]["links"][0]["queue_delay_max_s"]
    )
    assert sojourn.Scenario.parse(run["scenario"])["title"] == "A small drop"


def test_a_capture_is_served_with_its_round_trip_times(server: PageServer) -> None:
    key = fetched(server, "items.json")["items"][2]["key"]
    capture = fetched(server, f"item-{key}.json")
    assert capture["error"] is None
    direction = capture["flows"][0]["directions"][0]
    assert len(direction["series"]) > 1
    assert min(rtt for _, rtt, _ in direction["series"]) == direction["min_s"]


def test_a_run_that_cannot_be_read_gives_its_reason(server: PageServer) -> None:
    key = fetched(server, "items.json")["items"][0]["key"]
    status, content = get(server, f"/{server.token}/item-{key}.json")
    assert status == 422
    assert "summary.json" in json.loads(content)["error"]


def test_runs_of_equal_names_are_told_apart(
    server: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = server.given[0] / "small", tmp_path / "small"
    shutil.copytree(run, other)
    items = found([run, other, run])
    assert [item.path for item in items] == [run, other]
    names = [entry["name"] for entry in listed(items)["items"]]
    assert names == [str(run.resolve()), str(other.resolve())]
    monkeypatch.chdir(other)
    (entry,) = listed(found([Path()]))["items"]
    assert (entry["name"], entry["key"]) == ("small", items[1].key)
    assert listed(items * 300)["left_out"] == 100


def test_incomplete_records(server: PageServer, tmp_path: Path) -> None:
    shutil.copytree(server.given[0] / "small", tmp_path / "small")
    (tmp_path / "small" / "links.parquet").unlink()
    (item,) = found([tmp_path / "small"])
    run = json.loads(content(item, results.read))
    assert run["links"][0]["names"] == []
    assert len(run["flows"][0]["columns"]["t_s"]) == 600


def test_a_number_that_json_has_not_gives_a_reason(server: PageServer) -> None:
    record = results.read(server.given[0] / "small")
    flows = record.flows
    for value in ("inf", "-inf"):
        record.flows = flows.with_columns(rtt_s=pl.lit(float(value)))
        with pytest.raises(UsageError, match="not a number"):
            to_json(record)
    record.flows = flows.with_columns(rtt_s=pl.lit(float("nan")))
    assert set(json.loads(to_json(record))["flows"][0]["columns"]["rtt_s"]) == {None}


def test_samples_keep_their_digits(server: PageServer) -> None:
    record = results.read(server.given[0] / "small")
    run = json.loads(to_json(record))
    own = record.flows.filter(pl.col("control") == "dctcp")
    for name in ("t_s", "goodput_bps", "cwnd_bytes", "rtt_s"):
        assert run["flows"][1]["columns"][name] == own[name].to_list()


def test_only_the_samples_of_the_first_seed_count(server: PageServer) -> None:
    record = results.read(server.given[0] / "small")
    rows = len(record.flows) + len(record.links)
    for name in ("flows", "links"):
        frame = getattr(record, name)
        setattr(record, name, frame.vstack(frame.with_columns(seed=frame["seed"] + 1)))
    assert len(json.loads(to_json(record, rows))["runs"]) == 2
    with pytest.raises(UsageError, match="too many"):
        to_json(record, 1800)


def test_the_browser_is_given_a_private_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def look(address: str) -> None:
        file = Path(url2pathname(address.removeprefix("file://")))
        opened.append((file, file.stat().st_mode & 0o777, file.read_text()))

    monkeypatch.setattr("webbrowser.open", look)
    with view._opened("http://127.0.0.1:1/secret/"):
        ((file, mode, text),) = opened
    assert "secret" not in str(file)
    assert (mode, file.exists()) == (0o600, False)
    assert "url=http://127.0.0.1:1/secret/" in text


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/items.json", "/wrong/", "/wrong/items.json"),
        *("/TOKEN/../secret.txt", "/TOKEN/..%2fsecret.txt", "/TOKEN//etc/passwd"),
        *("/TOKEN/item-9.json", "/TOKEN/item--1.json", "/TOKEN/item-x.json", "/TOKEN/a/b"),
    ],
)
def test_other_paths_are_unknown(server: PageServer, path: str) -> None:
    status, content = get(server, path.replace("TOKEN", server.token))
    assert status == 404
    assert b"secret" not in content


def test_other_hosts_and_methods_are_refused(server: PageServer) -> None:
    page = f"/{server.token}/"
    assert get(server, page, Host="evil.example")[0] == 403
    for method in ("POST", "PUT", "DELETE"):
        assert get(server, page, method)[0] == 501


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the dataset of a sweep, with a variable `share` beside the keys."""
    folder = tmp_path_factory.mktemp("sweeps")
    axes: dict[str, list[object]] = {
        "link.bottleneck.queue": ["droptail", {"kind": "codel", "ecn": True}],
        "share": [1, 2],
    }
    sojourn.sweep(
        SMALL,
        axes,
        folder / "queues",
        let={"link.bottleneck.buffer": "share * 30kB"},
        set={"duration": "4s"},
        runs=2,
    )
    return folder


def test_a_sweep_is_served_with_the_scenarios_of_its_points(swept: Path) -> None:
    (item,) = found([swept])
    sweep = json.loads(content(item, results.read))
    names = {axis["name"]: axis["values"] for axis in sweep["axes"]}
    assert names["share"] == ["1", "2"]
    assert names["control"] == ["cubic", "dctcp"]
    assert len(sweep["points"]) == 8
    # The medians are those of the dataset.
    dataset = sojourn.Dataset(swept / "queues")
    goodput = [figure["title"] for figure in sweep["figures"]].index("goodput (Mbit/s)")
    axes = ["queue", "share", "control"]
    medians = dataset.flows.group_by(axes).agg(pl.col("goodput_bps").median() / 1e6)
    for point in sweep["points"]:
        own = dataset.points.filter(pl.col("run") == point["run"]).join(medians, on=axes)
        assert point["values"][goodput] == pytest.approx(own["goodput_bps"][0])
    last = sweep["points"][-1]
    scenario = json.loads(scenario_of(swept / "queues", last["run"]))["scenario"]
    bottleneck = sojourn.Scenario.parse(scenario)["link"]["bottleneck"]
    assert bottleneck["queue"] == {"kind": "codel", "ecn": True}
    assert bottleneck["buffer"] == "60kB"
    with pytest.raises(FileNotFoundError):
        scenario_of(swept / "queues", "0123")
    entries = listed([item])["items"]
    assert (entries[0]["kind"], entries[0]["name"]) == ("sweep", "queues")
    (swept / "queues" / "runs" / "later.parquet").write_bytes(b"")
    assert listed([item])["items"][0]["changed"] > entries[0]["changed"]
    (swept / "queues" / "runs" / "later.parquet").unlink()


def test_points_with_scenarios_of_their_own_run_them(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    line = "matrix --controls cubic --queues droptail,codel --rtts 10ms --duration 1s --dataset"
    assert main([*line.split(), str(folder)]) == 0
    points = json.loads(content(found([folder])[0], results.read))["points"]
    assert len(points) >= 2
    for point in points:
        scenario = sojourn.Scenario.parse(json.loads(scenario_of(folder, point["run"]))["scenario"])
        queue, _, beside, _ = point["at"]
        assert scenario["link"]["bottleneck"]["queue"]["kind"] == ("droptail", "codel")[queue]
        assert len(scenario["flow"]) == 1 + beside
    (folder / "scenarios.parquet").unlink()
    with pytest.raises(UsageError, match="scenarios of their own"):
        scenario_of(folder, points[0]["run"])


def test_faults_of_a_sweep_give_their_reasons(
    server: PageServer, swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(swept / "queues", tmp_path / "queues")
    (item,) = found([tmp_path / "queues"])
    run = sojourn.Dataset(item.path).points["run"][0]
    (item.path / "scenario.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="scenario of this point cannot be read"):
        scenario_of(item.path, run)
    monkeypatch.setattr(server, "given", [item.path])
    (item.path / "points.parquet").write_bytes(b"none")
    status, answer = get(server, f"/{server.token}/item-{item.key}.json")
    assert status == 422
    assert "points.parquet: not a Parquet file" in json.loads(answer)["error"]


def test_only_runs_of_sweeps_have_scenarios(server: PageServer, swept: Path) -> None:
    broken, small, capture = fetched(server, "items.json")["items"]
    for key in (broken["key"], small["key"], capture["key"]):
        assert get(server, f"/{server.token}/item-{key}-0123.json")[0] == 404
    with PageServer(server.page, [swept], results.read) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        (item,) = fetched(made, "items.json")["items"]
        point = fetched(made, f"item-{item['key']}.json")["points"][0]
        served = fetched(made, f"item-{item['key']}-{point['run']}.json")
        assert 'duration = "4s"' in served["scenario"]
        for name in ("0123", "..", f"{point['run']}-1"):
            assert get(made, f"/{made.token}/item-{item['key']}-{name}.json")[0] == 404
        made.shutdown()


EMPTY = '<script type="text/plain" id="sojourn-record"></script>'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a built page, which the package has."""
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "sojourn.wasm").write_bytes(b"\0asm")
    (folder / "live.html.gz").write_bytes(gzip.compress(f"<body>{EMPTY}</body>".encode()))
    monkeypatch.setattr(simulator_page, "own_folder", lambda: folder)
    return folder


def packed_in(text: str, element: str) -> bytes:
    """Return the packed content of an element of a page."""
    _, _, rest = text.partition(f'id="{element}">')
    return gzip.decompress(base64.b64decode(rest.partition("</script>")[0]))


@pytest.mark.usefixtures("built")
def test_a_saved_page_holds_its_run(server: PageServer, tmp_path: Path) -> None:
    run, saved = server.given[0] / "small", tmp_path / "saved.html"
    assert main(["view", str(run), "--save", str(saved)]) == 0
    runs = json.loads(packed_in(saved.read_text(), "sojourn-record"))["runs"]
    assert [one["control"] for one in runs] == ["cubic", "dctcp"]
    assert main(["view", str(run), "--save", str(saved)]) == 2
    assert main(["view", str(run.parent), "--save", str(tmp_path / "other.html")]) == 2


def test_reports_are_live_if_the_package_has_the_page(
    server: PageServer, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(server.given[0] / "small", run)

    def report(*options: str) -> str:
        assert main(["report", str(run), *options]) == 0
        return (run / "report.html").read_text()

    live = report()
    assert packed_in(live, "live-page").decode() == f"<body>{EMPTY}</body>"
    assert json.loads(packed_in(live, "live-record"))["title"] == "A small drop"
    assert report("--live") == live
    alone = report("--no-live")
    assert 'id="live' not in alone
    assert len(live) < len(alone) + 100_000
    # A package without the page writes the report alone, unless it is asked for the simulator.
    monkeypatch.setattr(simulator_page, "own_folder", lambda: None)
    assert report() == alone
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run), "--live"]) == 2
    assert built.is_dir()


def test_runs_and_saved_records_have_live_reports(built: Path, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    assert main(["run", str(file), "--out", str(tmp_path / "run")]) == 0
    assert 'id="live-record"' in (tmp_path / "run" / "report.html").read_text()
    assert main(["run", str(file), "--out", str(tmp_path / "alone"), "--no-live"]) == 0
    assert 'id="live-record"' not in (tmp_path / "alone" / "report.html").read_text()
    folder = sojourn.run(SMALL).save(tmp_path / "saved")
    assert 'id="live-record"' in (folder / "report.html").read_text()
    # A notebook's output would grow by a megabyte.
    assert 'id="live-record"' not in sojourn.load(folder).plot().html
    assert built.is_dir()


def test_records_that_the_page_cannot_simulate_have_no_live_reports(
    server: PageServer, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = results.read(server.given[0] / "small")
    assert simulator_page.of(record, built) is not None
    monkeypatch.setattr(simulator_page, "_MOST_ROWS", 3)
    assert simulator_page.of(record, built) is None
    monkeypatch.undo()
    record.scenario = ""
    assert simulator_page.of(record, built) is None


@pytest.mark.usefixtures("built")
def test_a_record_that_the_page_cannot_show_keeps_its_report(
    server: PageServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(server.given[0] / "small", run)
    flows = pl.read_parquet(run / "flows.parquet")
    for fault, reason in (
        (flows.vstack(flows[-1:]), "at equal times"),
        (flows.with_columns(rtt_s=pl.lit(float("inf"))), "infinite"),
    ):
        fault.write_parquet(run / "flows.parquet")
        (run / "report.html").unlink(missing_ok=True)
        assert main(["report", str(run)]) == 0
        assert "simulator" not in capsys.readouterr().err
        assert 'id="live-record"' not in (run / "report.html").read_text()
        # Only a command that asks for the simulator has to give the reason.
        assert main(["report", str(run), "--live"]) == 1
        assert (run / "report.html").is_file()
        said = capsys.readouterr().err
        assert "report.html is without the simulator" in said
        assert reason in said


def test_missing_folders_and_pages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="is no run directory and contains none"):
        found([tmp_path])
    with pytest.raises(UsageError, match="does not exist"):
        found([tmp_path / "absent"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(simulator_page, "__file__", str(tmp_path / "picture" / "module.py"))
    with pytest.raises(UsageError, match="make page"):
        page_folder()


@pytest.mark.parametrize(
    "line",
    ["GET http://[ HTTP/1.1", "GET http://[/x HTTP/1.1", "GET * HTTP/1.1", "GET ?# HTTP/1.0"],
)
def test_malformed_addresses_have_an_answer(
    server: PageServer, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        host = f"127.0.0.1:{server.server_port}"
        client.sendall(f"{line}\r\nHost: {host}\r\n\r\n".encode())
        assert client.recv(100).split()[1] == b"404"
    assert capsys.readouterr().err == ""


def answer(server: PageServer, sent: bytes) -> bytes:
    """Send bytes, and return the first line of the answer."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        return client.makefile("rb").readline()


REQUESTS = {
    "another host": ("GET /TOKEN/ HTTP/1.1\r\nHost: evil.example:PORT\r\n\r\n", 403),
    "another port": ("GET /TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 403),
    "no host": ("GET /TOKEN/ HTTP/1.1\r\n\r\n", 403),
    "two hosts": ("GET /TOKEN/ HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n\r\n", 403),
    "a host of the address": ("GET http://evil.example/TOKEN/ HTTP/1.1\r\n\r\n", 403),
    "another origin": (
        "GET /TOKEN/items.json HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\n\r\n",
        403,
    ),
    "no origin": ("GET /TOKEN/now.json HTTP/1.1\r\nHost: HOST\r\nOrigin: null\r\n\r\n", 403),
    "its own origin": ("GET /TOKEN/ HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\n\r\n", 200),
    "a preflight": ("OPTIONS /TOKEN/ HTTP/1.1\r\nHost: HOST\r\n\r\n", 501),
    "a tunnel": ("CONNECT evil.example:443 HTTP/1.1\r\nHost: HOST\r\n\r\n", 501),
    "a whole address": ("GET http://HOST/TOKEN/ HTTP/1.1\r\nHost: HOST\r\n\r\n", 200),
    "a path out": ("GET /TOKEN/../../etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
    "a path in bytes": ("GET /TOKEN/\xff\x00 HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
    "a token in bytes": ("GET /\xff\xfe/ HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
    "a long line": (f"GET /{'a' * 200_000} HTTP/1.1\r\nHost: HOST\r\n\r\n", 414),
    "a long header": (f"GET /TOKEN/ HTTP/1.1\r\nHost: HOST\r\nA: {'a' * 200_000}\r\n\r\n", 431),
    "long headers": (
        "GET /TOKEN/ HTTP/1.1\r\nHost: HOST\r\n" + f"A: {'a' * 60_000}\r\n" * 9 + "\r\n",
        431,
    ),
    "many headers": ("GET /TOKEN/ HTTP/1.1\r\nHost: HOST\r\n" + "A: b\r\n" * 200 + "\r\n", 431),
    "a long version": (f"GET / HTTP/1.{'9' * 10_000}\r\nHost: HOST\r\n\r\n", 400),
    "no HTTP": ("\x16\x03\x01\x02\x00\x01\xfc\x03 hello there\r\n\r\n", 400),
    "another version": ("GET /TOKEN/ HTTP/2.0\r\nHost: HOST\r\n\r\n", 505),
    "a WebSocket": (
        "GET /TOKEN/ HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n",
        200,
    ),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_hostile_requests_have_a_status(
    server: PageServer, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, status = REQUESTS[kind]
    for word, own in (("TOKEN", server.token), ("HOST", f"127.0.0.1:{server.server_port}")):
        text = text.replace(word, own)
    text = text.replace("PORT", str(server.server_port))
    assert answer(server, text.encode("iso-8859-1")).split()[1:2] == [str(status).encode()]
    assert get(server, f"/{server.token}/")[0] == 200
    assert capsys.readouterr().err == ""


def test_other_origins_are_allowed_nothing(server: PageServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", f"/{server.token}/items.json")
    headers = connection.getresponse().headers
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def connections() -> int:
    return sum("process_request_thread" in one.name for one in threading.enumerate())


def test_connections_that_send_little_are_few(
    server: PageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 1,000 that wait for the rest of a request, the oldest end, and the page is served."""
    clients = []
    try:
        for number in range(1000):
            client = socket.create_connection(("127.0.0.1", server.server_port), timeout=20)
            clients.append(client)
            client.sendall(b"GET / HTTP/1.1\r\nHost: " * (number % 2))
            if number % 100 == 99:
                assert get(server, f"/{server.token}/")[0] == 200
                assert connections() <= 32
    finally:
        for client in clients:
            client.close()
    assert get(server, f"/{server.token}/")[0] == 200
    assert capsys.readouterr().err == ""


def test_a_client_that_has_gone_is_no_fault(
    server: PageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Closing with data unread and no time to linger sends a reset, before or after the request."""
    request = f"GET /{server.token}/items.json HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    for sent in ("", "GET", request, f"{request}\r\n" * 50):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(sent.encode())
    assert get(server, f"/{server.token}/")[0] == 200
    for _ in range(100):
        if not any("process_request_thread" in one.name for one in threading.enumerate()):
            break
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
