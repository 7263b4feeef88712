"""The plan of a sweep: its points, checked, and the identity of each run."""

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.record import key_names
from sojourn.run import api, experiment
from sojourn.sweep import axes, designs, expressions, fairness, quantities, tables
from sojourn.sweep.axes import Axis
from sojourn.sweep.expressions import Expression
from sojourn.sweep.places import Argument, Entry, Place
from sojourn.sweep.quantities import Kind, Quantity, Value

_CONTROL = "control"
_NO_AXES = {
    "seed": "write --runs N for N consecutive seeds at each point, and --seed N for the first",
    _CONTROL: "write --control A,B for several controllers at each point",
}


@dataclass(frozen=True)
class Study:
    """The definition of a sweep, from the document and from arguments, before its points."""

    axes: tuple[Axis, ...]
    derived: tuple[tuple[str, Expression], ...] = ()
    where: Expression | None = None
    design: str = "grid"
    points: int | None = None
    runs: int = 1


@dataclass(frozen=True)
class Point:
    """One point: the value of each column, and the changes of the scenario, or another one."""

    values: tuple[str, ...]
    assignments: tuple[str, ...] = ()
    document: tuple[str, str] | None = None


@dataclass(frozen=True)
class Task:
    """One run: its identity, its point, its controller and its seed."""

    key: str
    point: int
    control: int
    seed: int


@dataclass
class Plan:
    """Every run of a sweep. All points have been checked."""

    base: _core.Scenario
    origin: str
    study: Study
    columns: tuple[str, ...]
    """Names of the axes and of the derived values, in the order of `Point.values`."""
    points: list[Point] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    labels: dict[tuple[int, int], str] = field(default_factory=dict)
    """Name of each point's controllers."""
    memory_bytes: int = 0
    """Memory of the largest run."""
    title: str = ""
    """The title of the dataset; by default, that of the base."""
    note: str = ""
    """A remark on the points, for the user."""

    @cached_property
    def kinds(self) -> dict[str, Kind | None]:
        """The kind of each column; None for names, and for quantities of several kinds."""
        return {
            name: _common_kind(point.values[place] for point in self.points)
            for place, name in enumerate(self.columns)
        }

    def scenario(self, point: int) -> _core.Scenario:
        """Return the scenario of a point."""
        core = self.base.copy()
        for assignment in self.points[point].assignments:
            core.set(assignment)
        return core


def study(
    core: _core.Scenario,
    *,
    vary: Sequence[str] = (),
    let: Sequence[str] = (),
    where: str | None = None,
    design: str | None = None,
    points: int | None = None,
    runs: int | None = None,
) -> Study:
    """Combine `[sweep]` of a scenario with arguments, which replace its settings and add axes."""
    written: Mapping[str, Any] = json.loads(core.to_json()).get("sweep", {})
    found = [
        axes.from_document(key, value, Entry(core, ("sweep", "vary", key)))
        for key, value in _table(core, written, "vary").items()
    ]
    given = [axes.from_argument(text) for text in vary]
    named = {key for axis in given for key in axis.keys}
    kept = [axis for axis in found if not named & set(axis.keys)]
    derived = [
        (key, expressions.parse(str(text), Entry(core, ("sweep", "let", key))))
        for key, text in _table(core, written, "let").items()
    ]
    condition: tuple[str, Place] | None = None
    if where is not None:
        condition = (where, Argument("--where", where))
    elif "where" in written:
        condition = (written["where"], Entry(core, ("sweep", "where")))
    return Study(
        (*kept, *given),
        (*derived, *map(_derived, let)),
        expressions.parse(*condition) if condition else None,
        design or written.get("design", "grid"),
        points or written.get("points"),
        runs or written.get("runs", 1),
    )


