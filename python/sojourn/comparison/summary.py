"""JSON of a comparison: `compare --json` and `comparison.json`.

Changes may add keys but never rename one.
"""

from typing import TypedDict

from sojourn.run_summary import Summary


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
    on it. `goodput_bps` is the mean over the common time. The other keys come from the summaries
    and cover whole runs.
    """

    goodput_bps: ComparedSteps
    rtt_column: str | None
    rtt_peak_p50_s: ComparedSteps
    rtt_peak_p95_s: ComparedSteps
    rtt_peak_p99_s: ComparedSteps
    rtt_p50_s: Compared
    rtt_p99_s: Compared
    run_goodput_bps: Compared
    response_p50_s: Compared
    response_p99_s: Compared
    completion_s: Compared
    run_dropped_packets: Compared
    run_marked_packets: Compared
    run_retransmitted_packets: Compared
    window: WindowComparison | None


class LinkComparison(PairComparison):
    """A link that both runs have; keys with `peak` are as in `FlowComparison`.

    `utilisation`, `dropped_packets` and `marked_packets` are those of the common time, and keys
    with `run_` those of whole runs.
    """

    queue_delay_peak_p50_s: ComparedSteps
    queue_delay_peak_p95_s: ComparedSteps
    queue_delay_peak_p99_s: ComparedSteps
    queue_delay_peak_max_s: ComparedSteps
    queue_delay_p50_s: Compared
    queue_delay_p99_s: Compared
    queue_delay_max_s: Compared
    run_utilisation: Compared
    run_dropped_packets: Compared
    run_marked_packets: Compared
    utilisation: ComparedSteps
    dropped_packets: ComparedSteps
    marked_packets: ComparedSteps


class ComparedRun(TypedDict):
    """One of the two runs; `controls` has the names of its entries in `runs`."""

    directory: str
    controls: list[str]
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


class ComparisonSummary(Summary):
    """Output of `compare --json` of two runs, and the content of `comparison.json`.

    The keys of `Summary` have both runs, each named after its directory, and the version of the
    Sojourn that compared them.
    """

    a: ComparedRun
    b: ComparedRun
    shift_b_s: float
    only_in_a: OnlyIn
    only_in_b: OnlyIn
    not_compared: list[NotCompared]
    flows: list[FlowComparison]
    links: list[LinkComparison]
