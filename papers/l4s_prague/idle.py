"""The resumption of traffic after a pause, with and without the repair."""

from collections.abc import Callable, Mapping

import polars as pl
from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn_papers import Claim, Lab

from .downloads import (
    PAYLOAD,
    SENDERS,
    completion_s,
    download,
    ends_s,
    reductions,
)

BEFORE_S, AFTER_S = 0.050, 0.200
"""Displayed time before and after the end of a file."""
RTT_S = 0.021
"""Delay of the first packets after a pause: 20 ms, plus the transmission of a request and a
packet."""
ROUND_S = 0.025
"""A round trip with 5 ms of queueing delay, the duration of the first epoch after a pause."""
SMALL_MS = 0.25
"""The draft's bucket size (section 2.5.2), close to zero."""
_PRETTY_MUCH_ALL = 0.9
"""Interpretation of the text's "pretty much all": at most one packet in ten is unmarked."""


def idle(lab: Lab) -> list[Claim]:
    """Draw the queue, the marks and the window around each pause."""
    runs = {name: download(lab, name) for name in ("repaired", "unrepaired")}
    small = download(lab, "unrepaired", SMALL_MS)
    shown = {
        "bucket of 6 ms": runs["unrepaired"],
        "6 ms, repaired": runs["repaired"],
        "bucket of 0.25 ms": small,
    }
    lab.draw("idle", _figure(shown))
    published = lab.published()
    saves = completion_s(runs["unrepaired"]) - completion_s(runs["repaired"])
    told = published["unrepaired"]["completion_s"] - published["repaired"]["completion_s"]
    lab.note(
        f"With a response per epoch, the repair saves {saves:.2f} s here, against "
        f"{told:.1f} s published. A step of 5 ms marks more than half of an epoch's packets each "
        "time the window reaches the step, with or without a pause. The queue grows during such an "
        "epoch, so the epoch lasts longer than the smoothed round trip. The draft's alpha is an "
        "average over 16 round trips; one epoch changes it little."
    )
    return [
        *_after_pauses(runs["unrepaired"], small),
        *_smoother(runs["repaired"], runs["unrepaired"]),
    ]


def _figure(shown: Mapping[str, Run]) -> chart.Document:
    rows = [[_panel(what, shown, pause) for pause in range(2)] for what in (_waiting, _window)]
    subtitle = (
        "A file ends at 0, and the next begins to arrive a round trip later; marks begin at 5 ms"
    )
    return chart.Document("After a pause", subtitle, rows)


Points = list[tuple[float, float]]


def _waiting(run: Run, end: float) -> Points:
    """Queueing delay: the transmission time of the queued data."""
    near = _near(run.link("down").series, end)
    waiting = near["queue_bytes"].cast(float) * 8 / 10e6
    return list(zip(1e3 * (near["t_s"] - end), 1e3 * waiting, strict=True))


def _window(run: Run, end: float) -> Points:
    near = _near(run.flow("files").series, end)
    return list(zip(1e3 * (near["t_s"] - end), near["cwnd_bytes"] / 1e3, strict=True))


_TITLES: dict[Callable[[Run, float], Points], tuple[str, str]] = {
    _waiting: ("Queue", "ms"),
    _window: ("Congestion window", "kB"),
}


def _near(series: pl.DataFrame, end: float) -> pl.DataFrame:
    return series.filter(pl.col("t_s").is_between(end - BEFORE_S, end + AFTER_S))


def _panel(
    what: Callable[[Run, float], Points], shown: Mapping[str, Run], pause: int
) -> chart.Panel:
    title, unit = _TITLES[what]
    layers = [chart.line(label, what(run, ends_s(run)[pause])) for label, run in shown.items()]
    return chart.Panel(
        f"{title} after file {pause + 1}",
        "ms",
        unit,
        layers,
        x_scale={"domain": [-1e3 * BEFORE_S, 1e3 * AFTER_S]},
        width=330,
        height=170,
    )


def after_pauses(run: Run) -> list[tuple[float, float]]:
    """Return two figures per pause: the share of marked packets, and the longest queue in ms.

    Both cover the first round trip after the pause.
    """
    return [_after(run, end) for end in ends_s(run)[:-1]]


