"""Record signals while a user's code runs, which may raise the same exceptions by itself."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noticed() -> Iterator[list[int]]:
    """Yield a list that receives each signal; the previous handlers still run."""
    came: list[int] = []
    # Python runs handlers only on its main thread.
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
            # The user's code may have installed another handler.
            if signal.getsignal(number) is note:
                signal.signal(number, before[number])
