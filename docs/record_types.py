"""Writes the types of a run's tables, for Python and for the page, from their declaration in Rust.

`python docs/record_types.py` writes the files that the tests compare.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.record import summary_metrics

ROOT = Path(__file__).resolve().parents[1]
Column = Mapping[str, Any]
Table = Mapping[str, Any]

_PYTHON = {
    "text": "str",
    "flag": "bool",
    "count": "int",
    "number": "float",
    "text_map": "dict[str, str]",
    "text_list": "list[str]",
    "any": "dict[str, Any]",
    "pairs": "list[tuple[float, float]]",
}
_TYPESCRIPT = {
    "text": "string",
    "flag": "boolean",
    "count": "number",
    "number": "number",
    "text_map": "Record<string, string>",
    "text_list": "string[]",
    "any": "Record<string, unknown>",
    "pairs": "[number, number][]",
}
_HEAD = "Written by docs/record_types.py from the declaration in crates/record."
_PALETTE_HEAD = f"""\
// The looks of lines, and the figures of tables: heading, unit, meaning. {_HEAD}

/** A colour on white, and on a dark ground. */
interface Shades {{
  light: string;
  dark: string;
}}

/** The look of a controller; other names share those without a name. */
export interface Ink extends Shades {{
  name: string;
  /** The place of its dash in `DASHES`. */
  dash: number;
}}

/** The look of a part of a delay in the picture of a verdict. */
export interface PartInk extends Shades {{
  name: string;
  label: string;
}}"""
# Longer lines than the linters allow are folded.
_WIDTH = 96


def files() -> dict[Path, str]:
    """Return the text of each generated file."""
    tables = json.loads(_core.tables())
    rows = [table for table in tables if table["place"].endswith(".parquet")]
    others = [table for table in tables if table not in rows]
    return {
        ROOT / "python" / "sojourn" / "record" / "record_types.py": _python(
            rows + _inside_out(others)
        ),
        ROOT / "web" / "src" / "record.ts": _typescript(others),
        ROOT / "web" / "src" / "palette.ts": _palette(),
    }


def _inside_out(tables: Sequence[Table]) -> list[Table]:
    """Put tables before those that they are part of."""
    done: list[Table] = []
    while len(done) < len(tables):
        names = {table["name"] for table in tables if table not in done}
        done += [
            table
            for table in tables
            if table["name"] in names
            and not any(
                column.get("of") in names for column in table["columns"] if _has_table(column)
            )
        ]
    return done


def _has_table(column: Column) -> bool:
    return column["kind"] in ("object", "list", "map")


def _python(tables: Sequence[Table]) -> str:
    head = f'"""Types of the tables that a run leaves.\n\n{_HEAD}\n"""\n'
    imports = "\nfrom typing import Any, Literal, TypedDict\n"
    return head + imports + "".join(map(_class, tables))


def _class(table: Table) -> str:
    about = textwrap.wrap(table["about"].partition(". ")[2], _WIDTH - 4)
    first = table["about"].partition(". ")[0].removesuffix(".") + "."
    lines = [f'"""{first}', "", *about, '"""'] if about else [f'"""{first}"""']
    absent = [column for column in table["columns"] if column["need"] == "absent"]
    columns = [column for column in table["columns"] if column not in absent]
    name = table["name"]
    if not absent:
        return _typed(name, "TypedDict", [*lines, "", *_hints(table, columns)])
    # Python 3.10 has no NotRequired.
    optional = _typed(f"_{name}", "TypedDict, total=False", _hints(table, absent))
    return optional + _typed(name, f"_{name}", [*lines, "", *_hints(table, columns)])


def _typed(name: str, base: str, body: Sequence[str]) -> str:
    return f"\n\nclass {name}({base}):\n" + textwrap.indent("\n".join(body), "    ") + "\n"


def _hints(table: Table, columns: Sequence[Column]) -> list[str]:
    return [f"{column['name']}: {_hint(table, column)}" for column in columns]


def _hint(table: Table, column: Column) -> str:
    of = column.get("of")
    kinds = {
        "object": of,
        "list": f"list[{of}]",
        "map": f"dict[str, {of}]",
        "one_of": f"Literal[{', '.join(json.dumps(word) for word in of or [])}]",
    }
    kind = kinds.get(column["kind"]) or _PYTHON[column["kind"]]
    # Another program may omit a column of a file.
    is_row = table["place"].endswith(".parquet") and column["need"] == "optional"
    null = " | None" if (column["null"] or is_row) and column["need"] != "absent" else ""
    return f"{kind}{null}"


def _typescript(tables: Sequence[Table]) -> str:
    return (
        "\n\n".join([f"// The tables that a run leaves. {_HEAD}", *map(_interface, tables)]) + "\n"
    )


def _interface(table: Table) -> str:
    lines = [f"  {key}: {kind};" for key, kind in _members(table)]
    return "\n".join([f"export interface {table['name']} {{", *lines, "}"])


def _members(table: Table) -> Iterator[tuple[str, str]]:
    for column in table["columns"]:
        of = column.get("of")
        kinds = {
            "object": of,
            "list": f"{of}[]",
            "map": f"Record<string, {of}>",
            "one_of": " | ".join(json.dumps(word) for word in of or []),
        }
        kind = kinds.get(column["kind"]) or _TYPESCRIPT[column["kind"]]
        is_absent = column["need"] == "absent"
        null = " | null" if column["null"] and not is_absent else ""
        yield f"{column['name']}{'?' if is_absent else ''}", kind + null


def _palette() -> str:
    """Return the looks of lines, and the figures of tables with headings and meanings."""
    found = json.loads(_core.palette())
    media = [one["name"] for one in json.loads(_core.controllers()) if one["needs"]["media"]]
    metrics: dict[str, dict[str, tuple[str, str, str]]] = {}
    for one in (*summary_metrics.CHANGING, *summary_metrics.LINKS, *summary_metrics.RTTS):
        metrics.setdefault(one.subject, {})[one.key] = (one.head, one.unit, one.meaning)
    found["parts"] = [{k: v for k, v in one.items() if k != "block"} for one in found["parts"]]
    names = {
        "dashes": "number[][]",
        "weights": "number[]",
        "inks": "Ink[]",
        "parts": "PartInk[]",
        "bound": "Shades",
    }
    values = [f"{name.upper()}: {of} = {_literal(found[name])}" for name, of in names.items()]
    values += [f"MEDIA: string[] = {_literal(media)}", f"METRICS = {_literal(metrics)} as const"]
    return "\n".join([_PALETTE_HEAD, *(f"\nexport const {value};" for value in values), ""])


def _literal(value: Any) -> str:
    """Format a value with a line for each of its objects and lists."""
    return re.sub(r"(?<=[]}]), (?=[{\"])", ",\n  ", json.dumps(value, ensure_ascii=False))


def main() -> None:
    """Write the files."""
    for file, text in files().items():
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
