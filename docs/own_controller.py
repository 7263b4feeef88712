"""A controller of one's own: see CONTRIBUTING.md, which shows this class."""

import sojourn


class Mine:
    """Additive increase, and a decrease to choose."""

    params = {"beta": sojourn.Param(0.5, 0.1, 0.95, doc="window factor after a loss")}

    def __init__(self, setup: sojourn.Setup) -> None:
        self.mss = setup.mss_bytes
        self.beta = setup.params["beta"]
        self.cwnd = setup.initial_window_bytes

    def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
        if feedback.loss_event:
            self.cwnd = max(int(self.beta * self.cwnd), self.mss)
        elif not feedback.in_recovery and feedback.cwnd_limited:
            self.cwnd += self.mss * feedback.acked_bytes // self.cwnd

    def on_timeout(self, now_ns: int, in_flight_bytes: int) -> None:
        self.cwnd = self.mss

    def limits(self) -> sojourn.Limits:
        return sojourn.Limits(cwnd_bytes=self.cwnd)
