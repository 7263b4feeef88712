"""Serves the page and run directories on loopback, read-only, behind a token."""

import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sojourn.errors import RunDirectoryError, UsageError
from sojourn.record import Record
from sojourn.run_directory import What
from sojourn.run_summary import RunSummary

# Run directories in the list of the page.
_MOST_RUNS = 500
# Rows of a series; a browser would need gigabytes for more.
_MOST_ROWS = 3_000_000
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
_COLUMNS: dict[What, tuple[str, ...]] = {
    "flows": ("t_s", "goodput_bps", "cwnd_bytes", "rtt_s"),
    "links": ("t_s", "capacity_bps", "carried_bps", "queue_delay_s"),
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def page_folder() -> Path:
    """Return the folder of the built page: the package's, or that of `make page` here."""
    places = (Path(__file__).parent / "page", Path("target/page"))
    found = next((place for place in places if (place / "sojourn.wasm").is_file()), None)
    if found is None:
        raise UsageError("the page is not built; run `make page` in a checkout of Sojourn")
    return found.absolute()


def run_directories(given: Sequence[Path]) -> list[Path]:
    """Return the run directories among these folders and directly within them, by name."""
    found: list[Path] = []
    for place in given:
        if not place.is_dir():
            raise RunDirectoryError(f"{place} is no folder")
        inner = sorted(path for path in place.iterdir() if _is_run(path))
        own = [place] if _is_run(place) else inner
        if not own:
            raise RunDirectoryError(
                f"{place} is no run directory and contains none; `sojourn run --out {place}` "
                "writes one"
            )
        found += own
    return found[:_MOST_RUNS]


def _is_run(path: Path) -> bool:
    return (path / "summary.json").is_file()


class PageServer(ThreadingHTTPServer):
    """The server; `address` is that of the page, with its token."""

    daemon_threads = True

    def __init__(
        self, page: Path, given: Sequence[Path], load: Callable[[Path], Record], port: int = 0
    ) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            why = f"port {port} of 127.0.0.1 is not available ({error.strerror}); choose another"
            raise UsageError(why) from error
        self.page = page
        self.given = given
        self.load = load
        self.token = secrets.token_urlsafe(16)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def content(self, name: str) -> tuple[str, bytes]:
        """Return the type and the content of a name below the token.

        Raises FileNotFoundError, or RunDirectoryError if a run cannot be read.
        """
        if name == "runs.json":
            return _TYPES[".json"], _json(self._runs())
        if name.startswith("run-") and name.endswith(".json"):
            place = name.removeprefix("run-").removesuffix(".json")
            directories = run_directories(self.given)
            if not place.isdecimal() or int(place) >= len(directories):
                raise FileNotFoundError(name)
            return _TYPES[".json"], _json(recorded(self.load(directories[int(place)])))
        return self._file(name or "index.html")

    def _file(self, name: str) -> tuple[str, bytes]:
        # Names of files in one folder: no path can leave it.
        names = {path.name for path in self.page.iterdir() if path.is_file()}
        if name not in names:
            raise FileNotFoundError(name)
        content = (self.page / name).read_bytes()
        if name == "index.html" and self.given:
            content = content.replace(b"<html ", b"<html data-runs ", 1)
        return _TYPES.get(Path(name).suffix, "application/octet-stream"), content

    def _runs(self) -> list[dict[str, Any]]:
        """Return one entry for each run directory, as the folders are now."""
        entries = []
        for place, directory in enumerate(run_directories(self.given)):
            try:
                summary = json.loads((directory / "summary.json").read_bytes())
                controls = [str(run["control"]) for run in summary["runs"]]
            except (OSError, ValueError, LookupError, TypeError):
                controls = []
            # A live run replaces its directory at its end.
            changed = directory.stat().st_mtime
            entries.append(
                {"place": place, "name": directory.name, "controls": controls, "changed": changed}
            )
        return entries


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "Sojourn", ""
    # A client that sends no request must not hold its thread.
    timeout = 30

    def do_GET(self) -> None:
        _, token, *names = [*urlsplit(self.path).path.split("/"), ""]
        # A page of another site that resolves its name to loopback sends its own name.
        if self.headers.get("Host") not in self.server.hosts:
            return self._answer(HTTPStatus.FORBIDDEN, _TYPES[".txt"], b"unknown host")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return self._answer(HTTPStatus.NOT_FOUND, _TYPES[".txt"], b"unknown address")
        try:
            kind, content = self.server.content(names[0] if names[1:] in ([], [""]) else "?")
        except FileNotFoundError:
            return self._answer(HTTPStatus.NOT_FOUND, _TYPES[".txt"], b"unknown address")
        except (UsageError, MemoryError, OSError) as error:
            text = _json({"error": str(error)})
            return self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, _TYPES[".json"], text)
        return self._answer(HTTPStatus.OK, kind, content)

    def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print no log: its lines would contain the token."""


def recorded(record: Record) -> dict[str, Any]:
    """Return a record as the page reads it: the first run of each controller, with its samples."""
    first: dict[str, RunSummary] = {}
    for run in record.runs:
        first.setdefault(run["control"], run)
    rows = record.flows.height + record.links.height
    if rows > _MOST_ROWS:
        raise UsageError(f"the run has {rows:,} samples, too many for the page; see its report")
    return {
        "title": record.title,
        "scenario": record.scenario,
        "files": {name: text for name, text in record.files.items() if not name.endswith(".py")},
        "runs": list(first.values()),
        "flows": [_samples(record, "flows", run) for run in first.values()],
        "links": [_samples(record, "links", run) for run in first.values()],
    }


def _samples(record: Record, what: What, run: RunSummary) -> dict[str, Any]:
    """Return the samples of a run: at each time one row for every name, in the same order."""
    import polars as pl

    frame = record.flows if what == "flows" else record.links
    key = what.removesuffix("s")
    own = frame.filter(pl.col("control") == run["control"], pl.col("seed") == run["seed"])
    names = own[key].unique(maintain_order=True).to_list()
    if own.height != len(names) * own["t_s"].n_unique():
        raise RunDirectoryError(f"the {what} have no samples at equal times; see the report")
    order = {name: place for place, name in enumerate(names)}
    own = own.with_columns(pl.col(key).replace_strict(order, return_dtype=pl.Int64).alias("_place"))
    own = own.sort("t_s", "_place").fill_nan(None)
    columns = {name: own[name].cast(pl.Float64).to_list() for name in _COLUMNS[what]}
    return {"names": names, "columns": columns}


def _json(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
