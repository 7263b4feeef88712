"""Writes the builders of a scenario's links and flows from the schema.

`python docs/scenario_builders.py` writes the file that the tests compare.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn import _core

FILE = Path(__file__).resolve().parents[1] / "python" / "sojourn" / "run" / "builders.py"
Schema = Mapping[str, Any]

_HEAD = '''\
"""Builders of the tables of a scenario.

Written by docs/scenario_builders.py from the schema.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

_Built = TypeVar("_Built", bound="Builders")
Quantity = str | int | float
"""A value with its unit as in `tc` ("60Mbit", "20ms", "150kB"), or a plain number."""


class Builders:
    """The methods of a scenario that add a table."""

    @abstractmethod
    def _put(self: _Built, table: str, arguments: Mapping[str, Any]) -> _Built:
        """Add a table whose keys are the arguments of a builder, without those left out."""
'''
_KINDS = {
    "string": "str",
    "number": "float",
    "integer": "int",
    "object": "Mapping[str, Any]",
    "array": "Sequence[str]",
}
_REFERENCES = {
    "duration": ("Quantity",),
    "bytes": ("Quantity",),
    "rate": ("Quantity",),
    "buffer": ("Quantity",),
}
_NAMED = ("str", "Mapping[str, Any]")


def text() -> str:
    """Return the text of the file."""
    schema = json.loads(_core.schema())
    return _HEAD + "".join(_method(schema, table) for table in ("group", "link", "flow"))


def _method(schema: Schema, table: str) -> str:
    declared = schema["properties"][table]["additionalProperties"]
    if "$ref" in declared:
        declared = schema["$defs"][declared["$ref"].rpartition("/")[2]]
    # A key that is required comes first.
    keys = sorted(declared["properties"], key=lambda key: key not in declared["required"])
    arguments = []
    for key in keys:
        # `from` is a word of Python.
        name = "from_" if key == "from" else key
        hint = " | ".join(dict.fromkeys(_hints(declared["properties"][key])))
        is_required = key in declared["required"]
        arguments.append(f"{name}: {hint}" + ("" if is_required else " | None = None"))
    lines = "".join(
        f"        {argument},\n" for argument in ["self: _Built", "name: str", "*", *arguments]
    )
    return f'''
    def {table}(
{lines}    ) -> _Built:
        """Add a {table}, or replace the one of this name; return the scenario."""
        return self._put("{table}", locals())
'''


def _hints(value: Schema) -> Iterator[str]:
    """Yield the types of a value, the short forms first."""
    for one in value.get("anyOf", [value]):
        if "$ref" in one:
            yield from _REFERENCES.get(one["$ref"].rpartition("/")[2], _NAMED)
        else:
            yield _KINDS[one.get("type", "string")]


def main() -> None:
    """Write the file."""
    FILE.write_text(text(), "utf-8")


if __name__ == "__main__":
    main()