def _after(run: Run, end: float) -> tuple[float, float]:
    within = pl.col("t_s").is_between(end + RTT_S, end + RTT_S + ROUND_S)
    first = run.flow("files").series.filter(within)
    marked, came = (
        int(first[column][-1]) - int(first[column][0])
        for column in ("marked_packets", "delivered_bytes")
    )
    queue = [ms for at_ms, ms in _waiting(run, end) if 0 < at_ms < 1e3 * (RTT_S + ROUND_S)]
    return marked * PAYLOAD / came, max(queue)


def _after_pauses(full: Run, small: Run) -> list[Claim]:
    shares, queues = zip(*after_pauses(full), strict=True)
    shares_small, queues_small = zip(*after_pauses(small), strict=True)
    return [
        Claim(
            "the burst from the bucket builds a queue after a pause",
            "a small queue",
            f"up to {max(queues):.1f} ms",
            "",
            max(queues) > 5.0 > max(queues_small),
            f"marks begin at 5 ms; with a bucket of {SMALL_MS} ms the queue reaches "
            f"{max(queues_small):.1f} ms",
        ),
        Claim(
            "packets marked in the first round trip after a pause",
            "pretty much all",
            ", ".join(f"{100 * share:.0f} %" for share in shares),
            "",
            min(shares) > _PRETTY_MUCH_ALL,
            f"Holds above {100 * _PRETTY_MUCH_ALL:.0f} % after every pause. Prague halves its "
            "window if more than half of an epoch's packets are marked. The share depends on the "
            f"window before the pause. With a bucket of {SMALL_MS} ms: "
            f"{', '.join(f'{100 * share:.0f} %' for share in shares_small)}",
        ),
    ]


def _smoother(repaired: Run, unrepaired: Run) -> list[Claim]:
    with_it, without = reductions(repaired), reductions(unrepaired)
    return [
        Claim(
            "window reductions by over a quarter: without, with the repair",
            "smoother with it",
            f"{without}, {with_it} times",
            "",
            with_it < without / 2,
            "Holds if the repair reduces the number to less than half",
        )
    ]


def bucket(lab: Lab) -> list[Claim]:
    """Measure completion times by bucket size, which the text does not specify."""
    sizes = lab.pick([0.25, 1, 2, 3, 4, 5, 6, 7, 8], [0.25, 2, 4, 6, 8])
    names = ("repaired", "unrepaired", "draft")
    done = {
        name: [(size, completion_s(download(lab, name, size))) for size in sizes] for name in names
    }
    layers = [
        layer
        for name, points in done.items()
        for layer in (
            chart.line(SENDERS[name].title, points),
            chart.dots(SENDERS[name].title, points),
        )
    ]
    for label, ours in (("repaired", 3.5), ("unrepaired", 3.7)):
        ends = [(0.0, ours), (8.0, ours)]
        layers.append(
            chart.line(f"{label}, published", ends, chart.PUBLISHED, _DASHES[label], width=1.2)
        )
    panel = chart.Panel(
        "Four files", "bucket, ms at the pacing rate", "s", layers, height=280, width=560
    )
    lab.draw("bucket", chart.Document("The repair by bucket size", "", [panel]))
    return _bucket_claims(dict(done["repaired"]), dict(done["unrepaired"]), dict(done["draft"]))


_DASHES = {"repaired": (2, 2), "unrepaired": (6, 3)}


def _bucket_claims(
    with_it: dict[float, float], without: dict[float, float], draft: dict[float, float]
) -> list[Claim]:
    saved = {size: without[size] - with_it[size] for size in with_it}
    least = min((size for size in saved if saved[size] > 0.2), default=None)
    spread = max(draft.values()) - min(draft.values())
    return [
        Claim(
            "smallest bucket with which the repair saves 0.2 s",
            None,
            least,
            "ms",
            None,
            "of the simulated sizes; marks begin at 5 ms of queueing delay",
        ),
        Claim(
            "the draft's Prague: range of the times over all bucket sizes",
            None,
            spread,
            "s",
            None,
            "the draft has no epochs",
        ),
    ]
