"""The optional parts of the package, and the packages that they need."""

import re
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path

from sojourn import _core
from sojourn.errors import UsageError


def require_live(what: str) -> None:
    """Refuse what needs live runs, if the core is built without them, or for another system."""
    if hasattr(_core, "LiveRun"):
        return
    if sys.platform != "linux":
        raise UsageError(f"{what} needs Linux; `sojourn run` simulates a scenario anywhere")
    raise _without(what)


def require_explanations() -> None:
    """Refuse an explanation if the core is built without them."""
    if not hasattr(_core, "explain_file"):
        raise _without("explanations")


def _without(what: str) -> UsageError:
    return UsageError(f"this build is without {what}; `make install` builds it with all")


def installation(part: str) -> str:
    """Return the command that installs the packages of an optional part, such as `sweep`.

    It does not name Sojourn, which no package index has, and is the same on every machine.
    """
    return f"pip install {_packages(part)}"


def installation_here(part: str) -> str:
    """Return the same command for the Python that runs Sojourn, which may not be that of `pip`."""
    own = Path(sys.executable)
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == own.parent:
        return installation(part)
    return f"{shlex.quote(str(own))} -m pip install {_packages(part)}"


def _packages(part: str) -> str:
    try:
        required = metadata.requires("sojourn") or ()
    # A copy of the modules alone, as on a path of the user's own.
    except metadata.PackageNotFoundError:
        return f"'FILE.whl[{part}]'"
    wanted = re.compile(rf"([^;]+);.*extra == ['\"]{part}['\"]")
    found = map(wanted.fullmatch, required)
    return " ".join(f"'{match[1].strip()}'" for match in found if match)
