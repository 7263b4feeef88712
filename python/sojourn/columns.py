"""The tables of a run directory with their keys and columns, for `sojourn columns`.

Each table is declared once, by the type of its rows. The meaning of a key is the text after it in
the source of that type.
"""

import ast
import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import groupby, pairwise
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from sojourn import run_directory, run_summary, run_tables
from sojourn.comparison import summary as comparison

_UNITS = {"s": "s", "bps": "bit/s", "bytes": "bytes", "packets": "packets"}
"""Units by the last word of a key."""
_KINDS = {str: "text", bool: "true or false", int: "count", float: "number"}
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
    *((f"{what}.parquet", row) for what, row in run_directory.ROWS.items()),
    ("CONTROL-SEED.acks.parquet", run_tables.Acknowledgement),
    ("summary.json", run_summary.Summary),
    ("summary.json: runs[]", run_summary.RunSummary),
    ("summary.json: runs[].flows[]", run_summary.FlowSummary),
    ("summary.json: runs[].flows[].transfers_by_size[]", run_summary.SizeClass),
    ("summary.json: runs[].flows[].media", run_summary.MediaSummary),
    ("summary.json: runs[].links[]", run_summary.LinkSummary),
    ("summary.json: runs[].spikes[]", run_summary.SpikeSummary),
    ("summary.json: runs[].live", run_summary.LiveSummary),
    ("summary.json: runs[].live.departures.FLOW", run_summary.Departures),
    ("summary.json: runs[].transfer", run_summary.TransferSummary),
    ("summary.json: medians[]", run_summary.Medians),
    ("summary.json: a figure of medians[]", run_summary.Spread),
    ("summary.json: controllers[]", run_summary.UserController),
    ("summary.json: verdicts[]", run_summary.Verdict),
    ("summary.json: verdicts[].controllers[]", run_summary.ControllerVerdict),
    ("summary.json: unavoidable[]", run_summary.LinkUnavoidable),
    ("summary.json: unavoidable[].controllers[]", run_summary.AvoidableDelay),
    ("comparison.json", comparison.ComparisonSummary),
    ("comparison.json: flows[]", comparison.FlowComparison),
    ("comparison.json: flows[].window", comparison.WindowComparison),
    ("comparison.json: links[]", comparison.LinkComparison),
    ("comparison.json: a figure of flows[] or links[]", comparison.Compared),
    ("comparison.json: a figure over steps", comparison.ComparedSteps),
    ("comparison.json: a and b", comparison.ComparedRun),
    ("comparison.json: by_position[]", comparison.Renamed),
    ("comparison.json: only_in_a and only_in_b", comparison.OnlyIn),
    ("comparison.json: their flows[] and links[]", comparison.Named),
    ("comparison.json: not_compared[]", comparison.NotCompared),
)
# Types with all their keys, if another program writes one.
_NESTED = (
    run_summary.SizeClass,
    run_summary.MediaSummary,
    run_summary.LiveSummary,
    run_summary.Departures,
    run_summary.TransferSummary,
)
# Bases whose keys another table lists.
_INHERITED = (run_summary.Summary, comparison.Compared)


@cache
def tables() -> tuple[Table, ...]:
    """Return all tables, the Parquet files first."""
    return tuple(_table(place, row) for place, row in ROWS)


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
    required = _required(row)
    keys = [
        Key(name, _kind(hints[name]), _unit(name), name in required, meaning)
        for name, meaning in _meanings(row)
    ]
    about = " ".join((inspect.getdoc(row) or "").split())
    return Table(place, about, tuple(sorted(keys, key=lambda key: not key.required)))


def _required(row: type) -> Collection[str]:
    """Return the keys that another program must write."""
    for what, kind in run_directory.ROWS.items():
        if kind is row:
            return [one.name for one in run_directory.COLUMNS[what] if one.required]
    if row in _NESTED:
        keys: frozenset[str] = row.__required_keys__
        return keys
    return run_directory.REQUIRED.get(row, ())


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
