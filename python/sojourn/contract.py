"""What `run --json` prints and `summary.json` holds, and what `compare` does: add, never rename.

Keys end in their unit (`_s`, `_bps`, `_bytes`, `_packets`; none for ratios).
"""

from typing import Any, TypedDict

FORMAT = 1
"""Version of the run directory's format (docs/run-directory.md); it grows where a reader of the
one before would misread what is written, not where something is added."""


class FlowSummary(TypedDict):
    """One flow of one run."""

    name: str
    control: str
    start_s: float | None
    goodput_bps: float
    rtt_min_s: float | None
    rtt_p50_s: float | None
    rtt_p99_s: float | None
    rtt_max_s: float | None
    rtt_mean_s: float | None
    sent_packets: int
    retransmitted_packets: int
    spurious_retransmissions: int
    undone_reductions: int
    marked_packets: int
    completion_s: float | None
    base_rtt_s: float
    dropped_packets: int
    timeouts: int
    completed_transfers: int
    response_p50_s: float | None
    response_p99_s: float | None
    response_mean_s: float | None


class LinkSummary(TypedDict):
    """One link of one run."""

    name: str
    utilisation: float | None
    queue_delay_p50_s: float | None
    queue_delay_p99_s: float | None
    queue_delay_max_s: float | None
    dropped_packets: int
    marked_packets: int
    capacity_bps: float | None
    arrived_packets: int
    delivered_packets: int
    duplicated_packets: int
    reordered_packets: int


class SpikeSummary(TypedDict):
    """One change of a link's capacity, and the queueing delay that followed.

    Both kinds of excess are null where capacity rises: a rise calls for no queue.
    """

    link: str
    at_s: float
    from_bps: float
    to_bps: float
    spike_s: float | None
    bound_s: float | None
    bound_corrected_s: float | None
    bound_lost_fraction: float
    excess_s: float | None
    excess_corrected_s: float | None
    duration_s: float | None
    utilisation_before: float | None
    utilisation_after: float | None
    peak_at_s: float | None
    carried_before_bps: float | None
    loop_s: float | None
    carried_loop_bps: float | None
    offered_loop_bps: float | None
    dropped_to_peak_packets: int | None


class RunSummary(TypedDict):
    """One simulation: a controller with a seed."""

    control: str
    seed: int
    duration_s: float
    flows: list[FlowSummary]
    links: list[LinkSummary]
    spikes: list[SpikeSummary]


class Spread(TypedDict):
    """A figure over repeated runs: `distinct` of the `n` values differ.

    `low` and `high` hold the median, and need six runs or more; `mean_low` and `mean_high` hold
    the mean, and need two.
    """

    n: int
    distinct: int
    median: float
    low: float | None
    high: float | None
    p5: float
    p95: float
    mean: float
    mean_low: float | None
    mean_high: float | None


class Medians(TypedDict):
    """All runs of one controller; every figure in the lists is a `Spread` or null.

    `distinct` of the runs differ, in the goodput of a flow or in a spike.
    """

    control: str
    runs: int
    distinct: int
    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    spikes: list[dict[str, Any]]


OwnController = TypedDict(
    "OwnController",
    {"name": str, "class": str | None, "file": str | None, "sha256": str | None},
)
"""A controller of the user's own that ran; null where its source is not known."""


class _Required(TypedDict):
    format: int
    scenario: str
    version: str
    runs: list[RunSummary]


class Summary(_Required, total=False):
    """Everything: `medians` is there where a controller ran more than once, `controllers` where
    some were the user's own.
    """

    medians: list[Medians]
    controllers: list[OwnController]


class Mitigation(TypedDict):
    """One way to shorten a spike: the greatest queueing delay without and with it.

    `setting` is how much of it there is, with its unit.
    """

    name: str
    setting: str
    before_s: float
    after_s: float


class _SpikeTheory(TypedDict):
    r: float
    delay_s: float
    spike_s: float
    lost_fraction: float
    time_to_peak_s: float


class SpikeTheory(_SpikeTheory, total=False):
    """What `theory spike --json` prints.

    Of several flows `delay_s` is the mean by their shares. `mitigations` is there only where
    asked for, and so are the corners of a figure: what arrives (`arrivals`) and what it waits
    (`queue`), as pairs of seconds after the drop and bit/s or seconds; and `capacity_bps` before
    and after, of one user where there are several.
    """

    mitigations: list[Mitigation]
    arrivals: list[list[float]]
    queue: list[list[float]]
    capacity_bps: list[float]


class RapidTheory(TypedDict):
    """What `theory rapid --json` prints: the steady state at the worst phase.

    `D_s` is how late Rapid hears of the end of a burst. Phases from `rtt_remainder_s` to
    `rtt_remainder_max_s` are the worst; `rate_middle_bps` is Rapid's rate at both ends of the
    worst burst where one phase alone is. `course` has the corners of one period of Rapid's rate at
    the least such phase, as pairs of seconds after the worst burst begins and bit/s. `burst_bps`
    is R_on.
    """

    case: str
    D_s: float
    queue_max_bytes: int
    throughput_bps: int
    utilisation: float
    rate_high_bps: int
    rate_low_bps: int
    rate_middle_bps: int | None
    rtt_remainder_s: float
    rtt_remainder_max_s: float
    course: list[list[float]]
    capacity_bps: int
    burst_bps: int
    on_s: float
    off_s: float


