"""Figure 5: spikes of real controllers on the testbed, measured and simulated."""

from collections.abc import Mapping, Sequence
from statistics import median

from sojourn.errors import UsageError
from sojourn.picture import chart
from sojourn_papers import Ask, Claim, Lab

from .testbed import Cell, Spikes, cell, rows, spikes

PAPERS = ("cubic", "bbr", "dctcp")
"""The controllers that the paper measures."""
BEYOND = ("reno", "bbr3", "prague", "lola", "rapid", "ideal")
DELAYS_MS = (25, 50, 75, 100)
RATIOS = (1.5, 2.0, 3.0, 4.0, 6.0)
"""Capacity before over after, at d = 50 ms; published measurements exist only for 2."""
SCENARIO = "../../scenarios/testbed.toml"
DATA = "latency-spike-testbed.csv"
"""The authors' measurements."""
Row = dict[str, str]
COLUMNS = (SPIKE, BOUND) = (
    "peak_minus_d_drop_aligned_ms",
    "bound_corr_last1s_ms",
)
"""Columns of the measurements, all aligned on the drop."""


def figure_5(lab: Lab) -> list[Claim]:
    """Simulate every controller at the testbed's four delays, with thirty runs each."""
    measured = measurements(lab)
    found = {(c, d): _cell(lab, c, d, measured.get((c, d))) for c in PAPERS for d in DELAYS_MS}
    beyond = {(c, d): _cell(lab, c, d, None) for c in BEYOND for d in DELAYS_MS}
    lab.draw("figure-5", _picture({**found, **beyond}, measured))
    by_ratio = {c: [_at_ratio(lab, c, r) for r in RATIOS] for c in PAPERS}
    lab.draw("figure-5-ratios", _ratios_picture(by_ratio))
    claims: list[Claim | None]
    claims = [_against_measured(one) for one in found.values() if isinstance(one, Cell)]
    claims += [*(_never_below(lab, found, one) for one in ("bbr", "dctcp")), *_cubic(lab, found)]
    claims += [_never_below_any(lab, by_ratio, control) for control in ("bbr", "dctcp")]
    claims += [_corrected(lab, measured), *(_beyond(beyond, control) for control in BEYOND)]
    if lab.quick:
        lab.note("A quick run: 15 runs of the paper's controllers, and 4 of all others.")
    if not measured:
        lab.note(f"The authors' measurements ({DATA}) were not found: give their path with --data.")
    return [one for one in claims if one is not None]


def measurements(lab: Lab) -> dict[tuple[str, int], Row]:
    """Load the authors' own data points, if they are available."""
    if lab.data is None:
        return {}
    file = lab.data / DATA if lab.data.is_dir() else lab.data
    found = rows(file) if file.is_file() else []
    if found and not found[0].keys() >= {"cc", "d_ms", *COLUMNS}:
        names = ", ".join(["cc", "d_ms", *COLUMNS])
        raise UsageError(f"--data {file}: figure 5 needs the columns {names}")
    return {(row["cc"], round(float(row["d_ms"]))): row for row in found}


def _cell(lab: Lab, control: str, delay_ms: int, row: Row | None) -> Spikes:
    changed: dict[str, object] = {"link.netem.delay": f"{delay_ms}ms"}
    if control == "rapid":
        # This controller needs the arrival time of each packet.
        changed["flow.upload.host.receive_times"] = True
    count = lab.pick(30, 15 if control in PAPERS else 4)
    (run,) = lab.runs([Ask(SCENARIO, changed, control)], count, keep=False)
    return spikes(run, control, delay_ms) if row is None else cell(row, run)


def _at_ratio(lab: Lab, control: str, ratio: float) -> Spikes:
    changed = {"link.bottleneck.rate.steps.0.rate": f"{60e6 / ratio:.0f}bit"}
    (run,) = lab.runs([Ask(SCENARIO, changed, control)], lab.pick(15, 4), keep=False)
    return spikes(run, control, 50)


