"""`sojourn completion`, and the completion of a command line that the shell asks for."""

import argparse
import os
import sys
from collections.abc import Sequence

SHELLS = ("bash", "zsh", "tcsh", "fish", "powershell")

_EPILOG = """\
bash, in ~/.bashrc:  eval "$(sojourn completion bash)"
zsh, in ~/.zshrc:    eval "$(sojourn completion zsh)"
fish:                sojourn completion fish | source
"""
# Words of the help that stand for files or folders.
_FILES = ("FILE", "DIR", "A", "B", "FILE.py", "[NAME=]FILE.py:CLASS")


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn completion`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Print the code that a shell runs to complete `sojourn`."""
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["sojourn"], shell=args.shell))
    return 0


def words() -> Sequence[str]:
    """Return the words of the command line to complete, without the program."""
    line = os.environ.get("COMP_LINE", "")
    return line[: int(os.environ.get("COMP_POINT", len(line)))].split()[1:]


def answer(parser: argparse.ArgumentParser) -> None:
    """Write the completions for the shell, and exit."""
    import argcomplete
    from argcomplete.completers import FilesCompleter, SuppressCompleter

    for one in _with_commands(parser):
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction) or action.choices:
                continue
            is_file = action.metavar in _FILES
            action.completer = FilesCompleter() if is_file else SuppressCompleter()  # type: ignore[attr-defined]
            if action.dest == "control" or action.dest == "controls":
                action.completer = _controllers  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _with_commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                found += _with_commands(command)
    return found


def _controllers(prefix: str, **_: object) -> list[str]:
    """Complete the last name of a list of controllers."""
    import json

    from sojourn import _core

    before, comma, _last = prefix.rpartition(",")
    names = [one["name"] for one in json.loads(_core.controllers())]
    return [f"{before}{comma}{name}" for name in names]
