"""The tables of a run directory with their keys and columns, for `sojourn columns`.

Each table is declared once: the parts of a run in crates/record, the rest by a type of Python, in
whose source the text after a key is its meaning.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import groupby, pairwise
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from sojourn import _core
from sojourn.record import run_directory, summary
from sojourn.record.comparison import summary as comparison

_UNITS = {"s": "s", "bps": "bit/s", "bytes": "bytes", "packets": "packets"}
"""Units by the last word of a key."""
_KINDS = {str: "text", bool: "true or false", int: "count", float: "number"}
_DECLARED = {
    "text": "text",
    "one_of": "text",
    "flag": "true or false",
    "count": "count",
    "number": "number",
    "list": "list",
    "text_list": "list",
    "pairs": "list",
}
"""Words for the kinds of crates/record; the others are objects."""
_INTRO = """\
# Tables and keys of a run directory

Every column of the Parquet files and every key of the JSON files, written by
`sojourn columns --markdown`. [The run directory](../run-directory.md) describes the files. Null
means that a value does not exist or is unknown, and never zero. `sojourn run --json` prints
`summary.json`, and `sojourn compare --json` prints `comparison.json`. Another program that writes
a run directory must write the keys and columns marked as required.
[Compatibility](../contract.md) says which changes a new version may make."""


@dataclass(frozen=True)
class Key:
    """A key or a column; `unit` is empty for text, shares and numbers without one."""

    name: str
    kind: str
    unit: str
    required: bool
    meaning: str


@dataclass(frozen=True)
class Table:
    """A Parquet file, or an object of a JSON file at `place`."""

    place: str
    about: str
    keys: tuple[Key, ...]

    @property
    def all_required(self) -> bool:
        """Whether another program must write all keys, if it writes the table."""
        return all(key.required for key in self.keys)

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON's values."""
        return asdict(self)


ROWS: tuple[tuple[str, type], ...] = (
    ("summary.json", summary.Summary),
    ("summary.json: medians[]", summary.Medians),
    ("summary.json: controllers[]", summary.UserController),
    ("comparison.json", comparison.ComparisonSummary),
    ("comparison.json: flows[]", comparison.FlowComparison),
    ("comparison.json: flows[].window", comparison.WindowComparison),
    ("comparison.json: links[]", comparison.LinkComparison),
    ("comparison.json: a figure of flows[] or links[]", comparison.Compared),
    ("comparison.json: a figure over steps", comparison.ComparedSteps),
    ("comparison.json: a and b", comparison.ComparedRun),
    ("comparison.json: differences[]", comparison.Difference),
    ("comparison.json: by_position[]", comparison.Renamed),
    ("comparison.json: only_in_a and only_in_b", comparison.OnlyIn),
    ("comparison.json: their flows[] and links[]", comparison.Named),
    ("comparison.json: not_compared[]", comparison.NotCompared),
)
"""The tables that Python declares."""
# Bases whose keys another table lists.
_INHERITED = (summary.Summary, comparison.Compared)


@cache
def tables() -> tuple[Table, ...]:
    """Return all tables, the Parquet files first."""
    core = [_of_core(table) for table in json.loads(_core.tables())]
    files = [table for table in core if table.place.endswith(".parquet")]
    own = [_table(place, row) for place, row in ROWS]
    return (*files, *_by_place([*core[len(files) :], *own]))


def _by_place(found: Sequence[Table]) -> list[Table]:
    """Sort tables: a file, then its parts, in the order in which they are declared."""
    order = {place: index for index, place in enumerate(_ORDER)}
    return sorted(found, key=lambda table: order.get(table.place.partition("[")[0], len(order)))


_ORDER = (
    "summary.json",
    "summary.json: runs",
    "summary.json: medians",
    "summary.json: a figure of medians",
    "summary.json: controllers",
    "summary.json: verdicts",
    "summary.json: picture",
    "summary.json: unavoidable",
)


def _of_core(declared: Mapping[str, Any]) -> Table:
    keys, meaning = [], ""
    for column in declared["columns"]:
        # A column without a text has the meaning of the one before.
        meaning = column["meaning"] or meaning
        kind = _DECLARED.get(column["kind"], "object")
        required = column["need"] == "required"
        keys.append(Key(column["name"], kind, _unit(column["name"]), required, meaning))
    keys.sort(key=lambda key: not key.required)
    return Table(declared["place"], declared["about"], tuple(keys))


def named(name: str) -> list[Table]:
    """Return the tables of a file, or the tables that have this key, with that key alone."""
    if not is_key(name):
        return [table for table in tables() if name in _files(table)]
    return [
        Table(table.place, table.about, found)
        for table in tables()
        if (found := tuple(key for key in table.keys if key.name == name))
    ]


