"""Serves the page, run directories and captures on loopback, read-only."""

import hmac
import re
import secrets
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sojourn import terminal
from sojourn.cli.page import items, sweep
from sojourn.errors import UsageError
from sojourn.picture.page_record import encoded
from sojourn.record.record import Record

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
_ADDRESS = re.compile("https?://[^/]*")
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class PageServer(ThreadingHTTPServer):
    """The server; `address` is that of the page, with its token.

    `now` gives the charts of a live run that goes on.
    """

    daemon_threads = True

    def __init__(
        self,
        page: Path,
        given: Sequence[Path],
        load: Callable[[Path], Record],
        port: int = 0,
        now: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            why = f"port {port} of 127.0.0.1 is not available ({error.strerror}); choose another"
            raise UsageError(why) from error
        self.page = page
        self.given = given
        self.load = load
        self.now = now
        self.token = secrets.token_urlsafe(16)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}

    def handle_error(self, request: object, client_address: object) -> None:
        """Report a fault in one line; a client that has gone is none."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            terminal.say(f"the server of the page: {type(error).__name__}: {error}")

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def content(self, name: str) -> tuple[str, bytes]:
        """Return the type and the content of a name below the token.

        Raises FileNotFoundError, or the error of a run or capture that cannot be read.
        """
        if name == "now.json" and self.now is not None:
            return _TYPES[".json"], encoded(self.now())
        if name == "items.json":
            return _TYPES[".json"], encoded(items.listed(items.found(self.given)))
        if name.startswith("item-") and name.endswith(".json"):
            return _TYPES[".json"], self._item(*name[len("item-") : -len(".json")].split("-"))
        return self._file(name or "index.html")

    def _item(self, key: str, *run: str) -> bytes:
        """Return the data of an item, or the scenario of a run of a sweep."""
        item = next((one for one in items.found(self.given) if one.key == key), None)
        if item is None or len(run) > (item.kind == "sweep"):
            raise FileNotFoundError(key)
        if run:
            return sweep.scenario_of(item.path, *run)
        return items.content(item, self.load)

    def _file(self, name: str) -> tuple[str, bytes]:
        # Names of files in one folder: no path can leave it.
        names = {path.name for path in self.page.iterdir() if path.is_file()}
        if name not in names:
            raise FileNotFoundError(name)
        content = (self.page / name).read_bytes()
        if name == "index.html":
            mark = b"data-live " if self.now else b"data-runs " if self.given else b""
            content = content.replace(b"<html ", b"<html " + mark, 1)
        return _TYPES.get(Path(name).suffix, "application/octet-stream"), content


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "Sojourn", ""
    # A client that sends no request must not hold its thread.
    timeout = 30

    def do_GET(self) -> None:
        # A request has a path, or a whole address, as a proxy sends it.
        path = _ADDRESS.sub("", self.path.partition("?")[0])
        _, token, *names = [*path.split("/"), ""]
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
            return self._refuse(str(error))
        # Without an answer, the page could not tell a fault from the end of the server.
        except Exception as error:
            return self._refuse(f"{type(error).__name__}: {error}")
        return self._answer(HTTPStatus.OK, kind, content)

    def _refuse(self, reason: str) -> None:
        text = encoded({"error": reason})
        self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, _TYPES[".json"], text)

    def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print no log: its lines would contain the token."""
