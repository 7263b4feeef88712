"""Beyond the paper: other controllers available to its hosts, on the same testbed."""

from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn.sweep.matrix.measure import jain
from sojourn_papers import Ask, Claim, Lab

from .eighteen_flows import FIRST_STOP_S, FLOWS, RTT_MS, SETTLED_S, ask, median_queue_ms, shares
from .measure import Q_TARGET_MS, goodput_bps, queue_ms, used
from .testbed import FLOWS as PAIR
from .testbed import QUICK, SECOND_S, scale
from .two_flows import rtt

CONTROLS = ("lola", "cubic", "bbr", "bbr3")
TWO_END_S = 60.0


def beside(lab: Lab) -> list[Claim]:
    """Measure queue, losses, utilisation and fairness of each, with two and with eighteen flows."""
    pairs = [Ask("two-flows.toml", lab.pick({}, QUICK), control) for control in CONTROLS]
    crowds = [ask(lab, control) for control in CONTROLS]
    # Start the longest runs first, so that the pool does not end with one of them.
    runs = lab.runs(crowds + pairs)
    many = dict(zip(CONTROLS, runs[: len(CONTROLS)], strict=True))
    two = dict(zip(CONTROLS, runs[len(CONTROLS) :], strict=True))
    lab.draw("beside", _picture(two, many, scale(lab)))
    claims = []
    for control in CONTROLS:
        claims += _claims(f"{control}, two flows", two[control], SECOND_S + 10, TWO_END_S, PAIR)
        claims += _claims(
            f"{control}, eighteen flows", many[control], SETTLED_S, FIRST_STOP_S, FLOWS
        )
    return claims


def _claims(what: str, run: Run, begin_s: float, end_s: float, flows: object) -> list[Claim]:
    is_pair = flows is PAIR
    rates = (
        [goodput_bps(run.flow(flow).series, 0.8 * end_s, end_s) for flow in PAIR]
        if is_pair
        else shares(run)
    )
    middle = median_queue_ms(run, begin_s, end_s)
    peak = queue_ms(run, begin_s, end_s)
    dropped = run.link("switch").summary["dropped_packets"]
    why = f"maximum {peak:.1f} ms; {dropped} packets dropped in the whole run; "
    why += f"{used(run, begin_s, end_s):.4f} of the capacity used; "
    why += f"Jain's index {jain(rates):.3f} at the end"
    return [Claim(f"{what}: median queueing delay", None, middle, "ms", None, why)]


def _picture(two: dict[str, Run], many: dict[str, Run], rate: str) -> chart.Document:
    rows = []
    for control in CONTROLS:
        rows.append(
            [
                _panel(f"{control}: two flows", two[control], "first", TWO_END_S),
                _panel(f"{control}: eighteen flows", many[control], "f01", FIRST_STOP_S),
            ]
        )
    subtitle = [rate, "round-trip time of the first flow; black: LoLa's published target, 26 ms"]
    return chart.Document("The same testbed with other controllers", subtitle, rows)


def _panel(title: str, run: Run, flow: str, end_s: float) -> chart.Panel:
    target = [(0.0, RTT_MS + Q_TARGET_MS), (end_s, RTT_MS + Q_TARGET_MS)]
    points = chart.thin([(t, ms) for t, ms in rtt(run.flow(flow).series) if t <= end_s], 800)
    layers = [
        chart.line("flow 1", points, chart.COLOURS[0], width=1),
        chart.line("target", target, chart.PUBLISHED, (5, 3)),
    ]
    scale: chart.Scale = {"domain": [0, 120]}
    wide, high = 280, 110
    time: chart.Scale = {"domain": [0, end_s]}
    return chart.Panel(
        f"{title} (ms)", "s", "ms", layers, (), wide, high, x_scale=time, y_scale=scale
    )