def is_key(name: str) -> bool:
    """Whether a name is that of a column or key, and of no file."""
    return name in {key.name for table in tables() for key in table.keys} and not any(
        name in _files(table) for table in tables()
    )


def names() -> list[str]:
    """Return the names of files without their ends, and of columns and keys."""
    keys = {key.name: None for table in tables() for key in table.keys}
    return list({_files(table)[-1]: None for table in tables()} | keys)


def _files(table: Table) -> tuple[str, ...]:
    """Return the names by which a user may ask for a table's file."""
    file, _, inside = table.place.partition(": ")
    stem = file.removeprefix("CONTROL-SEED.").partition(".")[0]
    return table.place, inside or file, file, stem


def markdown(found: Sequence[Table]) -> str:
    """Format tables as a document."""
    return "\n\n".join([_INTRO, _contents(found), *map(_section, found)]) + "\n"


def _contents(found: Sequence[Table]) -> str:
    """List the files, with links to their first tables."""
    files = {table.place.partition(":")[0]: None for table in found}
    links = (f"[`{file}`](#{re.sub('[^a-z0-9_-]', '', file.lower())})" for file in files)
    return f"Files: {', '.join(links)}."


def _section(table: Table) -> str:
    required = any(key.required for key in table.keys) and not table.all_required
    about = f"{table.about} All keys are required." if table.all_required else table.about
    heads = ["name", "kind", "unit", *(["required"] if required else []), "meaning"]
    lines = [_line(heads), "|---" * len(heads) + "|"]
    # Keys that differ in their name alone share a row.
    for alike, group in groupby(table.keys, lambda key: (*asdict(key).values(),)[1:]):
        kind, unit, needed, meaning = alike
        names = ", ".join(f"`{key.name}`" for key in group)
        needs = ["yes" if needed else ""] if required else []
        lines.append(_line([names, kind, unit, *needs, meaning]))
    return "\n\n".join([f"## `{table.place}`", about, "\n".join(lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _table(place: str, row: type) -> Table:
    hints = get_type_hints(row)
    required = run_directory.REQUIRED.get(row, ())
    keys = [
        Key(name, _kind(hints[name]), _unit(name), name in required, meaning)
        for name, meaning in _meanings(row)
    ]
    about = " ".join((inspect.getdoc(row) or "").split())
    return Table(place, about, tuple(sorted(keys, key=lambda key: not key.required)))


def _kind(hint: Any) -> str:
    """Describe a type in a word; null is a value of every kind."""
    inner = [one for one in get_args(hint) if one is not type(None)]
    origin = get_origin(hint)
    if origin is Literal or (origin is None and hint in _KINDS):
        return _KINDS.get(hint, "text")
    if origin is list:
        return "list"
    if origin is dict or is_typeddict(hint):
        return "object"
    return _kind(inner[0])


def _unit(name: str) -> str:
    return _UNITS.get(name.rpartition("_")[2], "") if "_" in name else ""


def _meanings(row: type) -> Iterator[tuple[str, str]]:
    """Yield the keys of a type with their meanings, its own first, then those of its bases."""
    module = inspect.getmodule(row)
    assert module is not None
    bases, own = _declared(module)[row.__name__]
    yield from own
    # A TypedDict keeps no bases, so their names come from the source.
    for base in (getattr(module, name) for name in bases):
        if is_typeddict(base) and base not in _INHERITED:
            yield from _meanings(base)


Declared = Mapping[str, tuple[list[str], list[tuple[str, str]]]]


@cache
def _declared(module: ModuleType) -> Declared:
    """Return the names of the bases, and the keys, of each type of a module."""
    found: dict[str, tuple[list[str], list[tuple[str, str]]]] = {}
    body = ast.parse(inspect.getsource(module)).body
    for one, after in pairwise([*body, ast.Pass()]):
        if isinstance(one, ast.ClassDef):
            names = [base.id for base in one.bases if isinstance(base, ast.Name)]
            found[one.name] = (names, list(_of_body(one.body)))
        elif isinstance(one, ast.Assign) and isinstance(one.value, ast.Call):
            # `TypedDict("Name", {...})`, which may have keys that are words of Python.
            assert isinstance(after, ast.Expr)
            keys = [node.value for node in ast.walk(one) if isinstance(node, ast.Constant)]
            found[str(keys[0])] = ([], [(str(keys[1]), _text(after))])
    return found


def _of_body(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a type; a text is the meaning of all keys since the one before."""
    names: list[str] = []
    for statement in body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.append(statement.target.id)
        elif isinstance(statement, ast.Expr) and names:
            yield from ((name, _text(statement)) for name in names)
            names = []
    assert not names, f"no text is after {', '.join(names)}"


def _text(statement: ast.Expr) -> str:
    return " ".join(str(ast.literal_eval(statement.value)).split())
