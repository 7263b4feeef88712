"""The keys in which the scenarios of runs differ, and names from them: `queue=codel`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn import _core
from sojourn.record import combined, key_names
from sojourn.record.record import Record

# Texts about a run, and keys that differ between the runs of every study.
_IGNORED = frozenset({"title", "seed", "controls"})
_LIKE = "host.like"
_TRANSPORTS = {"tcp": "kernel", "udp": "UDP"}
ABSENT = "–"
"""A key that a scenario does not give, and that has no default."""


def differences(scenarios: Sequence[str]) -> dict[str, list[str]]:
    """Return the keys whose values differ, with the value or default in each scenario.

    A record of another program, or of several scenarios, has no scenario; the result is then empty.
    """
    if not all(scenarios):
        return {}
    cores = [_core.Scenario.from_toml("", one, ".") for one in scenarios]
    each = [_flat(json.loads(core.to_json())) for core in cores]
    keys = list(dict.fromkeys(key for one in each for key in one))
    found = {key: [_value(one, key) for one in each] for key in keys if key not in _IGNORED}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def run_names(
    runs: Sequence[Record], found: Mapping[str, Sequence[str]], directories: Sequence[str]
) -> list[str]:
    """Name runs, whose scenarios have these differences, after the one thing that differs.

    It is the means, such as the kernel, or a key; runs that differ in more have their directories'
    names.
    """
    means = [_means(run) for run in runs]
    if len(set(means)) == 1:
        return names(found) or combined.names_of(directories)
    known = [one for one in means if one is not None]
    # The host follows from the means.
    others = [key for key in found if not key.endswith(_LIKE)]
    if not others and len(set(known)) == len(runs):
        return known
    return combined.names_of(directories)


def names(found: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Name each run after the only one of these differences; None if there are more."""
    if len(found) != 1:
        return None
    ((key, values),) = found.items()
    leaf = key.rpartition(".")[2]
    named = [f"{leaf}={value}" for value in values]
    return named if ABSENT not in values and len(set(named)) == len(named) else None


def _means(run: Record) -> str | None:
    """Return the means of a run: simulation, or the transport of its live flows if it is one."""
    if not run.scenario:
        return None
    lives = [one["live"] for one in run.runs if "live" in one]
    if not lives:
        return "simulated"
    used = {name for live in lives for name in live.get("transports", {}).values()} - {"icmp"}
    if len(used) != 1:
        return "live"
    (transport,) = used
    return _TRANSPORTS.get(transport, "live")


def _value(flat: Mapping[str, str], key: str) -> str:
    """Return the value of a key, else its default."""
    if key in flat:
        return flat[key]
    table, _, leaf = key.rpartition(".")
    owner, _, last = table.rpartition(".")
    if last == "host":
        return _of_host(flat, owner, leaf)
    # A link that a scenario lacks has no queue either.
    if table and not any(one.startswith(f"{table}.") for one in flat):
        return ABSENT
    default = key_names.default_of(key)
    return ABSENT if default is None else _text(default)


def _of_host(flat: Mapping[str, str], owner: str, leaf: str) -> str:
    """Return a value of the host of a flow, or of the scenario's without an owner."""
    own = f"{owner}.host.like" if owner else _LIKE
    if owner and own not in flat:
        return _value(flat, f"host.{leaf}")
    if leaf == "like":
        return str(key_names.default_of("host"))
    like = _value(flat, own)
    hosts = {one["name"]: one["settings"] for one in json.loads(_core.hosts())}
    values = {one["name"]: one["value"] for one in hosts.get(like, ())}
    return values.get(leaf) or ABSENT


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Return each value that is no table by its path; a table with a kind is a value."""
    if isinstance(value, Mapping) and "kind" not in value:
        return {
            inner: text
            for key, one in value.items()
            for inner, text in _flat(one, f"{path}.{key}" if path else key).items()
        }
    # A host's name is short for a table without exceptions.
    if path.rpartition(".")[2] == "host":
        return {f"{path}.like": _text(value)}
    return {path: _text(value)}


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        own = (f"{key}={_text(one)}" for key, one in value.items() if key != "kind")
        return " ".join([str(value.get("kind", "")), *own]).strip()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
