"""Whether a signal came while a user's code ran, which may raise the same exceptions by itself."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noticed() -> Iterator[list[int]]:
    """The signals of the user's that came meanwhile; each is handled as it was before."""
    came: list[int] = []
    # Python runs handlers on its main thread alone.
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {number: signal.getsignal(number) for number in _ENDING}

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    handled = [number for number, handler in before.items() if callable(handler)]
    for number in handled:
        signal.signal(number, note)
    try:
        yield came
    finally:
        for number in handled:
            # A handler may have put another in its place.
            if signal.getsignal(number) is note:
                signal.signal(number, before[number])
