"""Types of the JSON output: `run --json` and `summary.json`, `compare`, `theory`.

Changes may add keys but never rename one. Keys end in their unit (`_s`, `_bps`, `_bytes`,
`_packets`); ratios have no suffix.
"""

from typing import Any, TypedDict

FORMAT = 1
"""Version of the run directory's format (docs/run-directory.md). It increases only if a reader of
the previous version would misread the files; added keys do not increase it."""


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

    Both kinds of excess are null if the capacity rises, because a rise builds up no queue.
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

    `low` and `high` are the confidence interval of the median and need at least six runs.
    `mean_low` and `mean_high` are the confidence interval of the mean and need at least two.
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

    `distinct` counts the runs that differ in the goodput of a flow or in a spike.
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
"""A user's own controller that ran; fields are null if its source is unknown."""


class _Required(TypedDict):
    format: int
    scenario: str
    version: str
    runs: list[RunSummary]


class Summary(_Required, total=False):
    """The whole summary.

    `medians` is present if a controller ran more than once, `controllers` if a controller was the
    user's own.
    """

    medians: list[Medians]
    controllers: list[OwnController]


class Mitigation(TypedDict):
    """One way to shorten a spike: the greatest queueing delay without and with it.

    `setting` is the strength of the mitigation, with its unit.
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
    """Output of `theory spike --json`.

    With several flows, `delay_s` is their mean weighted by share. `mitigations` is present only on
    request, and so are the corners of the figure: `arrivals` as pairs of seconds after the drop and
    bit/s, `queue` as pairs of seconds after the drop and seconds of delay. `capacity_bps` holds the
    capacity before and after the drop; with several users, the capacity of one user.
    """

    mitigations: list[Mitigation]
    arrivals: list[list[float]]
    queue: list[list[float]]
    capacity_bps: list[float]


class RapidTheory(TypedDict):
    """Output of `theory rapid --json`: the steady state at the worst phase.

    `D_s` is the delay until Rapid detects the end of a burst. Phases from `rtt_remainder_s` to
    `rtt_remainder_max_s` are the worst. `rate_middle_bps` is Rapid's rate at both ends of the worst
    burst, if only one phase is worst. `course` has the corners of one period of Rapid's rate at the
    smallest worst phase, as pairs of seconds since the start of the worst burst and bit/s.
    `burst_bps` is R_on.
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
    """Queueing delay over all arriving traffic; each bit has the same weight."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


class WorstInstant(TypedDict):
    """The arrival time and the queueing delay of the traffic that waited longest."""

    at_s: float
    delay_s: float


class LoopDelay(Percentiles):
    """The same figures at another loop delay."""

    delay_s: float
    drained: Percentiles


class Moments(TypedDict):
    """Mean and deviation of a capacity, and its autocorrelation at a lag of one loop delay."""

    mean_rate_bps: float
    deviation_bps: float
    autocorrelation: float


class Fitted(TypedDict):
    """A Markov chain of rates fitted to a file; it makes one transition per `stretch_s`.

    `shares` are the shares of time at each rate. `moves` has a row per rate with the transition
    probabilities to every rate. `measured` describes the file, `made` the chain's output, and
    `measured_delay` is the delay computed from the file itself.
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
    """Output of `theory trace --json`: the minimum delay of traffic that fills the link.

    `drained` is for a sender that also drains the queue it caused, as soon as it can detect it.
    `series` is present only on request. Each row has the end of an interval, its mean capacity, and
    the longest delay of traffic that arrives in it (null without arrivals), once for each of the
    two senders. `fitted` is present if a fitted chain made the capacity.
    """

    series: list[list[float | None]]
    fitted: Fitted


class Compared(TypedDict):
    """A figure of both runs: `difference` is B - A, `ratio` is B / A; null if unknown."""

    a: float | None
    b: float | None
    difference: float | None
    ratio: float | None


class ComparedSteps(Compared):
    """A figure over the steps of the common time; `cells_*` count the steps with a value."""

    cells_a: int
    cells_b: int


class WindowComparison(TypedDict):
    """The difference between B's and A's congestion window per cell; ratios are relative to A's.

    `cells` counts the cells that have a window on both sides.
    """

    cells: int
    mean_relative_difference: float | None
    largest_difference_bytes: float
    largest_difference_ratio: float
    largest_difference_at_s: float
    correlation: float | None


class PairComparison(TypedDict):
    """The compared item: its name in both runs, and the steps that both have."""

    control: str
    name: str
    seeds_a: list[int]
    seeds_b: list[int]
    from_s: float
    until_s: float
    interval_s: float
    cells: int


class FlowComparison(PairComparison):
    """A flow that both runs have; `rtt_column` names the source of its RTT peaks.

    Keys with `peak` are percentiles of the greatest value in each step of `interval_s`, and depend
    on it. Keys without `peak` come from the summaries and cover all packets of whole runs.
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
    """A link that both runs have; keys with `peak` are as in `FlowComparison`."""

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
    """A flow or a link, and the controller of its run."""

    control: str
    name: str


class OnlyIn(TypedDict):
    """Controllers, flows and links that only one of the two runs has."""

    controls: list[str]
    flows: list[Named]
    links: list[Named]


class NotCompared(Named):
    """An item that both runs have but that could not be compared, and the reason."""

    what: str
    why: str


class ComparisonSummary(TypedDict):
    """Output of `compare --json`, and the content of `comparison.json`."""

    version: str
    a: ComparedRun
    b: ComparedRun
    shift_b_s: float
    only_in_a: OnlyIn
    only_in_b: OnlyIn
    not_compared: list[NotCompared]
    flows: list[FlowComparison]
    links: list[LinkComparison]
