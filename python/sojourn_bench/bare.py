"""The bare loop's speed, measured by its own program."""

import shutil
import subprocess
import sysconfig

from sojourn.errors import UsageError

_PROGRAM = "sojourn-bare-loop"


def program() -> str:
    """Find the program of `benches/bare-loop`, which is not part of this package."""
    for path in (sysconfig.get_path("scripts"), None):
        if found := shutil.which(_PROGRAM, path=path):
            return found
    raise UsageError(
        f"speed is compared with the program `{_PROGRAM}`, which is not installed; "
        "`make bench` in the repository builds it"
    )


def pps(least_cpu_s: float) -> float:
    """Measure the bare loop in packets per CPU second."""
    done = subprocess.run([program(), str(least_cpu_s)], stdout=subprocess.PIPE, check=True)
    return float(done.stdout)
