"""A sweep for the page: its figures at each point, and the scenarios of its points."""

from pathlib import Path
from typing import Any

from sojourn import _core, inputs
from sojourn.errors import UsageError
from sojourn.picture.page_record import encoded
from sojourn.run import api
from sojourn.sweep import figures
from sojourn.sweep.dataset import document
from sojourn.sweep.result import Dataset

# More cells than these are for `sojourn sweep show` and `query`.
_MOST_POINTS = 20_000


def to_json(directory: Path) -> bytes:
    """Return the axes of a dataset, its figures, and their medians over the seeds at each point."""
    dataset = Dataset(directory)
    axes = figures.axes_of(dataset)
    points = dataset.points.unique(axes, keep="first", maintain_order=True)
    if points.height > _MOST_POINTS:
        raise UsageError(
            f"the sweep has {points.height:,} points, too many for the page; use `sojourn sweep "
            f"show {directory}`"
        )
    values = {axis: points[axis].unique(maintain_order=True).to_list() for axis in axes}
    medians = [_medians(dataset, metric, axes) for metric in figures.DEFAULTS]
    keys = points.select(axes).rows()
    return encoded(
        {
            "title": dataset.about["title"],
            "axes": [
                {
                    "name": figures.words(axis),
                    "values": [figures.axis_text(axis, value) for value in values[axis]],
                }
                for axis in axes
            ],
            "figures": [
                {"title": one.title, "of": figures.subject(dataset, one)}
                for one in figures.DEFAULTS
            ],
            "points": [
                {
                    "run": run,
                    "at": [values[axis].index(own) for axis, own in zip(axes, key, strict=True)],
                    "values": [median.get(key) for median in medians],
                }
                for run, key in zip(points["run"], keys, strict=True)
            ],
        }
    )


def _medians(
    dataset: Dataset, metric: figures.Metric, axes: list[str]
) -> dict[tuple[Any, ...], float | None]:
    """Return the medians of a figure in its unit, by the values of the axes."""
    frame = figures.by(dataset, metric, axes)
    if frame.is_empty():
        return {}
    _, factor = metric.unit
    scaled = frame["median"] * factor
    return dict(zip(frame.select(axes).rows(), scaled.to_list(), strict=True))


def scenario_of(directory: Path, run: str) -> bytes:
    """Return the scenario of the point that a run belongs to, and the files that it names.

    Raises FileNotFoundError for an unknown run, and `UsageError` if the scenario cannot be read.
    """
    dataset = Dataset(directory)
    point = dataset.points.filter(dataset.points["run"] == run)
    if point.is_empty():
        raise FileNotFoundError(run)
    own = document(dataset, run)
    # A sweep has a key for each axis. `worst` has other points.
    if own is None and not set(dataset.axes) <= set(dataset.about["keys"]):
        raise UsageError(
            "the points of this dataset have scenarios of their own, which it does not keep"
        )
    file = directory / "scenario.toml"
    try:
        text = inputs.whole_text(file) if own is None else own
        core = _core.Scenario.from_toml(str(file), text, str(directory))
        for column, key in dataset.about["keys"].items():
            if "." in key or key in api.schema()["properties"]:
                core.set(f"{key}={figures.scenario_text(column, point[column][0])}")
        text, files = core.portable()
    except (_core.ScenarioError, ValueError) as error:
        raise UsageError(
            f"the scenario of this point cannot be read from {file}: {error}"
        ) from error
    return encoded({"scenario": text, "files": dict(files)})
