"""The verdict on each change of capacity: the decisions as data, and one text from them."""

import json
from collections.abc import Sequence
from typing import cast

from sojourn import _core
from sojourn.record.record_types import LinkUnavoidable, Verdict
from sojourn.record.summary import Summary


def of(summary: Summary) -> list[Verdict]:
    """Return the verdict on each change of capacity, in the order of the first run's changes."""
    return cast(list[Verdict], json.loads(_core.verdicts(json.dumps(summary))))


def sentences(summary: Summary) -> list[str]:
    """Return one sentence for each link with a trace, and for the greatest changes of capacity."""
    traces = [one["text"] for one in summary.get("unavoidable") or []]
    return [*traces, *_core.sentences(json.dumps(summary))]


def judge_traces(found: Sequence[LinkUnavoidable], summary: Summary) -> list[LinkUnavoidable]:
    """Compare the controllers with the unavoidable delay of each link."""
    judged = _core.judge_traces(json.dumps(found), json.dumps(summary))
    return cast(list[LinkUnavoidable], json.loads(judged))
