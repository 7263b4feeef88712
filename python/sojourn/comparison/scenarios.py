"""The keys in which the scenarios of runs differ, and names from them: `queue=codel`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn import _core

# Texts about a run, and keys that differ between the runs of every study.
_IGNORED = frozenset({"title", "seed", "controls"})
ABSENT = "–"
"""A key that a scenario does not give."""


def differences(scenarios: Sequence[str]) -> dict[str, list[str]]:
    """Return the keys whose values differ, with the value in each scenario.

    A record of another program, or of several scenarios, has no scenario; the result is then empty.
    """
    if not all(scenarios):
        return {}
    cores = [_core.Scenario.from_toml("", one, ".") for one in scenarios]
    each = [_flat(json.loads(core.to_json())) for core in cores]
    keys = list(dict.fromkeys(key for one in each for key in one))
    found = {key: [one.get(key, ABSENT) for one in each] for key in keys if key not in _IGNORED}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def names(found: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Name each run after the only one of these differences; None if there are more."""
    if len(found) != 1:
        return None
    ((key, values),) = found.items()
    leaf = key.rpartition(".")[2]
    named = [f"{leaf}={value}" if value != ABSENT else f"without {leaf}" for value in values]
    return named if len(set(named)) == len(named) else None


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Return each value that is no table by its path; a table with a kind is a value."""
    if isinstance(value, Mapping) and "kind" not in value:
        return {
            inner: text
            for key, one in value.items()
            for inner, text in _flat(one, f"{path}.{key}" if path else key).items()
        }
    return {path: _text(value)}


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        own = (f"{key}={_text(one)}" for key, one in value.items() if key != "kind")
        return " ".join([str(value.get("kind", "")), *own]).strip()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
