"""Draw pictures in a separate process, one request at a time, until standard input ends.

`render.py` starts this file as a script in Python's isolated mode, with the folders that may
contain the renderer as its last argument. It imports only the standard library and the renderer,
so that no file beside a user's controller can replace a module. The renderer contains V8, which
ends its whole process, this one, when it runs out of memory.

A request is a line of JSON, `{"make", "length"}` with the arguments, and `length` bytes of text.
An answer is a line of JSON, `{"length"}` or `{"error", "length"}`, and `length` bytes.
"""

import fcntl
import json
import os
import resource
import sys
from typing import Any, BinaryIO

# Last, so that the standard library comes first.
sys.path += json.loads(sys.argv.pop())

import vl_convert

_Limit = tuple[int, int]


def main() -> None:
    """Answer requests. Standard output carries only the answers."""
    memory_bytes, cpu_s = map(int, sys.argv[1:])
    _limit_memory(memory_bytes)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while line := requests.readline():
        request = json.loads(line)
        text = requests.read(request["length"]).decode("utf-8")
        _limit_time(cpu_s)
        _end_with_parent(requests, True)
        head, body = _answer(request, text)
        _end_with_parent(requests, False)
        answers.write(json.dumps({**head, "length": len(body)}).encode() + b"\n" + body)
        answers.flush()
    # Skip V8's slow shutdown: all answers are written.
    os._exit(0)


def _answer(request: dict[str, Any], text: str) -> tuple[dict[str, str], bytes]:
    try:
        made = _MAKERS[request["make"]](text, request)
    # A panic of the renderer is a `BaseException`, not an `Exception`.
    except BaseException as error:
        return {"error": str(error) or type(error).__name__}, b""
    return {}, made if isinstance(made, bytes) else made.encode("utf-8")


_MAKERS: dict[str, Any] = {
    "svg": lambda spec, asked: vl_convert.vegalite_to_svg(spec, vl_version=asked["version"]),
    "png": lambda svg, asked: vl_convert.svg_to_png(svg, scale=asked["scale"]),
    "page": lambda spec, asked: vl_convert.vegalite_to_html(
        spec, vl_version=asked["version"], bundle=True
    ),
    "script": lambda snippet, asked: vl_convert.javascript_bundle(snippet, asked["version"]),
}


def _limit_memory(memory_bytes: int) -> None:
    """Limit the writable memory instead of the address space.

    V8 reserves some 64 GB of addresses and uses few of them. A limit on the address space that
    the user set (`ulimit -v`) is therefore lifted as far as the system allows, and holds for the
    memory instead.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        memory_bytes = min(memory_bytes, soft)
        _try_limit(resource.RLIMIT_AS, (hard, hard))
        _try_limit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        memory_bytes = min(memory_bytes, hard)
    _try_limit(resource.RLIMIT_DATA, (memory_bytes, hard))
    _try_limit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(cpu_s: int) -> None:
    """Let the system end this process if the next picture takes more than `cpu_s` of CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    until = int(used.ru_utime + used.ru_stime) + cpu_s
    _try_limit(resource.RLIMIT_CPU, (until, hard))


def _try_limit(kind: int, limit: _Limit) -> None:
    try:
        resource.setrlimit(kind, limit)
    except (ValueError, OSError):
        # The system does not allow this limit, or does not have it.
        return


def _end_with_parent(requests: BinaryIO, drawing: bool) -> None:
    """Let the end of the input kill this process by SIGIO while it draws and does not read."""
    fcntl.fcntl(requests, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(requests, fcntl.F_GETFL)
    flags = flags | os.O_ASYNC if drawing else flags & ~os.O_ASYNC
    fcntl.fcntl(requests, fcntl.F_SETFL, flags)


if __name__ == "__main__":
    main()
