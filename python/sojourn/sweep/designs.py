"""The points of a design: all combinations of the axes, or samples."""

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any, Literal, get_args

from sojourn import extras
from sojourn.errors import UsageError, require_known
from sojourn.sweep.axes import Axis, Range

Design = Literal["grid", "random", "latin-hypercube", "sobol"]
Combination = tuple[tuple[str, ...], ...]
"""The texts of one point, for the keys of each axis."""
_MOST_POINTS = 1_000_000


def combinations(
    axes: Sequence[Axis], design: str, points: int | None, seed: int
) -> list[Combination]:
    """Return the points. Samples are the same for the same seed.

    Samples of names or of whole numbers may repeat.
    """
    require_known("design", design, get_args(Design))
    if design == "grid":
        _require_steps(axes, points)
        levels = [axis.levels() for axis in axes]
        _require_few(math.prod(map(len, levels)))
        return list(itertools.product(*levels))
    if points is None:
        raise UsageError(f"the design {design} needs a number of points; name it with --points")
    _require_few(points)
    for axis in axes:
        if isinstance(axis.values, Range) and axis.values.steps is not None:
            axis.place.fault(
                f"the axis `{'+'.join(axis.keys)}` has steps, but the design {design} draws values",
                "leave out the number of steps",
            )
    rows = _unit_points(design, len(axes), points, seed)
    return [
        tuple(axis.at(fraction) for axis, fraction in zip(axes, row, strict=True)) for row in rows
    ]


def _require_steps(axes: Sequence[Axis], points: int | None) -> None:
    if points is not None:
        raise UsageError(
            "a grid has all combinations of its axes; --points needs a sampled --design"
        )
    for axis in axes:
        if isinstance(axis.values, Range) and axis.values.steps is None:
            axis.place.fault(
                f"the axis `{'+'.join(axis.keys)}` has no number of steps",
                "write LOW..HIGH:log:5, or choose a sampled --design",
            )
        if isinstance(axis.values, Range):
            _require_few(axis.values.steps or 1)


def _require_few(points: int) -> None:
    """Refuse a plan that takes gigabytes."""
    if points > _MOST_POINTS:
        raise UsageError(
            f"the sweep has {points:,} points, and at most {_MOST_POINTS:,} are possible; use "
            "fewer steps, or a sampled --design with --points"
        )


def _unit_points(design: str, axes: int, points: int, seed: int) -> Sequence[Sequence[float]]:
    """Return points of the unit cube."""
    if design == "random":
        draw = random.Random(seed)
        return [[draw.random() for _ in range(axes)] for _ in range(points)]
    try:
        from scipy.stats import qmc
    except ImportError as error:
        raise UsageError(
            f"the design {design} needs scipy; install it with: {extras.installation_here('sweep')}"
        ) from error
    sampler = qmc.LatinHypercube if design == "latin-hypercube" else qmc.Sobol
    if design == "sobol" and points & (points - 1):
        raise UsageError(f"a Sobol design has 2, 4, 8, ... points, not {points}")
    drawn: Any = sampler(d=axes, seed=seed).random(points)
    rows: list[list[float]] = drawn.tolist()
    return rows
