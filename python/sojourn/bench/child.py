"""Child processes for measurements, which run this Sojourn and end with their parent."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from sojourn import user_code

# An isolated interpreter (-I) ignores the environment and the current folder, whose files could
# shadow modules.
_START = """\
import sys
sys.path[:] = {path!r}
sys.argv = {argv!r}
{code}
"""


def command(code: str, argv: Sequence[str] = ()) -> list[str]:
    """Build the command that runs Python code with this Sojourn and this process's libraries."""
    start = _START.format(path=user_code.installed_paths(), argv=["sojourn", *argv], code=code)
    return [sys.executable, "-I", "-c", start]


def run(code: str, text: str) -> "subprocess.CompletedProcess[str]":
    """Run code that calls `end_with_parent` first; `text` is its standard input.

    The child ends with this process, even after SIGKILL, because the kernel then closes the pipe.
    """
    ours, theirs = os.pipe()
    try:
        # Job and figures may contain any name; -I leaves the encoding to the locale.
        return subprocess.run(
            command(code, [str(ours)]),
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            pass_fds=[ours],
        )
    finally:
        os.close(ours)
        os.close(theirs)


def end_with_parent() -> None:
    """End this process when the pipe in its first argument is closed."""
    watched = int(sys.argv[1])

    def watch() -> None:
        os.read(watched, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
