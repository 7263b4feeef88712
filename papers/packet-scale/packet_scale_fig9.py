"""Figure 9: utilisation over tau - eta, over the load, and over T_on / T_off.

Lines are the paper's model at its worst phase, dots are simulations there. A row is a kind of
Rapid, and of bursts; the paper has one row, of lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from packet_scale_setting import (
    AS_PRINTED,
    CAPACITY_MBIT,
    MODEL_SENDER,
    Job,
    Kind,
    Setting,
    measure,
)
from sojourn.papers import Claim, Lab
from sojourn.report import chart
from sojourn.report.chart import Panel, Point

_PERFECT_EXPONENTIAL = replace(MODEL_SENDER, filter="exponential")
_PROBING = replace(AS_PRINTED, filter="linear")
_RANDOM = {"distribution": "exponential"}
_KINDS = (
    MODEL_SENDER,
    _PERFECT_EXPONENTIAL,
    _PROBING,
    AS_PRINTED,
    replace(MODEL_SENDER, distribution="exponential"),
    replace(AS_PRINTED, distribution="exponential"),
)
# A burst that takes all leaves a sender that knows of it no rate to look up from.
_GREATEST_BURST = 0.9 * CAPACITY_MBIT
_QUICK_KINDS = (_KINDS[0], _KINDS[3], _KINDS[4])

# Where dots must lie for "match very well", as a share of C, with the reason.
_NEAR = {
    MODEL_SENDER: (0.003, "what the model assumes; packets are not fluid"),
    _PERFECT_EXPONENTIAL: (0.03, "63 % of the way after tau, where the model arrives"),
    _PROBING: (0.03, "the rates of a stream are 4.5 % apart, and the lower of two counts"),
    AS_PRINTED: (0.04, "both of these"),
    _KINDS[4]: (0.04, "random bursts have no phase, so they are not in the worst"),
    _KINDS[5]: (0.04, "no phase, which gains, and the two above, which lose"),
}


@dataclass(frozen=True)
class Curve:
    """A line of a panel: where its dots are, and where it is drawn."""

    column: str
    name: str
    at: Mapping[float, Setting]
    drawn: Mapping[float, Setting]


@dataclass(frozen=True)
class Sheet:
    """One of the three parts of the figure."""

    name: str
    title: str
    axis: str
    curves: Sequence[Curve]
    width: int


Dots = Mapping[tuple[str, str], Sequence[Point]]


def used(setting: Setting) -> float:
    """The model's utilisation. Above 1 nothing can be: see `_never_empty`."""
    return setting.model()["utilisation"]


def run(lab: Lab, sheet: Sheet) -> dict[Kind, Dots]:
    """Simulates every dot, and draws."""
    kinds = lab.pick(_KINDS, _QUICK_KINDS)
    found: dict[Kind, Dots] = {}
    for kind in kinds:
        is_random = kind.distribution == "exponential"
        seconds = lab.pick(12.0, 5.0) if is_random else lab.pick(3.0, 1.0)
        places = [(curve, x) for curve in sheet.curves for x in curve.at]
        jobs = [Job(curve.at[x], kind, seconds) for curve, x in places]
        dots: dict[tuple[str, str], list[Point]] = {}
        for (curve, x), one in zip(places, measure(lab, jobs), strict=True):
            dots.setdefault((curve.column, curve.name), []).append((x, one.used))
        found[kind] = dots
    _draw(lab, sheet, found)
    return found


