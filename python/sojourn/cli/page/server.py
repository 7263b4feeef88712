"""Serves the page, run directories and captures on loopback, read-only."""

import hmac
import re
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.client import LineTooLong
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
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
_ADDRESS = re.compile("https?://[^/]*")
# A page has six connections (Chromium, for one host). Others end the oldest, which may be waiting
# for a request that never comes.
_MOST_CONNECTIONS = 32
_WAIT_S = 0.5
# Bytes of a request, and those that are read behind one that was refused.
_LONGEST_REQUEST, _LONGEST_REST = 128 << 10, 1 << 20
_REST_S = 0.2
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
    # A connection that finds no place in the queue tries again after a second.
    request_queue_size = 256

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
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, of which there are a few."""
        if not self._places.acquire(blocking=False):
            self._end_oldest()
            # A thread that is computing an answer does not end at once.
            if not self._places.acquire(timeout=_WAIT_S):
                return self.close_request(request)
        with self._lock:
            self._open[request] = None
        return super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, and give its place to another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)
            self._places.release()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection; read what it still sends, or a reset would overtake the answer."""
        left = _LONGEST_REST
        with suppress(OSError):
            request.shutdown(socket.SHUT_WR)
            request.settimeout(_REST_S)
            while left > 0 and (part := request.recv(1 << 16)):
                left -= len(part)
        self.close_request(request)

    def _end_oldest(self) -> None:
        with self._lock:
            oldest = next(iter(self._open), None)
            if oldest is not None:
                del self._open[oldest]
                # Its thread closes it.
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)

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


class _Request:
    """The bytes of a request, of which there are only so many."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = _LONGEST_REQUEST

    def readline(self, most: int = -1) -> bytes:
        """Read a line; raise the error that the handler answers with status 431."""
        line: bytes = self._file.readline(self._left if most < 0 else min(most, self._left))
        self._left -= len(line)
        if not self._left:
            raise LineTooLong("request")
        return line

    def close(self) -> None:
        """Close the connection's file."""
        self._file.close()


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "Sojourn", ""
    # A malformed request has a status too.
    default_request_version = "HTTP/1.0"
    # A client that sends no request must not hold its thread.
    timeout = 30

    def setup(self) -> None:
        super().setup()
        self.rfile = _Request(self.rfile)  # type: ignore[assignment]

    def do_GET(self) -> None:
        # A request has a path, or a whole address, as a proxy sends it.
        path = _ADDRESS.sub("", self.path.partition("?")[0])
        _, token, *names = [*path.split("/"), ""]
        # A page of another site that resolves its name to loopback sends its own name.
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            return self._answer(HTTPStatus.FORBIDDEN, _TYPES[".txt"], b"unknown host")
        if self.headers.get("Origin", f"http://{hosts[0]}") != f"http://{hosts[0]}":
            return self._answer(HTTPStatus.FORBIDDEN, _TYPES[".txt"], b"another origin")
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
