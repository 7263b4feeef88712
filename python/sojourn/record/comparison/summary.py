"""JSON of a comparison: `compare --json` and `comparison.json`.

Changes may add keys but never rename one. The text after a key is its meaning in the reference
(`sojourn columns`).
"""

from typing import TypedDict

from sojourn.record.summary import Summary


class Compared(TypedDict):
    """A figure of both runs; null if unknown."""

    a: float | None
    b: float | None
    """its value in either run: the mean or the median over the seeds"""
    difference: float | None
    """B minus A"""
    ratio: float | None
    """B over A"""


class ComparedSteps(Compared):
    """A figure over the steps of the common time."""

    cells_a: int
    cells_b: int
    """steps with a value, over all seeds of a side"""


class WindowComparison(TypedDict):
    """The difference between B's and A's congestion window per step; ratios are relative to A's."""

    cells: int
    """steps that have a window on both sides"""
    mean_relative_difference: float | None
    """mean of the differences without their sign, over A's window"""
    largest_difference_bytes: float
    """the largest difference"""
    largest_difference_ratio: float
    """the same over A's window"""
    largest_difference_at_s: float
    """when it was"""
    correlation: float | None
    """Pearson's; null if one of the windows is constant"""


class PairComparison(TypedDict):
    """The compared item, and the steps that both sides have."""

    control: str
    """the controller of its run"""
    name: str
    """its name"""
    seeds_a: list[int]
    seeds_b: list[int]
    """the seeds of either side"""
    from_s: float
    until_s: float
    """the common time"""
    interval_s: float
    """length of a step"""
    cells: int
    """number of steps"""


class FlowComparison(PairComparison):
    """A flow that both sides have.

    Percentiles of peaks are those of the greatest value in each step, with linear interpolation,
    and depend on the length of a step.
    """

    goodput_bps: ComparedSteps
    """mean over the common time"""
    rtt_column: str | None
    """the source of the peaks of round-trip times: `rtt_s`, or `srtt_s` if a side lacks it"""
    rtt_peak_p50_s: ComparedSteps
    rtt_peak_p95_s: ComparedSteps
    rtt_peak_p99_s: ComparedSteps
    """percentiles of the peaks of round-trip times"""
    run_goodput_bps: Compared
    rtt_p50_s: Compared
    rtt_p99_s: Compared
    response_p50_s: Compared
    response_p99_s: Compared
    completion_s: Compared
    run_dropped_packets: Compared
    run_marked_packets: Compared
    run_retransmitted_packets: Compared
    """medians, over the seeds, of `summary.json` for the whole run, where a key has no `run_`"""
    window: WindowComparison | None
    """the congestion windows; null if one side has none"""


class LinkComparison(PairComparison):
    """A link that both sides have; peaks are as in a flow."""

    queue_delay_peak_p50_s: ComparedSteps
    queue_delay_peak_p95_s: ComparedSteps
    queue_delay_peak_p99_s: ComparedSteps
    queue_delay_peak_max_s: ComparedSteps
    """percentiles of the peaks of the queueing delay"""
    queue_delay_p50_s: Compared
    queue_delay_p99_s: Compared
    queue_delay_max_s: Compared
    run_utilisation: Compared
    run_dropped_packets: Compared
    run_marked_packets: Compared
    """medians, over the seeds, of `summary.json` for the whole run, where a key has no `run_`"""
    utilisation: ComparedSteps
    """carried bytes over the capacity of the common time"""
    dropped_packets: ComparedSteps
    marked_packets: ComparedSteps
    """drops and marks of the common time; means over the seeds"""


class ComparedRun(TypedDict):
    """One of the two sides."""

    directory: str
    """its directory"""
    controls: list[str]
    """the names of its entries in `runs`"""
    scenario: str
    version: str
    """those of its summary"""


class Difference(TypedDict):
    """A key in which the scenarios differ."""

    key: str
    """its path, such as `link.bottleneck.queue`"""
    a: str
    b: str
    """its values or defaults; `–` without either"""


class Named(TypedDict):
    """A flow or a link."""

    control: str
    """the controller of its run"""
    name: str
    """its name"""


class Renamed(Named):
    """A flow that was matched by its position, because the runs have no name in common."""

    name_b: str
    """its name in B; `name` is that in A"""


class OnlyIn(TypedDict):
    """Items that only one side has."""

    controls: list[str]
    """controllers"""
    flows: list[Named]
    links: list[Named]
    """flows and links"""


class NotCompared(Named):
    """An item that both sides have but that could not be compared."""

    what: str
    """`flow` or `link`"""
    why: str
    """the reason"""


class ComparisonSummary(Summary):
    """Output of `compare --json` of two runs, and the content of `comparison.json`.

    It has the keys of `summary.json` but for `controllers`; each of `runs` is named after its
    directory.
    """

    a: ComparedRun
    b: ComparedRun
    """the two sides"""
    differences: list[Difference]
    """keys in which their scenarios differ"""
    shift_b_s: float
    """time that was added to B's (`--shift-b`)"""
    by_position: list[Renamed]
    """flows that were matched by their position; everywhere else they have their name in A"""
    only_in_a: OnlyIn
    only_in_b: OnlyIn
    """items that only one side has"""
    not_compared: list[NotCompared]
    """items that could not be compared"""
    flows: list[FlowComparison]
    """the flows that both sides have"""
    links: list[LinkComparison]
    """the links that both sides have"""
