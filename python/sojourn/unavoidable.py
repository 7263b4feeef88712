"""The unavoidable delay of links that follow a trace, over the time of a run."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sojourn import _core
from sojourn.run_summary import LinkUnavoidable, RunSummary
from sojourn.theory import TraceTheory

# As `sojourn theory trace` averages a trace, and as the simulator signals it.
_STRETCH = "10ms"
# A longer trace takes seconds, and gigabytes of memory.
_MOST_OPPORTUNITIES = 3_000_000


def of(
    scenario: Mapping[str, Any], files: Mapping[str, str], runs: Sequence[RunSummary]
) -> list[LinkUnavoidable]:
    """Return the unavoidable delay of each link with a trace and with flows.

    `files` has the traces in the order of their links, as the run directory keeps them.
    """
    found = []
    for link, text in _traces(scenario, files).items():
        loop_s = _loop_s(link, scenario, runs[0])
        theory = _theory(text, loop_s, runs[0]["duration_s"]) if loop_s else None
        if loop_s and theory:
            drained = theory["drained"]
            found.append(
                LinkUnavoidable(
                    link=link,
                    loop_s=loop_s,
                    mean_rate_bps=theory["mean_rate_bps"],
                    queue_delay_p50_s=drained["p50_s"],
                    queue_delay_p99_s=drained["p99_s"],
                    queue_delay_max_s=drained["max_s"],
                    # `verdicts.judge_traces` compares the controllers.
                    controllers=[],
                    text="",
                )
            )
    return found


def series(
    scenario: Mapping[str, Any],
    files: Mapping[str, str],
    one: LinkUnavoidable,
    duration_s: float,
) -> list[tuple[float, float]]:
    """Return times and the unavoidable delay up to each, in seconds; empty without its trace."""
    text = _traces(scenario, files).get(one["link"])
    theory = _theory(text, one["loop_s"], duration_s, series=True) if text else None
    rows: list[Any] = theory["series"] if theory else []
    return [(row[0], row[3] or 0.0) for row in rows]


def _traces(scenario: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each link's trace."""
    rates = {name: link.get("rate") for name, link in scenario["link"].items()}
    links = [name for name, rate in rates.items() if isinstance(rate, dict) and "trace" in rate]
    texts = [text for name, text in files.items() if not name.endswith(".py")]
    return dict(zip(links, texts, strict=False))


def _loop_s(link: str, scenario: Mapping[str, Any], run: RunSummary) -> float | None:
    """Return the greatest loop delay of the flows over a link: their base round-trip time."""
    changes = [one["loop_s"] for one in run["spikes"] if one["link"] == link]
    known = [loop_s for loop_s in changes if loop_s]
    if known:
        return max(known)
    over = [name for name, flow in scenario["flow"].items() if link in flow.get("path", ())]
    # The copies of a flow with `count` have other names.
    own = [flow for flow in run["flows"] if flow["name"] in over] or run["flows"]
    return max((flow["base_rtt_s"] for flow in own), default=None)


def _theory(
    text: str, loop_s: float, duration_s: float, series: bool = False
) -> TraceTheory | None:
    """Compute the delay over the whole run, in which a trace may repeat; None if it is too long."""
    repeated = _repeated(text, round(1000 * duration_s))
    if repeated is None:
        return None
    delay = f"{max(round(1e9 * loop_s), 1)}ns"
    found = _core.theory_trace("trace", repeated, delay, _STRETCH, series)
    return cast(TraceTheory, json.loads(found))


def _repeated(text: str, duration_ms: int) -> str | None:
    """Return the opportunities of a trace up to a time; it begins again after its last one."""
    once = [int(word) for word in text.split()]
    period = once[-1]
    count = len(once) * (duration_ms // period + 1)
    if count > _MOST_OPPORTUNITIES:
        return None
    starts = range(0, duration_ms, period)
    every = [start + ms for start in starts for ms in once if start + ms < duration_ms]
    return "\n".join(map(str, [*every, duration_ms]))
