"""Wrong arguments of the Python API give errors of the package's own classes, which name them."""

import datetime
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import sojourn
from hypothesis import given
from hypothesis import strategies as st
from sojourn.errors import ArgumentError, UsageError
from sojourn.live import kernel
from support import SMALL

_ANY: Any = 5
VARY: dict[str, list[object]] = {"link.back.delay": ["1ms"]}
WRONG: dict[str, tuple[str, Callable[[], object]]] = {
    "run": ("scenario is 5 of type int", lambda: sojourn.run(_ANY)),
    "run none": ("scenario is None", lambda: sojourn.run(None)),  # type: ignore[arg-type]
    "runs": ("runs is 'x' of type str; it must be a whole", lambda: sojourn.run(SMALL, runs="x")),  # type: ignore[arg-type]
    "runs 1.5": ("runs is 1.5", lambda: sojourn.run(SMALL, runs=1.5)),  # type: ignore[arg-type]
    "runs true": ("runs is True", lambda: sojourn.run(SMALL, runs=True)),
    "runs none": ("runs is None", lambda: sojourn.run(SMALL, runs=None)),  # type: ignore[arg-type]
    "jobs": ("jobs is 'x'", lambda: sojourn.run(SMALL, jobs="x")),  # type: ignore[arg-type]
    "seed": ("seed is 'x'", lambda: sojourn.run(SMALL, seed="x")),  # type: ignore[arg-type]
    "control": ("control is 5", lambda: sojourn.run(SMALL, control=_ANY)),
    "controls": (r"control is \[5\]", lambda: sojourn.run(SMALL, control=[_ANY])),
    "set": ("set is 5", lambda: sojourn.run(SMALL, set=_ANY)),
    "set text": ("set is 'a=b'", lambda: sojourn.run(SMALL, set="a=b")),
    "sets": (r"set is \[5\]", lambda: sojourn.run(SMALL, set=[_ANY])),
    "controllers": ("controllers is 5", lambda: sojourn.run(SMALL, controllers=_ANY)),
    "pcapng": ("pcapng is 5", lambda: sojourn.run(SMALL, pcapng=_ANY)),
    "half": (r"set has the character '\\ud800'", lambda: sojourn.run(SMALL, set=["title=\ud800"])),
    "load": ("directory is 5", lambda: sojourn.load(_ANY)),
    "compare": ("a is 5", lambda: sojourn.compare(_ANY, _ANY)),
    "shift": ("shift_b is 'x'", lambda: sojourn.compare("a", "b", shift_b="x")),  # type: ignore[arg-type]
    "combine": ("runs is 5", lambda: sojourn.combine(_ANY)),
    "combined": ("directory is 5", lambda: sojourn.combine({"a": _ANY})),
    "vary": ("vary is 5", lambda: sojourn.sweep(SMALL, _ANY)),
    "values": ("must be a list of values", lambda: sojourn.sweep(SMALL, {"link.back.delay": _ANY})),
    "points": ("points is 'x'", lambda: sojourn.sweep(SMALL, VARY, points="x")),  # type: ignore[arg-type]
    "out": ("out is 5", lambda: sojourn.sweep(SMALL, VARY, out=_ANY)),
    "dataset": ("directory is 5", lambda: sojourn.Dataset(_ANY)),
    "worst": ("rate is 5", lambda: sojourn.worst(SMALL, _ANY)),
    "scenario": ("document is 5", lambda: sojourn.Scenario(_ANY)),
    "parse": ("text is 5", lambda: sojourn.Scenario.parse(_ANY)),
    "parsed": (r"'\\udfff', the half", lambda: sojourn.Scenario.parse("title = '\udfff'\n")),
    "assignment": ("assignment is 5", lambda: sojourn.Scenario.parse(SMALL).set(_ANY)),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_of_a_wrong_type_are_named(name: str) -> None:
    message, call = WRONG[name]
    with pytest.raises(ArgumentError, match=message) as caught:
        call()
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value, TypeError)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("values", [{"runs": 0}, {"runs": -3}, {"jobs": 0}])
def test_numbers_out_of_range_are_named(values: dict[str, int]) -> None:
    (name, value) = next(iter(values.items()))
    with pytest.raises(UsageError, match=f"{name} is {value}; it must be 1 or more"):
        sojourn.run(SMALL, **values)  # type: ignore[arg-type]


def test_a_name_with_a_zero_byte_is_no_file() -> None:
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        sojourn.run("a\0b")
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        sojourn.run("a\ud800b")


class Odd:
    """A value that no scenario has."""


LOOP: dict[str, Any] = {}
LOOP["a"] = LOOP
DEEP: dict[str, Any] = {}
_inner = DEEP
for _ in range(100_000):
    _inner["a"] = _inner = {}
ODD = [
    *(float(one) for one in ("nan", "inf", "-inf")),
    *("\ud800", "a\udfffb", b"x", {1, 2}, Odd(), datetime.date(2020, 1, 1), 1j, range(3)),
    *(10**400, -(10**400), LOOP, DEEP, {(1, 2): 3}, {"\udc00": 1}),
]


@pytest.mark.parametrize("place", range(len(ODD)))
def test_values_that_no_scenario_has_are_found_at_random_places(place: int) -> None:
    draw = random.Random(place)
    document = json.loads(sojourn.Scenario.parse(SMALL).compile().to_json())
    for _ in range(10):
        path: list[str] = []
        changed = json.loads(json.dumps(document))
        node: Any = changed
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = draw.choice(keys)
            path.append(str(key))
            if not isinstance(node[key], (dict, list)) or draw.random() < 0.3 or not node[key]:
                node[key] = ODD[place]
                break
            node = node[key]

        def check(given: Mapping[str, Any] = changed) -> None:
            sojourn.Scenario(given).check()

        with pytest.raises(sojourn.ScenarioError) as caught:
            check()
        (item,) = caught.value.items
        assert f"`{'.'.join(path)}" in item["message"]
        assert item["origin"] == "<scenario>"


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _PLAIN, max_size=3))
def test_any_document_is_a_scenario_or_its_fault(document: dict[str, Any]) -> None:
    with pytest.raises(sojourn.ScenarioError):
        sojourn.Scenario({"link": document, "flow": document, **document}).check()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, RecursionError])
@pytest.mark.parametrize("method", ["__init__", "on_feedback", "limits"])
def test_an_exception_of_a_controller_is_its_own(error: type[BaseException], method: str) -> None:
    """Also those that end a program: they are no signal of the user's."""

    class Mine:
        def __init__(self, setup: sojourn.Setup) -> None:
            self._raise("__init__")

        def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
            self._raise("on_feedback")

        def limits(self) -> sojourn.Limits:
            self._raise("limits")
            return sojourn.Limits(15_000)

        def _raise(self, own: str) -> None:
            if own == method:
                raise error

    with pytest.raises(sojourn.ControllerError, match=f"`mine` failed in {method}") as caught:
        sojourn.run(SMALL, control=["mine", "cubic"], controllers={"mine": Mine})
    assert isinstance(caught.value.__cause__, error)


def test_a_pin_that_exists_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_PINS", tmp_path)
    (tmp_path / "sojourn_lola").symlink_to("nowhere")
    with pytest.raises(UsageError, match=r"sojourn_lola exists, .* remove it, and load again"):
        kernel.pin(object(), "lola")  # type: ignore[arg-type]