def _draw(lab: Lab, sheet: Sheet, found: Mapping[Kind, Dots]) -> None:
    rows = []
    columns = list(dict.fromkeys(curve.column for curve in sheet.curves))
    names = list(dict.fromkeys(curve.name for curve in sheet.curves))
    colours = dict(zip(names, chart.COLOURS, strict=False))
    for place, (kind, dots) in enumerate(found.items()):
        row = []
        for column in columns:
            layers = []
            for curve in (one for one in sheet.curves if one.column == column):
                line = [(x, used(setting)) for x, setting in curve.drawn.items()]
                colour = colours[curve.name]
                layers.append(chart.line(curve.name, [p for p in line if p[1] <= 1], colour))
                layers.append(chart.dots(curve.name, dots[column, curve.name], colour, size=30))
            title = f"{kind.name}" if column == columns[0] else column
            row.append(
                Panel(
                    title if place or column != columns[0] else f"{kind.name}",
                    sheet.axis,
                    "utilisation",
                    layers,
                    width=sheet.width,
                    height=130,
                    y_scale={"domain": [0.6, 1.0]},
                    legend=place == 0,
                )
            )
        rows.append(row)
    subtitle = [
        "lines: the paper's model at its worst phase; dots: simulations there",
        f"columns: {'; '.join(columns)}",
    ]
    lab.draw(f"figure-{sheet.name}", chart.document(sheet.title, subtitle, rows))


def near(sheet: Sheet, found: Mapping[Kind, Dots]) -> list[Claim]:
    """How far the dots of each kind lie from the model's lines."""
    claims = []
    for kind, dots in found.items():
        apart: list[float] = []
        beyond: list[float] = []
        for curve in sheet.curves:
            for x, ours in dots[curve.column, curve.name]:
                model, setting = used(curve.at[x]), curve.at[x]
                is_seen = kind.estimator == "ideal" or setting.burst <= _SEEN * CAPACITY_MBIT
                if model <= 1:
                    (apart if is_seen else beyond).append(ours - model)
        if beyond:
            claims.append(_beyond(kind, beyond))
        middle, most = median(abs(one) for one in apart), _range(apart)
        within, why = _NEAR[kind]
        text = f"{100 * middle:.2f} points ({most}) over {len(apart)}"
        claims.append(
            Claim(
                f"{kind.name}: median departure from the model",
                "matches very well",
                text,
                "",
                middle < within,
                f"within {100 * within:g} points: {why}",
            )
        )
    return claims


# Streams look down to 0.57 of their rate: less is not told apart.
_SEEN = 0.5


def _beyond(kind: Kind, apart: Sequence[float]) -> Claim:
    text = f"{100 * median(map(abs, apart)):.1f} points ({_range(apart)}) over {len(apart)}"
    return Claim(
        f"{kind.name}: the same where bursts take more than half of C",
        None,
        text,
        "",
        None,
        "streams look down to 0.57 of their rate and up to twice it: the rate falls less far in a "
        "burst, which carries more and queues more, or rises more slowly after it",
    )


def _range(apart: Sequence[float]) -> str:
    return f"{100 * min(apart):+.1f} to {100 * max(apart):+.1f}"


def figure_9a(lab: Lab) -> list[Claim]:
    """Over tau - eta."""
    bursts = {
        "T_on 100, T_off 350 ms, 111 Mbit/s": Setting(100, 350, 111, 0, 0),
        "100, 200 ms, 111 Mbit/s": Setting(100, 200, 111, 0, 0),
        "100, 100 ms, 300 Mbit/s": Setting(100, 100, 300, 0, 0),
    }
    shares = lab.pick((0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.5))
    curves = []
    for column, burst in bursts.items():
        for tau in (50.0, 500.0, 1000.0):
            at = [round(1 + share * (tau - 2)) for share in shares]
            fine = [1 + place / 40 * (tau - 2) for place in range(41)]
            curves.append(
                Curve(
                    column,
                    f"tau {tau:g} ms",
                    {float(x): replace(burst, tau=tau, eta=tau - x) for x in at},
                    {x: replace(burst, tau=tau, eta=tau - x) for x in fine},
                )
            )
    title = "Figure 9a: utilisation over tau - eta"
    sheet = Sheet("9a", title, "tau - eta, ms", curves, 200)
    found = run(lab, sheet)
    dots = found[MODEL_SENDER]
    falls = sum(_falls(one) for one in dots.values())
    burst = bursts["T_on 100, T_off 350 ms, 111 Mbit/s"]
    at_49 = {tau: used(replace(burst, tau=tau, eta=tau - 49)) for tau in (50.0, 500.0, 1000.0)}
    slope = -burst.load / CAPACITY_MBIT / (2 * burst.on)
    (x0, y0), *_, (x1, y1) = dots["T_on 100, T_off 350 ms, 111 Mbit/s", "tau 50 ms"]
    ours = (y1 - y0) / (x1 - x0)
    return [
        Claim(
            "utilisation falls with tau - eta: curves",
            "all",
            f"{falls} of {len(dots)}",
            "",
            falls == len(dots),
            "dots of the model's sender",
        ),
        Claim(
            "its slope by equation 4, -R_avg / (2 C T_on)",
            1e3 * slope,
            1e3 * ours,
            "per s",
            abs(ours / slope - 1) < 0.1,
            "the first column with tau 50 ms, first dot to last; the dots are within 0.3 points, "
            "which is a tenth of the difference",
        ),
        Claim(
            "tau 500 ms and 1 s are close, and 50 ms is far below: utilisation at 49 ms",
            "fairly close",
            " / ".join(f"{at_49[tau]:.3f}" for tau in (50.0, 500.0, 1000.0)),
            "",
            abs(at_49[500.0] - at_49[1000.0]) < 0.5 * abs(at_49[50.0] - at_49[500.0]),
            "tau 50 ms, 500 ms, 1 s: the model, first column",
        ),
        *near(sheet, found),
    ]


