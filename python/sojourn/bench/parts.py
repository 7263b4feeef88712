"""Where the time of a packet goes: a metered run says which part is at work, and is looked at.

What is looked at is a run of its own. The shares that it finds are of the time that a packet takes
in the runs that are not metered.
"""

from sojourn.bench.contract import Parts
from sojourn.bench.measure import PartsOf, run_worker
from sojourn.bench.plan import SAMPLED, Case, Plan


def teller(plan: Plan) -> PartsOf:
    """What tells where the time of a case's packets goes, recording included."""

    def parts_of(case: Case, whole: float) -> Parts:
        return shared(whole, run_worker(plan, case.changed(SAMPLED), looks=plan.looks)["looks"])

    return parts_of


def shared(whole: float, looks: dict[str, int]) -> Parts:
    """The time of a packet, shared out by the looks that found each part at work."""
    each = {part: whole * count / sum(looks.values()) for part, count in looks.items()}
    return {
        "queue": each["queue"],
        "transport": each["transport"],
        "controller": each["controller"],
        "engine": each["engine"],
        "recording": each["recording"],
    }
