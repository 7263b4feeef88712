"""The verdict on each change of capacity: the decisions as data, one text and one picture."""

import json
from collections.abc import Sequence
from typing import TypedDict, cast

from sojourn import _core
from sojourn.record.record_types import LinkUnavoidable, Verdict, VerdictPicture
from sojourn.record.summary import Summary


class Judgement(TypedDict):
    """The meaning of a summary."""

    sentences: list[str]
    """One for each link with a trace, and for the greatest changes of capacity."""
    verdicts: list[Verdict]
    """The verdict on each change of capacity, in the order of the first run's changes."""
    picture: VerdictPicture | None
    """Their picture; None if no packet waited."""


def of(summary: Summary) -> Judgement:
    """Judge the runs of a summary."""
    return cast(Judgement, json.loads(_core.judge(json.dumps(summary))))


def judge(summary: Summary) -> None:
    """Add the verdicts and their picture to a summary, in place of earlier ones."""
    found = of(summary)
    summary.pop("verdicts", None)
    summary.pop("picture", None)
    if found["verdicts"]:
        summary["verdicts"] = found["verdicts"]
    if found["picture"] is not None:
        summary["picture"] = found["picture"]


def judge_traces(found: Sequence[LinkUnavoidable], summary: Summary) -> list[LinkUnavoidable]:
    """Compare the controllers with the unavoidable delay of each link."""
    judged = _core.judge_traces(json.dumps(found), json.dumps(summary))
    return cast(list[LinkUnavoidable], json.loads(judged))
