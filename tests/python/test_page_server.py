"""`sojourn view` serves the page and run directories, and nothing else."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import sojourn
from sojourn import results
from sojourn.errors import UsageError
from sojourn.page_server import PageServer, page_folder, run_directories
from support import SMALL


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
    broken, small = fetched(server, "runs.json")
    assert (broken["name"], broken["controls"]) == ("broken", [])
    assert (small["name"], small["controls"]) == ("small", ["cubic", "dctcp"])
    run = fetched(server, f"run-{small['place']}.json")
    assert [one["control"] for one in run["runs"]] == ["cubic", "dctcp"]
    assert run["flows"][1]["names"] == ["upload"]
    times, delays = (run["links"][0]["columns"][name] for name in ("t_s", "queue_delay_s"))
    assert len(times) == len(delays) == 600 * len(run["links"][0]["names"])
    assert (
        max(delay for delay in delays if delay) == run["runs"][0]["links"][0]["queue_delay_max_s"]
    )
    assert sojourn.Scenario.parse(run["scenario"])["title"] == "A small drop"


def test_a_run_that_cannot_be_read_gives_its_reason(server: PageServer) -> None:
    status, content = get(server, f"/{server.token}/run-0.json")
    assert status == 422
    assert "summary.json" in json.loads(content)["error"]


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/runs.json", "/wrong/", "/wrong/runs.json"),
        *("/TOKEN/../secret.txt", "/TOKEN/..%2fsecret.txt", "/TOKEN//etc/passwd"),
        *("/TOKEN/run-9.json", "/TOKEN/run--1.json", "/TOKEN/run-x.json", "/TOKEN/a/b"),
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


def test_missing_folders_and_pages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="no run directory and contains none"):
        run_directories([tmp_path])
    with pytest.raises(UsageError, match="is no folder"):
        run_directories([tmp_path / "absent"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sojourn.page_server.__file__", str(tmp_path / "module.py"))
    with pytest.raises(UsageError, match="make page"):
        page_folder()
