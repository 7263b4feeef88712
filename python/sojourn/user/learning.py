"""The controller of `sojourn.gym`: it obeys the agent, and measures the intervals between."""

from dataclasses import dataclass
from math import log2

from sojourn._core import Feedback, Limits, Setup

# Windows of the agent, in packets.
_LEAST, _GREATEST = 2.0, 60_000.0
# Packets in flight over the window, if the agent sets the rate: room for a queue of one round trip.
_HEADROOM = 2.0
_INITIAL_RTT_S = 0.1


@dataclass(frozen=True)
class Interval:
    """The measurements of one interval, as ratios."""

    goodput: float
    """Acknowledged payload over the interval and the reference rate."""
    delay: float
    """Mean queueing delay over the base round-trip time: RTT / least RTT - 1."""
    lost: float
    """Share of lost packets."""
    marked: float
    """Share of acknowledged packets with an ECN mark."""
    window_log2: float
    """Base-2 logarithm of the window in packets."""
    in_flight: float
    """Packets in flight over the window, at the end."""


class Agent:
    """A controller (`sojourn.Controller`) whose window or rate `act` sets."""

    ecn = "counts"

    def __init__(self, setup: Setup, is_rate: bool) -> None:
        self._mss = setup.mss_bytes
        self._is_rate = is_rate
        self._window = setup.initial_window_bytes / self._mss
        self._rtt_s, self._least_rtt_s = _INITIAL_RTT_S, float("inf")
        self._in_flight_bytes = 0
        self.is_idle = True
        self._clear()

    def _clear(self) -> None:
        self._acked_bytes = self._acked = self._lost = self._marked = 0
        self._rtts, self._rtt_sum_s = 0, 0.0

    def act(self, exponent: float) -> None:
        """Multiply the window, or the rate, by a power of 2."""
        self._window = min(max(self._window * 2**exponent, _LEAST), _GREATEST)

    def take(self, interval_s: float, reference_bps: float) -> Interval:
        """Return the measurements since the last call."""
        if self._rtts:
            self._rtt_s = self._rtt_sum_s / self._rtts
        least_s = min(self._least_rtt_s, self._rtt_s)
        handled = self._acked + self._lost
        taken = Interval(
            goodput=8 * self._acked_bytes / (interval_s * reference_bps),
            delay=self._rtt_s / least_s - 1,
            lost=self._lost / handled if handled else 0.0,
            marked=self._marked / self._acked if self._acked else 0.0,
            window_log2=log2(self._window),
            in_flight=self._in_flight_bytes / (self._window * self._mss),
        )
        self._clear()
        return taken

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        """Measure."""
        self.is_idle = False
        self._acked_bytes += feedback.acked_bytes
        self._acked += feedback.acked_packets
        self._lost += feedback.lost_packets
        self._marked += feedback.ce_packets
        self._in_flight_bytes = feedback.in_flight_bytes
        if (rtt_ns := feedback.rtt_ns) is not None:
            self._rtts += 1
            self._rtt_sum_s += rtt_ns * 1e-9
            self._least_rtt_s = min(self._least_rtt_s, rtt_ns * 1e-9)

    def on_timeout(self, now_ns: int, in_flight_bytes: int) -> None:
        """Measure; the window is the agent's alone."""
        self._in_flight_bytes = in_flight_bytes

    def limits(self) -> Limits:
        """Return the agent's window, or its rate: the window over the least round-trip time."""
        cwnd_bytes = self._window * self._mss
        if not self._is_rate:
            return Limits(cwnd_bytes=cwnd_bytes)
        rate_bps = 8 * cwnd_bytes / min(self._least_rtt_s, _INITIAL_RTT_S)
        return Limits(cwnd_bytes=_HEADROOM * cwnd_bytes, pacing_bps=rate_bps)