class Percentiles(TypedDict):
    """Queueing delay over all traffic that arrives, each bit as often as another."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


class WorstInstant(TypedDict):
    """When what waited longest arrived, and for how long it waited."""

    at_s: float
    delay_s: float


class LoopDelay(Percentiles):
    """The same at another loop delay."""

    delay_s: float
    drained: Percentiles


class Moments(TypedDict):
    """Mean, spread and memory of a capacity: how alike it is to itself one loop delay later."""

    mean_rate_bps: float
    deviation_bps: float
    autocorrelation: float


class Fitted(TypedDict):
    """A chain of rates fitted to a file, which it moves among once in `stretch_s`.

    `shares` are of the time at each rate; `moves` has a row for each rate: how likely each follows.
    `measured` is of the file, `made` of what the chain made; `measured_delay` is the file's own.
    """

    stretch_s: float
    rates_bps: list[int]
    shares: list[float]
    moves: list[list[float]]
    measured: Moments
    made: Moments
    measured_delay: LoopDelay


class _TraceTheory(Percentiles):
    drained: Percentiles
    delay_s: float
    duration_s: float
    mean_rate_bps: float
    worst: list[WorstInstant]
    by_delay: list[LoopDelay]


class TraceTheory(_TraceTheory, total=False):
    """What `theory trace --json` prints: the least delay of traffic that fills the link.

    `drained` is for the sender that also drains the queue it caused, as soon as it can know.
    `series` is there only where it was asked for: the end of each stretch of time, the mean
    capacity in it, and the longest delay of what arrives in it (null where nothing does), for the
    one sender and the other. `fitted` is there where the capacity was made by a fitted chain.
    """

    series: list[list[float | None]]
    fitted: Fitted


class Compared(TypedDict):
    """A figure of both runs: `difference` is B less A, `ratio` B over A; null where unknown."""

    a: float | None
    b: float | None
    difference: float | None
    ratio: float | None


class ComparedSteps(Compared):
    """A figure over steps of the time in common, and how many had a value, over all seeds."""

    cells_a: int
    cells_b: int


class WindowComparison(TypedDict):
    """How far B's congestion window lies from A's, cell by cell; ratios are over A's.

    `cells` is how many of them have a window on both sides.
    """

    cells: int
    mean_relative_difference: float | None
    largest_difference_bytes: float
    largest_difference_ratio: float
    largest_difference_at_s: float
    correlation: float | None


class PairComparison(TypedDict):
    """What is compared: the name in both runs, and the steps that both have."""

    control: str
    name: str
    seeds_a: list[int]
    seeds_b: list[int]
    from_s: float
    until_s: float
    interval_s: float
    cells: int


class FlowComparison(PairComparison):
    """A flow that both runs have; `rtt_column` says what its peaks are from.

    Keys with `peak` are percentiles of the greatest value in each step of `interval_s`, and depend
    on it. Those without are of all packets of whole runs, from the summaries.
    """

    goodput_bps: ComparedSteps
    rtt_column: str | None
    rtt_peak_p50_s: ComparedSteps
    rtt_peak_p95_s: ComparedSteps
    rtt_peak_p99_s: ComparedSteps
    rtt_p50_s: Compared
    rtt_p99_s: Compared
    window: WindowComparison | None


class LinkComparison(PairComparison):
    """A link that both runs have; `peak` likewise."""

    queue_delay_peak_p50_s: ComparedSteps
    queue_delay_peak_p95_s: ComparedSteps
    queue_delay_peak_p99_s: ComparedSteps
    queue_delay_peak_max_s: ComparedSteps
    queue_delay_p50_s: Compared
    queue_delay_p99_s: Compared
    queue_delay_max_s: Compared
    utilisation: ComparedSteps
    dropped_packets: ComparedSteps
    marked_packets: ComparedSteps


class ComparedRun(TypedDict):
    """One of the two runs."""

    directory: str
    scenario: str
    version: str


class Named(TypedDict):
    """A flow or a link of the run with this controller."""

    control: str
    name: str


class OnlyIn(TypedDict):
    """What one run alone has; the flows and links of its own controllers among them."""

    controls: list[str]
    flows: list[Named]
    links: list[Named]


class NotCompared(Named):
    """What both runs have, and what kept it from being compared."""

    what: str
    why: str


class ComparisonSummary(TypedDict):
    """What `compare --json` prints and `comparison.json` holds."""

    version: str
    a: ComparedRun
    b: ComparedRun
    shift_b_s: float
    only_in_a: OnlyIn
    only_in_b: OnlyIn
    not_compared: list[NotCompared]
    flows: list[FlowComparison]
    links: list[LinkComparison]
