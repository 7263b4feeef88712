"""Suggest the nearest name for a misspelt option, command or choice. Loaded only after an error."""

import re
from collections.abc import Iterable

from sojourn.errors import nearest

_CHOICE = re.compile(
    r"argument (?P<what>.+?): invalid choice: '(?P<given>.*)' "
    r"\((?:choose from|maybe you meant) (?P<known>.*)\)",
    re.DOTALL,
)
_UNKNOWN = "unrecognized arguments: "
# Options of other commands that no similar option replaces.
_ELSEWHERE = {
    "--controller": "controllers in Python run in simulations only: sojourn run, sweep and worst",
    "--queue": "a link of a scenario has its queue: sojourn run FILE --set link.NAME.queue=...",
}
# Longer names cost time, and are no typing errors.
_LONGEST = 100


def improved(message: str, options: Iterable[str]) -> str:
    """Return a message of `argparse` in plain words, with the nearest valid name.

    `options` are the option names of the parser.
    """
    if found := _CHOICE.fullmatch(message):
        known = [name.strip(" '\"") for name in found["known"].split(",")]
        kind = "command" if found["what"] == "COMMAND" else f"value of {found['what']}"
        # argparse has escaped the word already.
        given = found["given"]
        return f"there is no {kind} '{given}'; {_help(given, known)}"
    if message.startswith(_UNKNOWN):
        return _unknown(message.removeprefix(_UNKNOWN), options)
    return message


def _unknown(arguments: str, options: Iterable[str]) -> str:
    first = arguments.split()[0] if arguments.split() else arguments
    name = first.partition("=")[0]
    if not name.startswith("-"):
        return f"there is no place for the argument {first!r}; --help lists the arguments"
    if name in _ELSEWHERE:
        return f"there is no option {name} here; {_ELSEWHERE[name]}"
    near = _nearest(name, options)
    return f"there is no option {name}; " + (
        f"did you mean {near}?" if near else "--help lists the options"
    )


def _help(given: str, known: list[str]) -> str:
    near = _nearest(given, known)
    return f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"


def _nearest(given: str, known: Iterable[str]) -> str | None:
    return None if len(given) > _LONGEST else nearest(given, known)
