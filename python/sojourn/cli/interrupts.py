"""Ctrl-C and SIGTERM: the command ends within a second, and says what is written.

The first one raises KeyboardInterrupt, which undoes what is not complete; more of them change
nothing. Where Python does not come to that, since a library or the user's own code keeps it, a
thread without Python ends the process (crates/py/src/interrupt.rs).
"""

import os
import signal
import sys
from types import FrameType

# For the usual end. After it the guard ends the process, at once.
_GRACE_S = 0.5

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_received: list[int] = []


class Terminated(KeyboardInterrupt):
    """SIGTERM, as Ctrl-C but for the exit status."""


def install() -> None:
    """Serves both signals in this process from now on."""
    for number in _SIGNALS:
        # A shell without job control has what runs in the background ignore Ctrl-C.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _unraisable


def arm() -> None:
    """Starts the guard, which needs the core."""
    from sojourn import _core

    wake = _core.guard(_GRACE_S)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    if _received:
        # Raised where it was ignored, such as in a destructor.
        _raise(_received[0])


def status(interrupt: KeyboardInterrupt) -> int:
    """The exit status, as shells have it: 128 and the number of the signal."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    for each in _SIGNALS:
        # Python ends with the defaults of signals that it handles: one more would end it then.
        signal.signal(each, signal.SIG_IGN)
    _received.append(number)
    _raise(number)


def _unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    # An interrupt that came in a destructor: the guard ends the process.
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _raise(number: int) -> None:
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
