"""Generated events of a queue: arrivals and dequeues of a link, from a seed."""

import random
from collections.abc import Iterator
from typing import NamedTuple

COLUMNS = "time_ns,flow,size,ecn"
LABELS = ",dscp,source,destination"
# CS0, CS1, AF41, EF, LE: the codepoints of flows with labels, in turn.
DSCPS = (0, 8, 34, 46, 1)

# ECN fields of arrivals, as weights of Not-ECT, ECT(1), ECT(0) and CE.
PLAIN, CLASSIC, SCALABLE, MIXED = (1, 0, 0, 0), (1, 0, 3, 0), (0, 1, 0, 0), (4, 4, 4, 1)


class Load(NamedTuple):
    """Traffic that does not respond, through a link of some 1 / `gap_ns` packets a second."""

    seed: int
    loads: tuple[float, ...]
    """Arrivals for each dequeue, in turn for each phase."""
    ecn: tuple[int, ...]
    gap_ns: int = 300_000
    phase_s: float = 3
    stall_s: float = 0
    """Pause of the link at the end of each phase."""
    burst: int = 1
    flows: int = 8
    sizes: tuple[int, int] = (64, 1514)
    settings: tuple[str, ...] = ()
    is_labelled: bool = False
    """Whether flows have codepoints, and share seven sources and three destinations."""

    def events(self, count: int) -> Iterator[str]:
        """Yield the columns and so many events as CSV; a longer series begins as a shorter one."""
        draw = random.Random(self.seed).random
        weights = [sum(self.ecn[: place + 1]) / sum(self.ecn) for place in range(4)]
        yield COLUMNS + LABELS * self.is_labelled
        # Some code takes a time of zero for none.
        arrival = departure = 1_000_000
        left = 0
        for _ in range(count):
            if arrival > departure:
                yield f"{departure},,,{',,,' * self.is_labelled}"
                phase = int(departure / 1e9 / self.phase_s)
                departure += int(draw() * 2 * self.gap_ns)
                if int(departure / 1e9 / self.phase_s) > phase:
                    departure += int(self.stall_s * 1e9)
                continue
            # Half of the packets are of the first flow.
            flow = int(draw() * self.flows) if draw() < 0.5 else 0
            size = self.sizes[0] + int(draw() * (self.sizes[1] - self.sizes[0] + 1))
            field = draw()
            ecn = next(place for place, most in enumerate(weights) if field < most)
            labels = f",{DSCPS[flow % 5]},{flow % 7},{flow % 3}" * self.is_labelled
            yield f"{arrival},{flow},{size},{ecn}{labels}"
            left = (left or self.burst) - 1
            if not left:
                load = self.loads[int(arrival / 1e9 / self.phase_s) % len(self.loads)]
                arrival += int(draw() * 2 * self.gap_ns * self.burst / load)


def loads(*settings: str, **others: str) -> dict[str, Load]:
    """Return the inputs of a queue with these settings; some inputs have others too."""
    own = ("limit=1000", *settings)
    found = {
        "steady": Load(1, (1.02, 1.0, 0.98), PLAIN, sizes=(1500, 1500), settings=own),
        "overload": Load(2, (1.2, 1.1, 0.8), MIXED, settings=own),
        "light": Load(3, (0.9, 0.5, 0.8), CLASSIC, settings=own),
        "bursts": Load(4, (1.0, 0.9, 1.1), MIXED, burst=40, settings=own),
        "flows": Load(5, (1.3, 1.0, 0.8), CLASSIC, flows=3000, settings=own),
        "scalable": Load(6, (1.5, 1.0, 0.7), SCALABLE, settings=own),
        "flood": Load(
            7, (2.5, 1.5, 0.7), MIXED, gap_ns=100_000, phase_s=0.5, flows=40, settings=own
        ),
        "stalls": Load(9, (1.0, 0.02, 0.3), CLASSIC, stall_s=1.5, settings=own),
        "slow": Load(8, (1.1, 0.9, 1.0), CLASSIC, gap_ns=3_000_000, phase_s=20, settings=own),
    }
    for name, other in others.items():
        found[name] = found[name]._replace(settings=(*own, *other.split()))
    return found
