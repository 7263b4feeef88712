"""The picture of a search: the greatest damage after each evaluation."""

from sojourn.picture import chart
from sojourn.picture.chart import COLOURS, Document, Layer, Panel
from sojourn.sweep.adversary.api import Counterexample
from sojourn.sweep.adversary.damage import UNITS, Measure


def course(found: Counterexample, measure: Measure, title: str) -> Document:
    """Draw the course of the search, and the damage of the minimised world as a dashed line."""
    unit, factor = UNITS[measure]
    name = f"greatest {measure} ({unit})"
    steps = [(float(at), factor * one) for at, one in enumerate(found.course, 1)]
    least = factor * found.simple_damage
    layers = [
        chart.line(name, steps, COLOURS[0], interpolate="step-after"),
        Layer("", "rules", [(None, least, None, least)], COLOURS[1], dash=(5, 4)),
    ]
    changes = f"{len(found.simple_world.times_s)} of {len(found.world.times_s)} changes"
    about = f"Dashed: the minimised counter-example, with {changes}"
    panel = Panel(name, "evaluations", name, layers, width=520, height=240, x_scale={"nice": False})
    return Document(title, about, [panel])