def _falls(points: Sequence[Point]) -> bool:
    """Whether each is below the last, but for what packets may do."""
    return all(b[1] < a[1] + 0.002 for a, b in pairwise(points))


def figure_9b(lab: Lab) -> list[Claim]:
    """Over the load."""
    pairs = ((100.0, 400.0), (100.0, 200.0), (100.0, 100.0), (100.0, 25.0))
    shares = lab.pick((0.25, 0.5, 0.75, 0.9), (0.5, 0.9))
    curves = []
    for tau in (50.0, 1000.0):
        for on, off in pairs:
            greatest = CAPACITY_MBIT * on / (on + off)
            base = Setting(on, off, 0, tau, tau - 1)
            fine = [greatest * place / 40 for place in range(1, 41)]
            curves.append(
                Curve(
                    f"tau {tau:g} ms",
                    f"T_off {off:g} ms",
                    {
                        greatest * share / CAPACITY_MBIT: replace(base, load=greatest * share)
                        for share in shares
                    },
                    {load / CAPACITY_MBIT: replace(base, load=load) for load in fine},
                )
            )
    title = "Figure 9b: utilisation over the load; T_on 100 ms, tau - eta 1 ms"
    sheet = Sheet("9b", title, "R_avg / C", curves, 290)
    found = run(lab, sheet)
    dots = found[MODEL_SENDER]
    falls = sum(_falls(one) for one in dots.values())
    at_200 = [used(Setting(on, off, 199, 1000, 999)) for on, off in pairs]
    half = [(on, off, 500 * on / (on + off)) for on, off in pairs]
    spread, gain = [], []
    for on, off, load in half:
        small = [used(Setting(on, off, load, tau, tau - 1)) for tau in (250, 500, 1000)]
        spread.append(max(small) - min(small))
        gain.append(small[-1] - used(Setting(on, off, load, 50, 49)))
    return [
        Claim(
            "utilisation falls with the load: curves",
            "all",
            f"{falls} of {len(dots)}",
            "",
            falls == len(dots),
            "dots of the model's sender",
        ),
        Claim(
            "more so for smaller T_on / T_off: utilisation at 0.2 for 1/4, 1/2, 1, 4",
            "rises",
            ", ".join(f"{one:.3f}" for one in at_200),
            "",
            at_200 == sorted(at_200),
            "the model, tau 1 s",
        ),
        Claim(
            "small-scale bursts (tau 1 s) cost less than large-scale ones (50 ms): gain",
            "in every case",
            ", ".join(f"{100 * one:.1f}" for one in gain),
            "points",
            min(gain) > 0,
            "the model at half of the greatest load; T_off 400, 200, 100, 25 ms",
        ),
        Claim(
            "among tau 250, 500 ms, 1 s the difference is small",
            "fairly close",
            ", ".join(f"{100 * one:.1f}" for one in spread),
            "points",
            all(a < 0.5 * b for a, b in zip(spread, gain, strict=True)),
            "the same; holds where it is less than half of the gain",
        ),
        *_never_empty(lab),
        *near(sheet, found),
    ]


