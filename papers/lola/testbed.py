"""The switch with two LoLa flows, the second of which starts 20 s late, and their measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from sojourn.record import legend
from sojourn.run.results import Run
from sojourn_papers import Ask, Lab

from .measure import Round, goodput_bps, peak_bound_ms, queue_ms, rounds

SECOND_S = 20.0
"""Start time of the second flow."""
FLOWS = ("first", "second")
NAMES = {"first": "flow 1", "second": "flow 2"}
LOOKS = {
    name: (ink.colour, ink.dash) for name, ink in legend.inks(dict.fromkeys(FLOWS, "lola")).items()
}
# A tenth of the paper's rate, with a buffer of the same 80 ms, is 5 million packets a minute.
QUICK = {"link.switch.rate": "1Gbit", "link.switch.buffer": "10MB"}
GIGABIT, QUICK_GIGABIT = 10e9, 1e9


@dataclass(frozen=True)
class Testbed:
    """A run of two flows."""

    run: Run
    rate_bps: float
    rtts_ms: tuple[float, float]

    @property
    def end_s(self) -> float:
        """The duration of the run."""
        return self.run.runs[0]["duration_s"]

    def series(self, flow: str) -> pl.DataFrame:
        """Return a flow's samples."""
        return self.run.flow(flow).series

    def settled(self) -> list[Round]:
        """Return the first flow's rounds after both slow starts.

        The second flow's first reduction drains the queue that its slow start built up.
        """
        return rounds(self.series("first"), rounds(self.series("second"))[0].end_s)

    def shares(self, part: Round) -> tuple[float, float]:
        """Return both flows' goodput in a round."""
        first, second = (goodput_bps(self.series(f), part.begin_s, part.end_s) for f in FLOWS)
        return first, second

    def ratio(self, part: Round) -> float:
        """Return the ratio of flow 1's goodput to flow 2's in a round."""
        first, second = self.shares(part)
        return first / second

    def peak_ms(self, part: Round) -> tuple[float, float]:
        """Return the longest queueing delay of a round, and its bound for the measured shares."""
        shares = self.shares(part)
        share = min(shares) / sum(shares)
        bound = peak_bound_ms(self.rate_bps, max(self.rtts_ms), share)
        return queue_ms(self.run, part.begin_s, part.end_s), bound


Rtts = tuple[float, float]
"""The base round-trip times of both flows, in milliseconds."""


def ten_gigabit(lab: Lab, pairs: Sequence[Rtts], seconds: float = 60) -> list[Testbed]:
    """Simulate the switch at 10 Gbit/s, or a tenth of that in a quick run, in one thread pool."""
    changed = {**lab.pick({}, QUICK), "duration": f"{seconds:g}s"}
    runs = lab.runs([_ask(rtts, changed) for rtts in pairs])
    rate = lab.pick(GIGABIT, QUICK_GIGABIT)
    return [Testbed(run, rate, rtts) for run, rtts in zip(runs, pairs, strict=True)]


def hundred_megabit(lab: Lab, rtts: Rtts = (21, 21)) -> Testbed:
    """Simulate the switch with the slower link of figure 5."""
    (run,) = lab.runs([_ask(rtts, {"link.switch.rate": "100Mbit"})])
    return Testbed(run, 100e6, rtts)


def _ask(rtts: Rtts, changed: Mapping[str, str]) -> Ask:
    delays = {
        f"link.back_{flow}.delay": f"{rtt - 1:g}ms" for flow, rtt in zip(FLOWS, rtts, strict=True)
    }
    return Ask("two-flows.toml", {**changed, **delays})


def scale(lab: Lab) -> str:
    """State the rate in the picture, and for quick runs also in the table."""
    if lab.quick:
        lab.note("A quick run: a tenth of the paper's rate, with a buffer of the same 80 ms.")
    return lab.pick("10 Gbit/s", "1 Gbit/s: a quick run, a tenth of the paper's rate")
