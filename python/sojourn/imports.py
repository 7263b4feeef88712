"""The folders that Sojourn's own processes may import from, which exclude the user's."""

import sys
from pathlib import Path


def places() -> list[str]:
    """The folders of `sys.path`, without the current folder and that of the user's script."""
    refused = {Path.cwd().resolve()}
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    # A module (`python -m`) may lie among the libraries, and puts no folder of its own first.
    if script and getattr(main, "__spec__", None) is None:
        refused.add(Path(script).resolve().parent)
    found = [Path(place).absolute() for place in sys.path if place]
    kept = [str(place) for place in found if place.resolve() not in refused]
    own = str(Path(__file__).resolve().parents[1])
    return kept if own in kept else [*kept, own]
