"""The time of a packet by component, from a sampling profile.

A metered run publishes its active component, and another thread samples it. The resulting shares
are applied to the time per packet of runs without metering.
"""

from sojourn.bench.contract import Parts
from sojourn.bench.measure import PartsOf, run_worker
from sojourn.bench.plan import SAMPLED, Case, Plan


def teller(plan: Plan) -> PartsOf:
    """Build the function that splits a case's time per packet, recording included."""

    def parts_of(case: Case, whole: float) -> Parts:
        return shared(whole, run_worker(plan, case.changed(SAMPLED), looks=plan.looks)["looks"])

    return parts_of


def shared(whole: float, looks: dict[str, int]) -> Parts:
    """Split the time of a packet in proportion to the samples of each component."""
    each = {part: whole * count / sum(looks.values()) for part, count in looks.items()}
    return {
        "queue": each["queue"],
        "transport": each["transport"],
        "controller": each["controller"],
        "engine": each["engine"],
        "recording": each["recording"],
    }
