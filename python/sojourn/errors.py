"""Exceptions besides `sojourn.ScenarioError`."""

from collections.abc import Iterable, Sequence


class NotEnoughMemoryError(MemoryError):
    """Runs or files need more memory than is available; no simulation has run."""


class OutputExistsError(FileExistsError):
    """The output folder is not empty."""


class UsageError(ValueError):
    """The request cannot be carried out; the message is one sentence for the user."""


class ArgumentError(UsageError, TypeError):
    """An argument has a wrong type."""


class UserCodeError(UsageError):
    """The user's Python code raised an exception while it was loaded; it is the `__cause__`."""


class RunDirectoryError(UsageError):
    """A folder is not a run directory, or not one that this version can read."""


class DatasetError(UsageError):
    """A dataset of a sweep is damaged, or cannot be reached."""


class DownloadError(RuntimeError):
    """A download failed in the network, or its response is not complete and successful."""


class PictureError(RuntimeError):
    """A picture could not be drawn; its data are not affected."""


class PictureWarning(UserWarning):
    """Pictures of a run could not be drawn or written; the data are complete."""


def nearest(word: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the name that is most similar to a word, if its similarity (difflib) is enough."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), 1, least)), None)


def require_known(kind: str, name: str, known: Sequence[str]) -> None:
    """Refuse an unknown name; suggest the nearest one, or list all."""
    if name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(known)}"
    raise UsageError(f"there is no {kind} `{name}`; {hint}")
