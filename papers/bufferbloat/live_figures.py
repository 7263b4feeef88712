"""Figures of `paper run bufferbloat --live`: published values, live and simulated hosts."""

from itertools import pairwise
from statistics import fmean, median

from sojourn_papers import Claim, Lab, Table
from sojourn_papers.live_runs import stolen_ms
from sojourn_papers.measured import Value

from .live import EVERY, MORE, Both, is_ipv6, recording, recordings, sizes, span_s
from .pictures import course, dispersion
from .runs import HOSTS, Recording, in_ms, samples, spread_ms

# Half of the 50 ms between the grid lines of figure 5.
_READ_MS = 25
_SAWTOOTH_KB = 300


def figure_4(lab: Lab) -> list[Claim]:
    """Measure the dispersion by queue size with live hosts, in the first recording."""
    runs = {size: recording(lab, size) for size in sizes(lab)}
    live = {size: both.live for size, both in runs.items()}
    dispersion(lab, live, "figure-4-live", "RTTs by queue size, live")
    medians = [
        [median(in_ms([one])["application A"]) for one in (both.live, both.simulated)]
        for both in runs.values()
    ]
    ours, simulated = zip(*medians, strict=True)
    names = ", ".join(f"{size}" for size in runs)
    why = f"medians at {names} kB (application, A); simulated {_in_turn(simulated)}"
    rises = all(a < b for a, b in pairwise(ours))
    return [Claim("RTTs grow with the queue", "yes", _in_turn(ours), "", rises, why)]


def _in_turn(of: tuple[float, ...]) -> str:
    return ", ".join(f"{one:.0f}" for one in of) + " ms"


def figure_5(lab: Lab) -> list[Claim]:
    """Measure the RTTs over time with live hosts, at the largest queue, in the first recording."""
    size = sizes(lab)[-1]
    both = recording(lab, size)
    title = f"RTTs with a queue of {size} kB: the kernel's CUBIC, live"
    course(lab, "figure-5-live", both.live, title, EVERY, span_s(lab))
    low, high = (_quantile(both.live, share) for share in (0.01, 0.99))
    other_low, other_high = (_quantile(both.simulated, share) for share in (0.01, 0.99))
    top = f"99th percentile; simulated {other_high:.0f} ms"
    bottom = f"1st percentile; simulated {other_low:.0f} ms. CUBIC multiplies its window by 0.7"
    if size != _SAWTOOTH_KB:
        # A quick run has no queue of the published size.
        return [
            Claim(f"{size} kB: top of the sawtooth", None, high, "ms", None, top),
            Claim(f"{size} kB: bottom of the sawtooth", None, low, "ms", None, bottom),
        ]
    published = lab.published()["5"]
    greatest, least = published["greatest_ms"], published["least_ms"]
    top += ". Holds within half the distance of the figure's grid lines, 25 ms"
    return [
        Claim("top of the sawtooth", greatest, high, "ms", abs(high - greatest) <= _READ_MS, top),
        Claim("bottom of the sawtooth", least, low, "ms", abs(low - least) <= _READ_MS, bottom),
    ]


def _quantile(recording: Recording, share: float) -> float:
    ranked = sorted(ms for each in in_ms([recording]).values() for ms in each)
    return ranked[round(share * (len(ranked) - 1))]


def layers(lab: Lab) -> list[Claim]:
    """Compare the means and medians of all layers at both hosts, live and simulated."""
    found = {size: recordings(lab, size) for size in sizes(lab)}
    lab.table(_table(found))
    lab.note(
        f"{'IPv6' if is_ipv6(lab) else 'IPv4'}. All layers have one clock. ICMP: echo requests, "
        "answered by the kernel. TCP: `sojourn rtt` on captures at both hosts. Application: from a "
        "request until its response. TCP_INFO: the samples behind the server's smoothed RTT. "
        "Links: the time of an echo request and its reply on the links, from both captures: the "
        "sojourn times in both queues, the transmission, and 0.5 ms of delay."
    )
    return [claim for size, runs in found.items() for claim in _agreement(lab, size, runs)]


def _agreement(lab: Lab, size: int, runs: list[Both]) -> list[Claim]:
    within = lab.published()["layers"]["within_ms"]
    live, simulated = [both.live for both in runs], [both.simulated for both in runs]
    mean, middle = spread_ms(live)
    other_mean, other_middle = spread_ms(simulated)
    means, middles = (
        ", ".join(f"{name} {of(ms):.1f}" for name, ms in in_ms(live).items())
        for of in (fmean, median)
    )
    return [
        Claim(
            f"{size} kB: means within",
            within,
            mean,
            "ms",
            mean <= within,
            f"{means}; simulated within {other_mean:.1f} ms",
        ),
        Claim(
            f"{size} kB: medians within",
            within,
            middle,
            "ms",
            middle <= within,
            f"{middles}; simulated within {other_middle:.1f} ms",
        ),
        *(_beyond(size, live, layer) for layer in MORE),
    ]


def _beyond(size: int, live: list[Recording], layer: str) -> Claim:
    """Compare a layer beyond the paper with ICMP, at both hosts."""
    apart = [
        of(_all(live, "ICMP", host)) - of(_all(live, layer, host))
        for of in (fmean, median)
        for host in HOSTS
        if _all(live, layer, host)
    ]
    text = ", ".join(f"{one:+.1f}" for one in apart)
    name = f"{size} kB: ICMP minus {layer}, means and medians"
    return Claim(name, None, text, "ms", None, "beyond the paper: means at A and B, then medians")


def _all(recordings: list[Recording], layer: str, host: str) -> list[float]:
    return [ms for one in recordings for _, ms in samples(one, layer, host)]


def _table(found: dict[int, list[Both]]) -> Table:
    columns = {
        "queue_bytes": "queue, bytes",
        "layer": "layer",
        "host": "host",
        "samples": "samples",
        "mean_ms": "live mean",
        "median_ms": "median",
        "min_ms": "min",
        "max_ms": "max",
        "simulated_samples": "simulated samples",
        "simulated_mean_ms": "mean",
        "simulated_median_ms": "median",
        "simulated_min_ms": "min",
        "simulated_max_ms": "max",
        "stolen_ms": "stolen",
    }
    rows = [
        _row(size, layer, host, runs)
        for size, runs in found.items()
        for layer in EVERY
        for host in HOSTS
    ]
    title = "RTTs in ms, by layer and host; stolen: greatest processor time that a hypervisor took"
    return Table(f"{title} from a run", columns, rows)


def _row(size: int, layer: str, host: str, runs: list[Both]) -> dict[str, Value]:
    live = _all([both.live for both in runs], layer, host)
    simulated = _all([both.simulated for both in runs], layer, host)
    return {
        "queue_bytes": 1000 * size,
        "layer": layer,
        "host": host,
        "samples": len(live),
        "mean_ms": fmean(live) if live else None,
        "median_ms": median(live) if live else None,
        "min_ms": min(live, default=None),
        "max_ms": max(live, default=None),
        "simulated_samples": len(simulated),
        "simulated_mean_ms": fmean(simulated) if simulated else None,
        "simulated_median_ms": median(simulated) if simulated else None,
        "simulated_min_ms": min(simulated, default=None),
        "simulated_max_ms": max(simulated, default=None),
        "stolen_ms": stolen_ms(both.live.run for both in runs),
    }
