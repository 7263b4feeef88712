"""The chart of a benchmark."""

import altair as alt
from sojourn.report import theme
from sojourn.report.theme import Spec

from sojourn_bench.figures import Bench

_COLOURS = {"nothing recorded": "#0072b2", "10 ms samples": "#d55e00"}


def document(found: Bench) -> Spec:
    """Draw the speed of each case, and the time per packet over the number of flows."""
    bare = found["bare_loop_pps"] / 1e6
    quick = " (--quick: a smoke test, not a measurement)" if found["quick"] else ""
    return theme.document(
        f"Sojourn {found['version']}: speed{quick}",
        f"bare loop: {bare:.1f} million packets a CPU second",
        hconcat=[_cases(found), *([_scaling(found)] if found["scaling"] else [])],
    )


def _cases(found: Bench) -> alt.Chart:
    names, kinds = list(found["cases"]), list(_COLOURS)
    rows = [
        {"case": name, "what": what, "ratio": ratio}
        for name, case in found["cases"].items()
        for what, ratio in zip(kinds, (case["ratio"], case["sampled_ratio"]), strict=True)
    ]
    scale = alt.Scale(domain=kinds, range=list(_COLOURS.values()))
    return theme.chart(
        theme.table(rows, "ratio"),
        alt.MarkDef("bar"),
        alt.X("case:N", sort=names, title=None, axis=alt.Axis(labelAngle=0)),
        alt.XOffset("what:N", sort=kinds),
        alt.Y("ratio:Q", title=None),
        alt.Color("what:N", scale=scale, legend=alt.Legend(symbolType="square")),
        title="Packets a CPU second, as a share of the bare loop's",
        width=90 * max(len(names), 3),
        height=260,
    )


def _scaling(found: Bench) -> alt.Chart:
    flows = [one["flows"] for one in found["scaling"]]
    rows = [{"flows": one["flows"], "ns": one["ns_per_packet"]} for one in found["scaling"]]
    ticks = alt.Axis(values=flows, format=",")
    return theme.chart(
        theme.table(rows, "flows", "ns"),
        alt.MarkDef("line", point=True, color=_COLOURS["nothing recorded"]),
        alt.X("flows:Q", scale=alt.Scale(type="log"), axis=ticks),
        alt.Y("ns:Q", title=None),
        title="Nanoseconds a packet, by the number of flows",
        width=320,
        height=260,
    )
