"""End a command within a second of Ctrl-C or SIGTERM, and report the files written.

The first signal raises KeyboardInterrupt, which removes incomplete output. Further signals have no
effect. If Python cannot run the handler, because a library or the user's own code blocks it, a
thread without Python ends the process (crates/py/src/interrupt.rs).
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, NoReturn

# Time for the usual end. After it, the guard ends the process.
_GRACE_S = 0.5

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_RACE = "ignored due to race condition"
_received: list[int] = []
# The signals that were blocked when this thread forked.
_forking = threading.local()


class Terminated(KeyboardInterrupt):
    """SIGTERM: like Ctrl-C, with another exit status."""


def install() -> None:
    """Handle both signals in this process from now on."""
    for number in _SIGNALS:
        # A shell without job control starts background processes with SIGINT ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _unraisable
    sys.excepthook = _uncaught
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_reset)


def arm() -> None:
    """Start the guard, which needs the core."""
    from sojourn import _core

    wake = _core.guard(_GRACE_S)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    if _received:
        # The first exception was ignored, for instance in a destructor.
        raise _interrupt_of(_received[0])


def settle() -> None:
    """Ignore both signals from now on, because the exit status is decided."""
    for number in _SIGNALS:
        # At its exit Python restores the defaults of handled signals: one more would kill it then.
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def keeping(dataset: str | None) -> Iterator[None]:
    """Report on an interrupt that a dataset keeps its complete runs, if there is one."""
    from sojourn import _core

    _core.keeps(dataset)
    yield
    # After an exception, the report follows.
    _core.keeps(None)


class Request:
    """Ctrl-C or SIGTERM as a request to a command that runs until then.

    Inside this context, the first signal sets `is_made` and does not raise. The command ends by its
    own steps, with status 0. A second signal interrupts it as usual.
    """

    def __init__(self) -> None:
        self.is_made = False
        self._before: dict[int, Any] = {}
        self._wake = -1

    def __enter__(self) -> "Request":
        if threading.current_thread() is threading.main_thread():
            # The guard must not end the process after the first signal.
            self._wake = signal.set_wakeup_fd(-1)
            for number in _SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._make)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _make(self, _number: int, _frame: FrameType | None) -> None:
        self.is_made = True
        self._restore()

    def _restore(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)
        if self._wake >= 0:
            signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
            self._wake = -1


def received() -> KeyboardInterrupt | None:
    """Return the interrupt of this process, even if other code replaced its exception."""
    return _interrupt_of(_received[0]) if _received else None


def status(interrupt: KeyboardInterrupt) -> int:
    """Return the exit status, as in shells: 128 plus the number of the signal."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)


def end(status: int) -> NoReturn:
    """End this interrupted process with its status.

    `python -m` would end by SIGINT if the interrupt met the `exec` of a text, as in a module that
    loads and has dataclasses: CPython notes it (`run_eval_code_obj` in Python/pythonrun.c).
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    settle()
    _received.append(number)
    raise _interrupt_of(number)


def _unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    # An interrupt in a destructor: the guard ends the process.
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        return
    # CPython's text for a signal that arrives while `settle` changes its handler.
    if _RACE in str(unraisable.exc_value):
        return
    sys.__unraisablehook__(unraisable)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    # Libraries in C print exceptions by this hook, and continue.
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _interrupt_of(number: int) -> KeyboardInterrupt:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()


def _hold() -> None:
    # A signal to a child that still has the parent's wake-up pipe would end the parent.
    _forking.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.blocked)


def _reset() -> None:
    """Restore the default handlers in a forked child."""
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    _received.clear()
    _release()
