"""Serves the page of a live run that does not exist: hostile names, and a million samples.

Prints the address, and the addresses of another site; ends with its input.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from sojourn.cli.page.live import PageView

ROOT = Path(__file__).resolve().parents[2]
EVIL = "<img src=x onerror=window.evil=1>"
NAMES = [EVIL, "</script><script>window.evil=1</script>", "\u202egnp.exe", "x" * 100_000, "'\"`&\0"]
# A live run has a reading each 150 ms: two days of them.
SAMPLES, AT_ONCE, EACH_S = 1_000_000, 1000, 0.15


class Run:
    """A run whose readings are all there."""

    duration_s = SAMPLES * EACH_S
    watched_flows = NAMES

    def __init__(self) -> None:
        self.taken = 0

    def readings_json(self) -> str:
        """Return the next readings: a queue that grows, and lines that are full."""
        begin, self.taken = self.taken, min(self.taken + AT_ONCE, SAMPLES)
        return json.dumps([self._reading(at) for at in range(begin + 1, self.taken + 1)])

    def _reading(self, at: int) -> dict[str, object]:
        return {
            "t_s": EACH_S * at,
            "sent_bits": 1e3 * at,
            "could_send_bits": 2e3 * at,
            "queue_delay_s": 1e-6 * at,
            "marked_packets": at,
            "dropped_packets": at,
            "received_bytes": [100 * at] * len(NAMES),
        }


class Other(BaseHTTPRequestHandler):
    """Another site: an empty page."""

    def do_GET(self) -> None:
        """Answer with the page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title>")

    def log_message(self, *_: object) -> None:
        """Print no log."""


def main() -> None:
    """Serve until the input ends."""
    run = Run()
    other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    with PageView(ROOT / "target" / "page", EVIL, EVIL, 1) as view:
        view.begin(run, EVIL, 1)  # type: ignore[arg-type]
        while run.taken < SAMPLES:
            view._next_s = 0.0
            view.show(0.0, run.duration_s)
        server = view._server
        print(
            json.dumps(
                {"address": server.address, "other": f"http://127.0.0.1:{other.server_port}/"}
            )
        )
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