def _never_empty(lab: Lab) -> list[Claim]:
    """Where load and throughput add up to more than C the queue cannot empty, and grows."""
    setting = Setting(100, 400, 20, 250, 249)
    above = used(setting) - 1
    short, long = (
        measure(lab, [Job(setting, MODEL_SENDER, seconds)])[0].delay for seconds in (2.0, 6.0)
    )
    return [
        Claim(
            "beyond the paper: small loads, where its utilisation is above 1: growth of the queue",
            1e3 * above,
            (long - short) / 4,
            "ms/s",
            abs((long - short) / 4 - 1e3 * above) < 0.5,
            "T_on 100, T_off 400, tau 250, eta 249 ms, 20 Mbit/s: the model takes the queue for "
            "empty when a burst begins; Rapid gives up less than the bursts bring, and what waits "
            "hides from it",
        )
    ]


def figure_9c(lab: Lab) -> list[Claim]:
    """Over T_on / T_off."""
    ratios = lab.pick((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (0.25, 1.0, 4.0))
    loads = (100.0, 180.0, 400.0)

    def setting(on: float, load: float, ratio: float) -> Setting:
        return Setting(on, on / ratio, load, 1000, 999)

    def possible(load: float, among: Sequence[float]) -> list[float]:
        return [one for one in among if load * (1 + 1 / one) <= _GREATEST_BURST]

    fine = [0.25 * 2 ** (place / 8) for place in range(41)]
    curves = [
        Curve(
            f"T_on {on:g} ms",
            f"R_avg / C {load / CAPACITY_MBIT:g}",
            {one: setting(on, load, one) for one in possible(load, ratios)},
            {one: setting(on, load, one) for one in possible(load, fine)},
        )
        for on in (25.0, 100.0)
        for load in loads
    ]
    title = "Figure 9c: utilisation over T_on / T_off; tau 1 s, tau - eta 1 ms"
    sheet = Sheet("9c", title, "T_on / T_off", curves, 290)
    found = run(lab, sheet)
    dots = found[MODEL_SENDER]
    rises = sum(_falls(one[::-1]) for one in dots.values())
    at = {one: used(setting(100, 180, one)) for one in (1.0, 4.0, 8.0)}
    apart = [
        abs(used(setting(25, load, one)) - used(setting(100, load, one)))
        for load in loads
        for one in possible(load, fine)
    ]
    least = min(used(Setting(100, 100 / one, 999 * one / (1 + one), 1000, 999)) for one in fine)
    return [
        Claim(
            "utilisation rises with T_on / T_off: curves",
            "all",
            f"{rises} of {len(dots)}",
            "",
            rises == len(dots),
            "dots of the model's sender",
        ),
        Claim(
            "it flattens out beyond 4: gain from 1 to 4, and from 4 to 8",
            "flattens",
            f"{100 * (at[4.0] - at[1.0]):.1f}, {100 * (at[8.0] - at[4.0]):.1f}",
            "points",
            at[8.0] - at[4.0] < 0.25 * (at[4.0] - at[1.0]),
            "the model, T_on 100 ms, R_avg / C 0.18",
        ),
        Claim(
            "T_on itself hardly matters: greatest difference between 25 and 100 ms",
            "minimal",
            100 * max(apart),
            "points",
            max(apart) < 0.01,
            "the model; a hundredth is a line's width in the paper's figure",
        ),
        Claim(
            "with tau 1 s and tau - eta 1 ms it costs at most",
            lab.published()["9"]["least_utilisation"],
            least,
            "",
            abs(least - lab.published()["9"]["least_utilisation"]) < 0.03,
            "the model's least, bursts that fill the link; the paper says 80 to 95 % for loads "
            "that it does not name",
        ),
        *near(sheet, found),
    ]