def _against_measured(one: Cell) -> Claim:
    low, high = one.quantile(0.05), one.quantile(0.95)
    why = (
        f"median of {len(one.spikes_ms)} runs, 5th to 95th percentile {low:.1f} to {high:.1f} ms. "
    )
    why += "Holds if the one measured run lies in this range"
    outside = outside_ms(one)
    if outside:
        why += f". It lies {abs(outside):.1f} ms {'above' if outside > 0 else 'below'}, "
        why += f"{100 * abs(outside) / one.measured_ms:.1f} % of the measured spike"
    name = f"{one.control}, d = {one.delay_ms:.0f} ms"
    ours = median(one.spikes_ms)
    return Claim(name, one.measured_ms, ours, "ms", one.is_inside, why)


def outside_ms(one: Cell) -> float:
    """Distance of the measured spike above the 95th percentile, or (negative) below the 5th."""
    low, high = one.quantile(0.05), one.quantile(0.95)
    return max(0.0, one.measured_ms - high) - max(0.0, low - one.measured_ms)


Cells = Mapping[tuple[str, int], Spikes]


def _never_below(lab: Lab, found: Cells, control: str) -> Claim:
    ours = of = 0
    for delay_ms in DELAYS_MS:
        one = found[control, delay_ms]
        of += len(one.bounds_ms)
        ours += below(one.true_spikes_ms, one.bounds_ms)
    name = f"runs of {control} below the bound"
    why = "peak queueing delay at the bottleneck"
    return Claim(name, lab.value("below_bound"), ours, f"of {of}", ours == 0, why)


def _never_below_any(lab: Lab, by_ratio: Mapping[str, Sequence[Spikes]], control: str) -> Claim:
    ones = by_ratio[control]
    ours = sum(below(one.true_spikes_ms, one.bounds_ms) for one in ones)
    of = sum(len(one.bounds_ms) for one in ones)
    each = ", ".join(f"{median(one.true_spikes_ms):.0f}" for one in ones)
    why = f"d = 50 ms; medians {each} ms for r of 1.5, 2, 3, 4 and 6"
    name = f"runs of {control} below the bound at other ratios"
    return Claim(name, lab.value("below_bound"), ours, f"of {of}", ours == 0, why)


def below(spikes_ms: Sequence[float], bounds_ms: Sequence[float]) -> int:
    """Count spikes more than one packet below their bound; a packet takes 0.4 ms."""
    return sum(one < bound - 0.4 for one, bound in zip(spikes_ms, bounds_ms, strict=True))


def _cubic(lab: Lab, found: Cells) -> list[Claim]:
    ones = [found["cubic", delay_ms] for delay_ms in DELAYS_MS]
    lower = [below(one.true_spikes_ms, one.bounds_ms) for one in ones]
    runs = len(ones[0].bounds_ms)
    ours = ", ".join(f"{d} ms: {n}" for d, n in zip(DELAYS_MS, lower, strict=True))
    why = (
        f"of {runs} runs at each delay, with the drop at any phase of CUBIC's sawtooth. The paper "
    )
    why += "has one run per delay, and at 25 and 50 ms its drop occurred at the top of the "
    why += "sawtooth. Holds if no run at 25 and 50 ms is below the bound"
    name = "runs of CUBIC below the bound"
    first = Claim(name, lab.value("cubic_below_bound"), ours, "", sum(lower[:2]) == 0, why)
    second = sum(below(one.true_spikes_ms, one.corrected_ms) for one in ones)
    last = sum(below(one.true_spikes_ms, one.last_round_ms) for one in ones)
    why = "Holds if no run is below the bound for the rate of the last round trip before the drop: "
    why += f"{last} are, because a reduction was in progress when the capacity fell. With the rate "
    why += (
        f"of the last second, as in the published data, {second} are: shortly after a reduction, "
    )
    why += "CUBIC sends less than the mean of that second"
    name = "runs of CUBIC below the bound corrected for saturation"
    corrected = lab.value("below_corrected_bound")
    ours = f"{last} to {second} of {4 * runs}"
    return [first, Claim(name, corrected, ours, "", last == 0, why)]


