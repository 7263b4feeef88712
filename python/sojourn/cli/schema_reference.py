"""The JSON Schema of scenarios as a Markdown document."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Node = Mapping[str, Any]

_UNITS = re.compile(r"\(([A-Za-z/|]+)\)\)?\$")
# These keys select a table; the schema has no description for them.
_CHOOSES = ("kind",)

_INTRO = """\
# The scenario document

Every key of a scenario file, written by `sojourn schema --markdown`. A scenario is TOML;
`sojourn check FILE` lists the errors of one. A default of `–` means that the key has no default.
"""


@dataclass(frozen=True)
class Listed:
    """Names whose parameters a command lists."""

    names: Collection[str]
    command: str


@dataclass(frozen=True)
class _Section:
    place: str
    title: str
    node: Node


def markdown(schema: Node, listed: Sequence[Listed]) -> str:
    """Format the whole document."""
    first = _Section("", "", schema)
    host = next(one for one in schema["$defs"]["host"]["anyOf"] if "properties" in one)
    hosts = _Section("host", "host", host)
    groups = _Section("group.NAME", "group", schema["$defs"]["group"])
    referred = [_section(one, listed) for one in (hosts, groups)]
    parts = [_INTRO, _units(schema["$defs"]), *_sections(first, listed), *referred]
    return "\n".join(parts)


def _units(definitions: Node) -> str:
    lines = ["## Types", "", "| type | meaning | units |", "|---|---|---|"]
    for name, node in definitions.items():
        lines.append(f"| {name} | {_cell(node['description'])} | {_unit_names(node)} |")
    return "\n".join([*lines, ""])


def _unit_names(node: Node) -> str:
    """Extract the units that the pattern of a value ends with."""
    patterns = [one.get("pattern", "") for one in (node, *node.get("anyOf", ()))]
    found = next(filter(None, (_UNITS.search(pattern) for pattern in patterns)), None)
    return ", ".join(f"`{unit}`" for unit in found[1].split("|")) if found else ""


def _sections(section: _Section, listed: Sequence[Listed]) -> Iterator[str]:
    """Yield the table of one section, followed by those of nested tables."""
    yield _section(section, listed)
    for key, node in section.node["properties"].items():
        place = f"{section.place}.{key}" if section.place else key
        for inner in _inside(place, node, listed):
            yield from _sections(inner, listed)


def _inside(place: str, node: Node, listed: Sequence[Listed]) -> Iterator[_Section]:
    """Yield the tables that the value of a key may hold."""
    if "properties" in node:
        if _listing(node, listed) is None:
            yield _Section(place, node.get("title", ""), node)
    elif isinstance(node.get("additionalProperties"), Mapping):
        yield from _inside(f"{place}.NAME", node["additionalProperties"], listed)
    elif "items" in node:
        yield from _inside(place, node["items"], listed)
    for choice in node.get("anyOf", ()):
        yield from _inside(place, choice, listed)


def _section(section: _Section, listed: Sequence[Listed]) -> str:
    node, depth = section.node, section.place.count(".")
    description = _without_default(node.get("description", ""), node.get("default"))
    lines = [_heading(section, depth), ""]
    if section.place and description:
        lines += [f"{description[0].upper()}{description[1:]}.", ""]
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    required = node.get("required", ())
    keys = sorted(node["properties"], key=lambda key: key not in _CHOOSES)
    lines += [_row(key, node["properties"][key], key in required, listed) for key in keys]
    excluded = node.get("not", {})
    for pair in excluded.get("anyOf", [excluded] if excluded else []):
        named = " and ".join(f"`{key}`" for key in pair["required"])
        lines += ["", f"Only one of {named} may be given."]
    return "\n".join([*lines, ""])


def _heading(section: _Section, depth: int) -> str:
    if not section.place:
        return "## The top level"
    last = section.place.split(".")[-1]
    title = "" if section.title == last or last == "NAME" else f": {section.title}"
    return f"{'##' if depth < 2 else '###'} `[{section.place}]`{title}"


def _row(key: str, node: Node, required: bool, listed: Sequence[Listed]) -> str:
    default = "required" if required else "–"
    if "default" in node:
        default = f"`{_toml(node['default'])}`"
    chooses = "chooses this table" if key in _CHOOSES else ""
    description = _without_default(node.get("description", chooses), node.get("default"))
    return f"| `{key}` | {_cell(_type(node, listed))} | {default} | {_cell(description)} |"


def _type(node: Node, listed: Sequence[Listed]) -> str:
    """Describe the permitted values in a few words."""
    if "$ref" in node:
        return str(node["$ref"]).rsplit("/", 1)[-1]
    if "const" in node:
        return f"`{_toml(node['const'])}`"
    if "enum" in node:
        return " or ".join(f"`{_toml(value)}`" for value in node["enum"])
    if "anyOf" in node:
        return _choices(node["anyOf"], listed)
    if "items" in node:
        return f"list of {_type(node['items'], listed)}"
    if "properties" in node:
        return f"table: {node['title']}"
    if isinstance(node.get("additionalProperties"), Mapping):
        return "tables by name"
    return _range(node)


def _choices(choices: Sequence[Node], listed: Sequence[Listed]) -> str:
    listing = next(filter(None, (_listing(choice, listed) for choice in choices)), None)
    plain = [_type(one, listed) for one in choices if "properties" not in one]
    if listing is not None:
        return " or ".join(
            [*plain, f"a table of `kind` and its parameters (`{listing.command} NAME`)"]
        )
    titles = [one["title"] for one in choices if "properties" in one]
    return " or ".join([*plain, *([f"table: {', '.join(titles)}"] if titles else [])])


def _range(node: Node) -> str:
    kind = str(node["type"])
    if "minimum" not in node or "maximum" not in node:
        return kind
    least, most = _toml(node["minimum"]), _toml(node["maximum"])
    return f"{kind}, {least}" if least == most else f"{kind}, {least} to {most}"


def _listing(node: Node, listed: Sequence[Listed]) -> Listed | None:
    """Return the command that lists the parameters of this table, if there is one."""
    if "kind" not in node.get("properties", {}):
        return None
    kind = node["properties"]["kind"]
    name = kind.get("const") or kind["enum"][0]
    return next((one for one in listed if name in one.names), None)


def _without_default(description: str, default: object) -> str:
    """Remove the default, which has its own column, unless a reason for it follows."""
    text = default if isinstance(default, str) else _toml(default)
    return re.sub(
        rf"(; )?the default is {re.escape(text)}(?! \()(; )?", _seam, description, count=1
    )


def _seam(match: re.Match[str]) -> str:
    return "; " if match[1] and match[2] else ""


def _toml(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
