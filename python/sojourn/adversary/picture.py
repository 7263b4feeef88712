"""The picture of a search: the greatest damage after each evaluation."""

import altair as alt

from sojourn.adversary.api import Counterexample
from sojourn.adversary.damage import UNITS, Measure
from sojourn.report import theme
from sojourn.report.chart import COLOURS
from sojourn.report.theme import Spec

_WIDTH, _HEIGHT = 520, 240


def course(found: Counterexample, measure: Measure, title: str) -> Spec:
    """Draw the course of the search, and the damage of the minimised world as a dashed line."""
    unit, factor = UNITS[measure]
    name = f"greatest {measure} ({unit})"
    steps = theme.table(
        [{"x": at, "y": factor * one} for at, one in enumerate(found.course, 1)], "x", "y"
    )
    least = theme.table([{"y": factor * found.simple_damage}], "y")
    across = alt.X("x:Q", title="evaluations", scale=alt.Scale(nice=False))
    up = alt.Y("y:Q", title=name, scale=alt.Scale(zero=False))
    line = alt.MarkDef("line", interpolate="step-after", color=COLOURS[0])
    rule = alt.MarkDef("rule", strokeDash=[5, 4], color=COLOURS[1])
    view = alt.layer(
        theme.chart(steps, line, across, up),
        theme.chart(least, rule, alt.Y("y:Q")),
        width=_WIDTH,
        height=_HEIGHT,
    )
    changes = f"{len(found.simple_world.times_s)} of {len(found.world.times_s)} changes"
    about = f"Dashed: the minimised counter-example, with {changes}"
    return theme.document(title, about, title_offset=12, vconcat=[view])
