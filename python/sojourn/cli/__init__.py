"""The command line. A command imports large modules only when it needs them."""

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn import terminal
from sojourn.cli import interrupts

if TYPE_CHECKING:
    import argparse

BROKEN_PIPE = 141
_FULL_DISK = "; free space, or write to another disk"
# The input was good, but the output does not fit on the disk.
_FAILING_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status.

    Without `argv`, the command owns the process, including its signals.
    """
    with terminal.streams():
        status = _main(argv)
    if argv is None and interrupts.received():
        interrupts.end(status)
    return status


def _main(argv: Sequence[str] | None) -> int:
    try:
        if argv is None:
            interrupts.install()
        status = _status(argv)
        if argv is None:
            interrupts.settle()
        return status
    except KeyboardInterrupt as interrupt:
        from sojourn._core import interrupted

        if argv is None:
            interrupts.settle()
        return _say(interrupted(), interrupts.status(interrupt))


def _status(argv: Sequence[str] | None) -> int:
    try:
        if fault := terminal.require_text(sys.argv[1:] if argv is None else argv):
            return _say(fault, terminal.BAD_INPUT)
        args = _parsed(argv)
        if argv is None:
            # Before the guard, which is a thread.
            if prepare := getattr(args, "prepare", None):
                prepare(args)
            interrupts.arm()
        status = args if isinstance(args, int) else _command(args)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        raise
    except BrokenPipeError:
        # The reader of the output has exited; keep Python from writing again at exit.
        terminal.abandon(sys.stdout)
        return BROKEN_PIPE
    except BaseException as error:
        if interrupt := interrupts.received():
            raise interrupt from error
        return _failed(error)


def _parsed(argv: Sequence[str] | None) -> "argparse.Namespace | int":
    """Return the arguments, or an exit status if the program ends without a command.

    Only the parser may end the program: elsewhere `sys.exit(0)` is an error.
    """
    from sojourn.cli.commands import parse

    try:
        return parse(argv)
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else terminal.BAD_INPUT


def _command(args: "argparse.Namespace") -> int:
    # A command without output files does not load the module. The command announces only its own
    # files, not those that the process wrote before it, as a library.
    if (output := sys.modules.get("sojourn.output")) is not None:
        output.unannounced()
    status: int = args.execute(args)
    output = sys.modules.get("sojourn.output")
    if output is not None and not getattr(args, "quiet", False):
        sys.stdout.flush()
        for target in output.unannounced():
            terminal.say(f"wrote {target}")
    return status


def _failed(error: BaseException) -> int:
    """Report an error in a few lines; the traceback appears only on request."""
    if os.environ.get("SOJOURN_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
        return 1
    from sojourn._core import ControllerError, LiveError, ScenarioError
    from sojourn.errors import DownloadError, NotEnoughMemoryError, UsageError, UserCodeError

    if isinstance(error, ScenarioError):
        terminal.say_scenario_error(error)
        return terminal.BAD_INPUT
    if isinstance(error, (ControllerError, UserCodeError)):
        _show_own_fault(error.__cause__)
    if isinstance(error, ControllerError):
        return _say(f"{error}; nothing was written", 1)
    if isinstance(error, DownloadError):
        return _say(str(error), 1)
    if isinstance(error, (UsageError, NotEnoughMemoryError, LiveError)):
        return _say(str(error), terminal.BAD_INPUT)
    if isinstance(error, OSError):
        if error.filename == terminal.OUTPUT:
            terminal.abandon(sys.stdout)
        where = f"{error.filename}: " if error.filename and error.strerror else ""
        status = 1 if error.errno in _FAILING_OUTPUT else terminal.BAD_INPUT
        remedy = _FULL_DISK if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        return _say(f"{where}{error.strerror or error}{remedy}", status)
    return _say(
        f"internal error: {type(error).__name__}: {error} "
        "(SOJOURN_TRACEBACK=1 shows where; please report it)",
        1,
    )


def _show_own_fault(fault: BaseException | None) -> None:
    """Print the traceback of the user's own code, without Sojourn's frames."""
    import traceback
    from pathlib import Path

    if fault is None:
        return
    ours = str(Path(__file__).parents[1])
    shown = fault.__traceback__
    while shown is not None and shown.tb_frame.f_code.co_filename.startswith(ours):
        shown = shown.tb_next
    traceback.print_exception(type(fault), fault, shown)


def _say(message: str, status: int) -> int:
    terminal.say(f"sojourn: {message}")
    return status
