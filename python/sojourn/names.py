"""Error messages for unknown names."""

from collections.abc import Sequence
from difflib import get_close_matches

from sojourn.errors import UsageError


def require(kind: str, name: str, known: Sequence[str]) -> None:
    """Refuse an unknown name; suggest the nearest one, or list all."""
    if name in known:
        return
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(known)}"
    raise UsageError(f"there is no {kind} `{name}`; {hint}")
