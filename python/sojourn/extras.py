"""The optional parts of the package, and the packages that they need."""

import re
from importlib import metadata


def installation(part: str) -> str:
    """Return the command that installs the packages of an optional part, such as `sweep`.

    It does not name Sojourn, which need not be in a package index.
    """
    wanted = re.compile(rf"([^;]+);.*extra == ['\"]{part}['\"]")
    found = map(wanted.fullmatch, metadata.requires("sojourn") or ())
    return " ".join(["pip install", *(f"'{match[1].strip()}'" for match in found if match)])
