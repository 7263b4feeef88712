"""The cases of the benchmark, and the duration of each measurement."""

from dataclasses import dataclass, field

from sojourn.errors import UsageError

# Record a sample of every flow and link at this interval.
SAMPLED = "record.interval=10ms"
_DEFAULT_HOST = ("host=linux-6.18",)
_WINDOW = 'flow.pair.host={ like = "rfc", receive_window = "60MB" }'

# Scaling compares the times of two sizes, so each size needs several rounds.
_SCALING_ROUNDS = 3
_MOST_REPEATED = 10_000


@dataclass(frozen=True)
class Case:
    """A scenario of `benches/cases`, and the changes to it."""

    name: str
    file: str
    about: str
    changes: tuple[str, ...] = ()

    def changed(self, *changes: str) -> "Case":
        """Return the case with further changes."""
        return Case(self.name, self.file, self.about, (*self.changes, *changes))


CASES = (
    Case("A", "a", "one flow, 100 Mbit/s"),
    Case("B", "b", "two flows, 10 Gbit/s, with losses"),
    # Both windows together fill 94 MB of the 100 MB buffer, so that no packet is lost.
    Case("B-lossless", "b", "the same, windows below the buffer", (_WINDOW,)),
    Case("C", "c-fifo", "100 flows, 1 Gbit/s, FIFO"),
    Case("C-codel", "c-codel", "100 flows, 1 Gbit/s, CoDel"),
    # The others have ideal hosts, so that a packet's cost is that of the simulator alone.
    Case("A-linux", "a", "case A with the default host", _DEFAULT_HOST),
    Case("B-linux", "b", "case B with the default host", _DEFAULT_HOST),
    Case("C-linux", "c-fifo", "case C with the default host", _DEFAULT_HOST),
)
IN_FLIGHT = Case("in flight", "in-flight", "a million packets in flight")
STARTUP = CASES[0].changed("duration=1s")


@dataclass(frozen=True)
class Plan:
    """The effort of the measurement."""

    quick: bool
    rounds: int
    # Minimum CPU time of a case's repetitions, and of the bare loop before and after it.
    case_cpu_s: float
    bare_cpu_s: float
    # Minimum number of profile samples per case.
    samples: int
    flows: tuple[int, ...]
    startups: int
    job_rounds: int
    job: Case
    in_flight: Case = IN_FLIGHT
    changes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def case(self, name: str) -> Case:
        """Return the case of this name, with the plan's duration."""
        for case in CASES:
            if case.name.lower() == name.lower():
                return case.changed(*self.changes.get(case.name, ()))
        names = ", ".join(case.name for case in CASES)
        raise UsageError(f"there is no case `{name}`; there are: {names}")

    def scaling_rounds(self, flows: int) -> int:
        """Return the number of rounds for this many flows; large sizes take long and run once."""
        return 1 if flows > _MOST_REPEATED else min(_SCALING_ROUNDS, self.rounds)

    def scaling(self, flows: int) -> tuple[str, Case]:
        """Return the link rate and the case for this many flows."""
        # On 10 Gbit/s, a hundred thousand flows would have less than one packet each.
        rate, buffer = ("10Gbit", "100MB") if flows <= 10_000 else ("100Gbit", "1GB")
        changes = (f"link.bottleneck.rate={rate}", f"link.bottleneck.buffer={buffer}")
        case = Case(f"{flows} flows", "scaling", "", (f"flow.many.count={flows}", *changes))
        return rate, case.changed(*self.changes.get("scaling", ()))


# Each case leaves slow start and loses packets; 8 jobs take half a CPU second or more each.
FULL = Plan(
    quick=False,
    rounds=5,
    case_cpu_s=0.5,
    bare_cpu_s=0.3,
    # The standard deviation of a share of a tenth is then 0.003.
    samples=10_000,
    flows=(1, 10, 100, 1_000, 10_000, 100_000),
    startups=10,
    job_rounds=3,
    job=CASES[0].changed("duration=240s"),
)
# Takes seconds in total. It is a smoke test; its figures are not measurements.
QUICK = Plan(
    quick=True,
    rounds=1,
    case_cpu_s=0.01,
    bare_cpu_s=0.01,
    samples=1_000,
    flows=(1, 10, 100),
    startups=2,
    job_rounds=1,
    job=CASES[0].changed("duration=5s"),
    in_flight=IN_FLIGHT.changed(
        "link.bottleneck.rate=1Gbit",
        'flow.one.host={ like = "rfc", receive_window = "24MB", initial_window = 16000 }',
    ),
    changes={
        "A": ("duration=5s",),
        "B": ("duration=500ms",),
        "B-lossless": ("duration=200ms",),
        "C": ("duration=500ms", "flow.crowd.stagger=100ms"),
        "C-codel": ("duration=500ms", "flow.crowd.stagger=100ms"),
        "A-linux": ("duration=5s",),
        "B-linux": ("duration=500ms",),
        "C-linux": ("duration=500ms", "flow.crowd.stagger=100ms"),
        "scaling": ("duration=50ms", "flow.many.stagger=10ms"),
    },
)