def _corrected(lab: Lab, measured: Mapping[tuple[str, int], Row]) -> Claim | None:
    """Check the paper's own claim against its own data."""
    if not measured:
        return None
    lower = sum(float(row[SPIKE]) < float(row[BOUND]) for row in measured.values())
    why = "measured spikes, aligned with the drop, and the bound for the delivery rate of the "
    why += "second before it"
    name = "measured spikes below the corrected bound"
    published = lab.value("below_corrected_bound")
    return Claim(name, published, lower, f"of {len(measured)}", lower == 0, why)


def _beyond(beyond: Cells, control: str) -> Claim:
    ones = [beyond[control, delay_ms] for delay_ms in DELAYS_MS]
    ours = ", ".join(f"{median(one.true_spikes_ms):.0f}" for one in ones)
    lower = sum(below(one.true_spikes_ms, one.bounds_ms) for one in ones)
    of = sum(len(one.bounds_ms) for one in ones)
    why = f"beyond the paper: median spikes for d of 25, 50, 75, 100 ms; {lower} of {of} runs are "
    why += "below the bound"
    return Claim(f"{control}: spikes", None, f"{ours} ms", "", None, why)


def _picture(found: Cells, measured: Mapping[tuple[str, int], Row]) -> chart.Document:
    controls = list(dict.fromkeys(control for control, _ in found))
    panels = [_panel(control, found, measured) for control in controls]
    thirds = [panels[place : place + 3] for place in range(0, len(panels), 3)]
    subtitle = [
        "60 to 30 Mbit/s, fq_codel with ECN; blue: median and 5th to 95th percentile, sampled like "
        "the testbed",
        "black: the authors' measurements; dashed: the bound; grey crosses: the bound, corrected "
        "for saturation",
    ]
    return chart.Document("Figure 5: the spike over the delay", subtitle, thirds)


def _panel(control: str, found: Cells, measured: Mapping[tuple[str, int], Row]) -> chart.Panel:
    ones = [(d, found[control, d]) for d in DELAYS_MS]
    blue = chart.COLOURS[0]
    layers = [chart.line("bound", [(20, 20), (105, 105)], chart.PUBLISHED, (5, 3), width=1.2)]
    layers += [
        chart.line("ours", [(d, one.quantile(0.05)), (d, one.quantile(0.95))], blue, width=3)
        for d, one in ones
    ]
    layers.append(chart.dots("ours", [(d, median(one.spikes_ms)) for d, one in ones], blue))
    corrected = [(float(d), median(one.corrected_ms)) for d, one in ones]
    layers.append(chart.dots("corrected", corrected, "#888888", "cross"))
    points = [
        (float(d), float(measured[control, d][SPIKE]))
        for d in DELAYS_MS
        if (control, d) in measured
    ]
    if points:
        layers.append(chart.dots("published", points, chart.PUBLISHED, "diamond", 60))
    return _small(control, "d (ms)", layers, [0, 110])


def _small(
    control: str, x: str, layers: Sequence[chart.Layer], domain: Sequence[float]
) -> chart.Panel:
    scale: chart.Scale = {"domain": domain}
    title = f"{control} (ms)"
    return chart.Panel(title, x, "ms", layers, width=230, height=170, x_scale=scale, columns=2)


def _ratios_picture(by_ratio: Mapping[str, Sequence[Spikes]]) -> chart.Document:
    bound = [(1.0, 0.0), (6.2, 5.2 * 50)]
    panels = []
    for control, ones in by_ratio.items():
        found = list(zip(RATIOS, ones, strict=True))
        spans = [[(r, one.quantile(0.05)), (r, one.quantile(0.95))] for r, one in found]
        layers = [chart.line("published: bound", bound, chart.PUBLISHED, (5, 3), width=1.2)]
        layers += [chart.line("ours", span, chart.COLOURS[0], width=3) for span in spans]
        points = [(r, median(one.spikes_ms)) for r, one in found]
        layers.append(chart.dots("ours", points, chart.COLOURS[0]))
        panels.append(_small(control, "r", layers, [1, 6.4]))
    subtitle = "d = 50 ms; median and 5th to 95th percentile, sampled like the testbed"
    return chart.Document("Figure 5: the spike over the ratio", subtitle, [panels])
