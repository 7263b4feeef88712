"""Options that several commands share, and the types of their values."""

import argparse


def name_list(text: str) -> list[str]:
    """Parse names that commas separate: `cubic,bbr`."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names such as cubic,bbr")
    return names


def settings_of(text: str) -> dict[str, str]:
    """Parse names and values: `headroom=0.2,ramp=80ms`."""
    pairs = [pair.partition("=") for pair in name_list(text)]
    if not all(equals for _, equals, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of settings such as ramp=80ms")
    return {name.strip(): value.strip() for name, _, value in pairs}


def file_name(text: str) -> str:
    """Return the name of a file or a folder; refuse an empty one."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def whole(text: str) -> int:
    """Parse a whole number of 0 or more."""
    return _integer(text, least=0)


def positive(text: str) -> int:
    """Parse a whole number of 1 or more."""
    return _integer(text, least=1)


def _integer(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return number


def add_controller_option(parser: argparse.ArgumentParser) -> None:
    """Add `--controller`."""
    parser.add_argument(
        "--controller",
        metavar="[NAME=]FILE.py:CLASS",
        action="append",
        default=[],
        help="add your own controller, for use by name (CONTRIBUTING.md); NAME is by default the "
        "class's name in snake case; may be repeated",
    )
