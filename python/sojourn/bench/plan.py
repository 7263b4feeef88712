"""The cases, and how long each is measured."""

from dataclasses import dataclass, field

from sojourn.errors import UsageError

# A sample of every flow and link so often.
SAMPLED = "record.interval=10ms"
_WINDOW = 'flow.pair.transport={ profile = "tcp", receive_window = "60MB" }'

# Two sizes are told apart by the ratio of their times: a single time is not enough for that.
_SCALING_ROUNDS = 3
_MOST_REPEATED = 10_000


@dataclass(frozen=True)
class Case:
    """A scenario of `benches/cases`, and what is changed in it."""

    name: str
    file: str
    about: str
    changes: tuple[str, ...] = ()

    def changed(self, *changes: str) -> "Case":
        """The same with more changes."""
        return Case(self.name, self.file, self.about, (*self.changes, *changes))


CASES = (
    Case("A", "a", "one flow, 100 Mbit/s"),
    Case("B", "b", "two flows, 10 Gbit/s, with losses"),
    # Both windows together fill the buffer to 94 MB of its 100: nothing is lost.
    Case("B-lossless", "b", "the same, windows below the buffer", (_WINDOW,)),
    Case("C", "c-fifo", "100 flows, 1 Gbit/s, FIFO"),
    Case("C-codel", "c-codel", "100 flows, 1 Gbit/s, CoDel"),
)
IN_FLIGHT = Case("in flight", "in-flight", "a million packets in flight")
STARTUP = CASES[0].changed("duration=1s")


@dataclass(frozen=True)
class Plan:
    """How thorough the measurement is."""

    quick: bool
    rounds: int
    # CPU time for which a case is repeated at least, and the bare loop before and after it.
    case_cpu_s: float
    bare_cpu_s: float
    # Least number of looks at which part of a case is at work.
    looks: int
    flows: tuple[int, ...]
    startups: int
    job_rounds: int
    job: Case
    in_flight: Case = IN_FLIGHT
    changes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def case(self, name: str) -> Case:
        """The case of this name, as long as the plan has it."""
        for case in CASES:
            if case.name.lower() == name.lower():
                return case.changed(*self.changes.get(case.name, ()))
        names = ", ".join(case.name for case in CASES)
        raise UsageError(f"there is no case `{name}`; there are: {names}")

    def scaling_rounds(self, flows: int) -> int:
        """How often so many flows are measured; the most of them once, since that takes long."""
        return 1 if flows > _MOST_REPEATED else min(_SCALING_ROUNDS, self.rounds)

    def scaling(self, flows: int) -> tuple[str, Case]:
        """So many flows: the rate of their link, and the case."""
        # A hundred thousand flows would have less than a packet each on 10 Gbit/s.
        rate, buffer = ("10Gbit", "100MB") if flows <= 10_000 else ("100Gbit", "1GB")
        changes = (f"link.bottleneck.rate={rate}", f"link.bottleneck.buffer={buffer}")
        case = Case(f"{flows} flows", "scaling", "", (f"flow.many.count={flows}", *changes))
        return rate, case.changed(*self.changes.get("scaling", ()))


# Long enough for a case to leave slow start and lose; 8 jobs of half a CPU second or more.
FULL = Plan(
    quick=False,
    rounds=5,
    case_cpu_s=0.5,
    bare_cpu_s=0.3,
    # A share of a tenth is then known to within 0.003 (its standard deviation).
    looks=10_000,
    flows=(1, 10, 100, 1_000, 10_000, 100_000),
    startups=10,
    job_rounds=3,
    job=CASES[0].changed("duration=240s"),
)
# Seconds in all: shows that everything works; its figures are no measurement.
QUICK = Plan(
    quick=True,
    rounds=1,
    case_cpu_s=0.01,
    bare_cpu_s=0.01,
    looks=1_000,
    flows=(1, 10, 100),
    startups=2,
    job_rounds=1,
    job=CASES[0].changed("duration=5s"),
    in_flight=IN_FLIGHT.changed(
        "link.bottleneck.rate=1Gbit",
        'flow.one.transport={ profile = "tcp", receive_window = "24MB", initial_window = 16000 }',
    ),
    changes={
        "A": ("duration=5s",),
        "B": ("duration=500ms",),
        "B-lossless": ("duration=200ms",),
        "C": ("duration=500ms", "flow.crowd.stagger=100ms"),
        "C-codel": ("duration=500ms", "flow.crowd.stagger=100ms"),
        "scaling": ("duration=50ms", "flow.many.stagger=10ms"),
    },
)
