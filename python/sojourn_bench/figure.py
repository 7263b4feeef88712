"""The chart of a benchmark."""

from sojourn.picture import chart
from sojourn.picture.chart import Document, Layer, Panel, Row

from sojourn_bench.figures import Bench


def document(found: Bench) -> Document:
    """Draw the speed of each case, and the time per packet over the number of flows."""
    bare = found["bare_loop_pps"] / 1e6
    quick = " (--quick: a smoke test, not a measurement)" if found["quick"] else ""
    return Document(
        f"Sojourn {found['version']}: speed{quick}",
        f"bare loop: {bare:.1f} million packets a CPU second",
        [[_cases(found), *([_scaling(found)] if found["scaling"] else [])]],
    )


def _cases(found: Bench) -> Panel:
    names = list(found["cases"])
    ratios = [(case["ratio"], case["sampled_ratio"]) for case in found["cases"].values()]
    layers = []
    for place, what in enumerate(("nothing recorded", "10 ms samples")):
        bars: list[Row] = [
            (at - 0.4 + 0.4 * place, 0.0, at + 0.4 * place, ratio[place])
            for at, ratio in enumerate(ratios)
        ]
        layers.append(Layer(what, "rects", bars))
    return Panel(
        "Packets a CPU second, as a share of the bare loop's",
        "",
        "",
        layers,
        width=90 * max(len(names), 3),
        height=260,
        x_axis={"values": range(len(names)), "labels": names},
        x_scale={"domain": (-0.6, len(names) - 0.4)},
        y_scale={"zero": True},
    )


def _scaling(found: Bench) -> Panel:
    points = [(float(one["flows"]), one["ns_per_packet"]) for one in found["scaling"]]
    return Panel(
        "Nanoseconds a packet, by the number of flows",
        "",
        "",
        [chart.line("ns", points), chart.dots("ns", points)],
        width=320,
        height=260,
        x_axis={"values": [x for x, _ in points]},
        x_scale={"type": "log"},
        y_scale={"zero": True},
        legend=False,
    )
