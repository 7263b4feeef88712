"""Draw figures as SVG, PNG and HTML page in a separate process (`worker.py`)."""

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from sojourn import user_code
from sojourn.errors import PictureError

# A fixed version, so that an upgrade of the renderer does not change the figures.
VEGA_LITE = "6.4"
# Limits of one picture. A figure of 24 lines needs a tenth of either.
_MEMORY_BYTES = 4_000_000_000
_CPU_S = 120
# For a process that blocks, and so uses no CPU time. Generous, because the machine may be busy.
_WALL_S = 5 * _CPU_S
# Longest texts in characters: a title makes the picture as wide as itself.
_LONGEST = dict.fromkeys(("text", "title", "subtitle"), 300)
# Messages of V8, the system's loader and Python when addresses run out.
_NO_ADDRESSES = re.compile(
    "CagedHeap|reservation|failed to map segment|Cannot allocate memory|MemoryError"
)
# Characters that XML 1.0 cannot carry in any form (section 2.2): the renderer panics at them.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg(spec: dict[str, Any]) -> str:
    """Draw a Vega-Lite figure as SVG."""
    return _renumbered(_drawn("svg", to_json(spec)).decode("utf-8"))


def png(picture: str, scale: float = 2) -> bytes:
    """Convert a picture from SVG to PNG, with `scale` pixels for each of its own."""
    return _drawn("png", picture, scale=scale)


def page(spec: dict[str, Any]) -> str:
    """Return a Vega-Lite figure as a page that works offline."""
    return _drawn("page", to_json(spec)).decode("utf-8")


def script(snippet: str) -> str:
    """Bundle Vega, Vega-Lite and a snippet that uses them into one script."""
    return _drawn("script", snippet).decode("utf-8")


def to_json(spec: dict[str, Any]) -> str:
    """Return a Vega-Lite figure as JSON, without characters that a picture cannot carry."""
    return json.dumps(_carried(spec), ensure_ascii=False, separators=(",", ":"))


def carried(text: str) -> str:
    """Return the text with U+FFFD for each character that SVG and HTML cannot carry."""
    return _NOT_XML.sub("\ufffd", text)


def _carried(value: Any, longest: int | None = None) -> Any:
    if isinstance(value, str):
        text = carried(value)
        return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
    if isinstance(value, dict):
        return {carried(key): _carried(item, _LONGEST.get(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_carried(item, longest) for item in value]
    return value


def _renumbered(text: str) -> str:
    """Number the clip paths from 0, because the renderer continues from its last figure."""
    order: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return order.setdefault(match.group(), f"clip{len(order)}")

    return re.sub(r"\bclip\d+\b", number, text)


class _Worker:
    """The drawing process. It ends when its standard input does."""

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._is_late = False
        limits = str(_MEMORY_BYTES), str(_CPU_S)
        try:
            # In its own session, so that Ctrl-C reaches only the command, which ends the worker.
            self._process = subprocess.Popen(
                [sys.executable, "-I", _WORKER, *limits, json.dumps(user_code.installed_paths())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,
            )
        except OSError as error:
            raise PictureError(f"the drawing process does not start: {error}") from error

    def ask(self, make: str, text: str, arguments: dict[str, Any]) -> bytes:
        """Return the worker's result; raise `PictureError` if it fails or has ended."""
        data = text.encode("utf-8")
        head = {"make": make, "version": VEGA_LITE, "length": len(data), **arguments}
        limit = threading.Timer(_WALL_S, self._give_up)
        limit.daemon = True
        limit.start()
        try:
            answer, body = self._exchange(json.dumps(head).encode() + b"\n" + data)
            if "error" in answer:
                raise PictureError(_beginning(answer["error"]))
            if "length" not in answer or len(body) < answer["length"]:
                raise PictureError(self._why_it_ended())
        finally:
            limit.cancel()
        return body

    def _exchange(self, request: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            _pipe(self._process.stdin).write(request)
            _pipe(self._process.stdin).flush()
            line = _pipe(self._process.stdout).readline()
            answer = json.loads(line) if line else {}
            return answer, _pipe(self._process.stdout).read(answer.get("length", 0))
        except BrokenPipeError:
            return {}, b""

    def _give_up(self) -> None:
        self._is_late = True
        self._process.kill()

    def _why_it_ended(self) -> str:
        status = self._process.wait()
        self._said.seek(0)
        said = self._said.read().decode("utf-8", "replace")
        if self._is_late:
            return f"the drawing process gave no answer within {_WALL_S} s"
        if -status == signal.SIGXCPU:
            return f"drawing it takes more than {_CPU_S} s of CPU time"
        if (limit := _address_space_limit()) and _NO_ADDRESSES.search(said):
            return (
                f"the renderer reserves 64 GB of addresses, and a limit of {limit / 1e9:.3g} GB is "
                "set; lift it (ulimit -v unlimited) or draw the picture elsewhere"
            )
        if "out of memory" in said.lower() or "memory allocation" in said:
            return f"drawing it takes more than {_MEMORY_BYTES / 1e9:.3g} GB of memory"
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"the drawing process ended with {how}: {_beginning(said) or 'it said nothing'}"

    def leave(self) -> None:
        """Close the pipes in a forked child, because they would keep the worker alive."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (self._process.stdin, self._process.stdout):
            # Not `close`, which would write the parent's buffered data to the worker.
            os.dup2(nowhere, _pipe(pipe).fileno(), inheritable=False)
        os.close(nowhere)

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # Data that the worker has not read are still buffered, and cannot be written.
            with suppress(OSError):
                _pipe(pipe).close()
        self._said.close()


_WORKER = str(Path(__file__).with_name("worker.py"))
_lock = threading.Lock()
_worker: _Worker | None = None


def _drawn(make: str, text: str, **arguments: Any) -> bytes:
    with _lock:
        worker = _started()
        try:
            return worker.ask(make, text, arguments)
        except BaseException:
            # A late answer would be taken for the answer to the next request.
            _end()
            raise


def _started() -> _Worker:
    global _worker
    if _worker is None:
        _worker = _Worker()
    return _worker


@atexit.register
def _end() -> None:
    global _worker
    ending, _worker = _worker, None
    if ending is not None:
        ending.end()


def _leave() -> None:
    """Let a forked child start its own worker."""
    global _lock, _worker
    _lock = threading.Lock()
    left, _worker = _worker, None
    if left is not None:
        left.leave()


os.register_at_fork(after_in_child=_leave)


def _address_space_limit() -> int | None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    return None if hard == resource.RLIM_INFINITY else hard


def _beginning(text: str) -> str:
    return " ".join(text.split())[:200]


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