def _table(core: _core.Scenario, written: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = written.get(key, {})
    if not isinstance(table, Mapping):
        core.fault(["sweep", key], f"`{key}` is not a table", f"write a table [sweep.{key}]")
    return _flat(table)


def _flat(table: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    """Join nested keys by dots: TOML reads `link.back.delay = [...]` as nested tables."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{head}{key}.")
        else:
            found[f"{head}{key}"] = value
    return found


def _derived(text: str) -> tuple[str, Expression]:
    key, equals, rest = text.partition("=")
    place = Argument("--let", text)
    if not equals or not key.strip() or not rest.strip():
        place.fault(f"`{text}` is not KEY=EXPRESSION", "write link.down.buffer=rate*50ms")
    return key.strip(), expressions.parse(rest.strip(), place)


def plan(core: _core.Scenario, origin: str, study: Study) -> Plan:
    """Compute and check every point; `core` is a prepared scenario."""
    if not study.axes:
        raise UsageError(
            f"{origin}: there is nothing to vary; add --vary KEY=A,B or a table [sweep.vary]"
        )
    keys = [key for axis in study.axes for key in axis.keys] + [key for key, _ in study.derived]
    if repeated := next((key for key in keys if keys.count(key) > 1), None):
        raise UsageError(f"two axes set `{repeated}`; join keys by + to change them together")
    _require_axes(study)
    builder = _Builder(Plan(core, origin, study, _short_names(keys)), keys)
    builder.build()
    if not builder.plan.tasks:
        raise UsageError(f"{origin}: no point fulfils the condition of the sweep (where)")
    return builder.plan


@dataclass
class _Builder:
    """Builds the points and the runs of a plan."""

    plan: Plan
    keys: list[str]

    def __post_init__(self) -> None:
        study = self.plan.study
        used = {name for _, one in study.derived for name in one.names}
        used |= study.where.names if study.where else set()
        top = api.schema()["properties"]
        # An axis whose name is not a scenario's key is a variable of the expressions.
        self.variables = {
            key for key in self.keys if "." not in key and key not in top and key in used
        }
        self.document = json.loads(self.plan.base.to_json())
        self.seeds = range(self.plan.base.seed(), self.plan.base.seed() + study.runs)

    def build(self) -> None:
        """Add all points and runs."""
        study = self.plan.study
        design = designs.combinations(study.axes, study.design, study.points, self.seeds.start)
        different = list(dict.fromkeys(design))
        if len(different) < len(design):
            self.plan.note = (
                f"{len(design):,} points were drawn, and {len(different):,} of them are different: "
                "the axes have few values"
            )
        for combination in different:
            self._add([text for texts in combination for text in texts])

    def _add(self, texts: list[str]) -> None:
        values = dict(zip(self.keys, texts, strict=False))
        try:
            self._derive(values)
            where = self.plan.study.where
            by_control = where is not None and _CONTROL in where.names
            if where is not None and not by_control and not self._holds(where, values):
                return
        except _core.ScenarioError:
            # An expression also fails at a faulty value of an axis, which is then the error.
            self._require_values(values)
            raise
        changes = tuple(
            f"{key}={text}" for key, text in values.items() if key not in self.variables
        )
        self.plan.points.append(Point(tuple(values.values()), changes))
        place = len(self.plan.points) - 1
        core = self._checked(place, values)
        for control, label in enumerate(core.controls()):
            if where and by_control and not self._holds(where, {**values, _CONTROL: label or ""}):
                continue
            self._add_runs(core, place, control)
            self.plan.labels[place, control] = label or ""

    def _derive(self, values: dict[str, str]) -> None:
        """Add the derived values, in the order of the study."""
        for key, expression in self.plan.study.derived:
            text = quantities.text_of(expression.value(lambda name: self._value(name, values)))
            if text is None:
                expression.place.fault(
                    f"`{expression.text}` is not a quantity of a scenario at {_described(values)}",
                    "compute a number, a rate, a time or an amount of data, of 0 or more",
                )
            values[key] = text

    def _require_values(self, values: Mapping[str, str]) -> None:
        """Refuse the first value that the scenario refuses, with the others unchanged."""
        for key, text in values.items():
            if key in self.variables:
                continue
            try:
                core = self.plan.base.copy()
                core.set(f"{key}={text}")
                core.check()
            except _core.ScenarioError as error:
                self._refuse(error, {key: text})

    def _add_runs(self, core: _core.Scenario, point: int, control: int) -> None:
        digest = core.digest(control)
        for seed in self.seeds:
            self.plan.tasks.append(Task(identity(digest, seed), point, control, seed))

    def _checked(self, place: int, values: Mapping[str, str]) -> _core.Scenario:
        try:
            core = self.plan.scenario(place)
            core.check()
        except _core.ScenarioError as error:
            self._refuse(error, values)
        self.plan.memory_bytes = max(self.plan.memory_bytes, core.memory_bytes())
        return core

    def _refuse(self, error: _core.ScenarioError, values: Mapping[str, str]) -> NoReturn:
        """Raise the error at the axis that set the faulty value."""
        item = error.items[0]
        help = item["help"] or "change this axis"
        for axis in self.plan.study.axes:
            for key in (key for key in axis.keys if key in values):
                wrong = key_names.unknown(self.document, key)
                if wrong and key not in self.variables:
                    axis.place.fault(wrong.message, wrong.help, key)
                if item["path"] == key or item["path"].startswith(f"{key}."):
                    others = {name: text for name, text in values.items() if name not in axis.keys}
                    at = f" (at {_described(others)})" if others else ""
                    axis.place.fault(f"{item['message']}{at}", help, values[key])
        raise error

    def _holds(self, where: Expression, values: Mapping[str, str]) -> bool:
        return where.holds(lambda name: self._value(name, values))

    def _value(self, name: str, values: Mapping[str, str]) -> Value:
        """Return the value of an axis by its name or key, or else of a key of the scenario."""
        short = dict(zip(self.plan.columns, self.keys, strict=True))
        key = name if name in values else short.get(name, name)
        if key in values:
            return quantities.parse(values[key])
        node: Any = self.document
        for part in key.split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        if isinstance(node, (str, bool, int, float)):
            return quantities.parse(experiment.toml_value(node))
        known = ", ".join(short)
        raise UsageError(
            f"`{name}` is neither an axis nor a key with a single value; the axes are {known}"
        )


def identity(digest: str, seed: int) -> str:
    """Return the identity of a run: a hash of scenario, controller, seed and version."""
    text = f"{digest}:{seed}:{_core.__version__}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _described(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={text}" for key, text in values.items())


def _short_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Name each key by its last part, and by more parts if the name is not free.

    It is not free if several keys end alike, or if a table has a column of this name.
    """
    taken = _table_columns()
    return tuple(_short_name(key, keys, taken) for key in keys)


def _short_name(key: str, keys: Sequence[str], taken: Container[str]) -> str:
    names = _names(key)
    for name in names:
        if name not in taken and sum(name in _names(other) for other in keys) == 1:
            return name
    return names[-1] if names[-1] not in taken else f"axis_{names[-1]}"


def _names(key: str) -> list[str]:
    """Return the names of a key, by its last part, its last two, and so on."""
    parts = key.replace("-", "_").split(".")
    return ["_".join(parts[-count:]) for count in range(1, len(parts) + 1)]


def _table_columns() -> set[str]:
    """Return the columns of the tables with and without units, which an axis may also have."""
    found = {name for table in tables.TABLES for name in tables.columns(table)}
    found |= {"run_control", "flow_control", *fairness.COLUMNS}
    suffixes = [suffix for suffix in quantities.SUFFIX.values() if suffix]
    return found | {name.removesuffix(suffix) for name in found for suffix in suffixes}


def _require_axes(study: Study) -> None:
    """Refuse the seed and the controller as axes, which the other columns name already."""
    places = {key: axis.place for axis in study.axes for key in axis.keys}
    places |= {key: expression.place for key, expression in study.derived}
    for key, remedy in _NO_AXES.items():
        if key in places:
            places[key].fault(f"`{key}` cannot be an axis", remedy, key)


def _common_kind(texts: Iterable[str]) -> Kind | None:
    kinds: set[Kind | None] = set()
    for text in dict.fromkeys(texts):
        value = quantities.parse(text)
        kinds.add(value.kind if isinstance(value, Quantity) else None)
    return next(iter(kinds)) if len(kinds) == 1 else None


def grouped(tasks: Iterable[Task]) -> Iterator[tuple[int, list[Task]]]:
    """Group consecutive runs of a point, which share its scenario."""
    group: list[Task] = []
    for task in tasks:
        if group and task.point != group[0].point:
            yield group[0].point, group
            group = []
        group.append(task)
    if group:
        yield group[0].point, group
