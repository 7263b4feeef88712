"""Measure a study anew: `make study NAME=bbr3`, or `python studies/measure.py bbr3 [--small]`.

A study is a folder with `study.py` and `README.md`. The program uses Sojourn as any user does:

- `MINUTES`: how long a whole measurement takes on two cores;
- `NEEDS` (optional): programs or rights that it needs beside Sojourn, such as `("root", "tshark")`;
- `measure(small)`: returns tables, as lists of rows; `small` is the form of a few seconds,
  with the same tables and columns, that the tests run;
- `answer(tables)` (optional): Markdown for the README, between its two marks;
- `draw(tables, folder)` (optional): writes pictures beside the README;
- `NULL_WHEN_SMALL` (optional): columns, as `table.column`, that the small form may leave empty.

The tables are stored in `result.json`, one row a line. `tables.py`, which a study may import,
runs cases on all cores and writes a table in Markdown.
"""

import argparse
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

STUDIES = Path(__file__).resolve().parent
BEGIN = "<!-- result: begin -->"
END = "<!-- result: end -->"

Row = dict[str, object]
Tables = dict[str, list[Row]]


def names() -> list[str]:
    """Return the names of all studies."""
    return sorted(file.parent.name for file in STUDIES.glob("*/study.py"))


def load(name: str) -> ModuleType:
    """Load the program of a study; it imports modules of its own folder by name."""
    file = STUDIES / name / "study.py"
    spec = importlib.util.spec_from_file_location(f"study_{name.replace('-', '_')}", file)
    assert spec is not None
    assert spec.loader is not None
    study = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(study)
    finally:
        sys.path.remove(str(file.parent))
    return study


def missing(study: ModuleType) -> list[str]:
    """Return the needs of a study that this machine does not meet."""
    needs = getattr(study, "NEEDS", ())
    return [
        need for need in needs if not (os.geteuid() == 0 if need == "root" else shutil.which(need))
    ]


def stored(name: str) -> Tables:
    """Read the result of the last whole measurement."""
    tables: Tables = json.loads((STUDIES / name / "result.json").read_text("utf-8"))
    return tables


def to_json(tables: Tables) -> str:
    """Write tables with one row a line, so that a change shows its rows."""
    parts = []
    for table, rows in tables.items():
        lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        parts.append(f"{json.dumps(table)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def shown(readme: str, answer: str) -> str:
    """Return the README with this answer between its marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the README lacks the marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{answer.strip()}\n{END}{after}"


def publish(name: str, study: ModuleType, tables: Tables) -> None:
    """Write pictures and the README's answer from tables, then the tables themselves."""
    folder = STUDIES / name
    if hasattr(study, "draw"):
        study.draw(tables, folder)
    if hasattr(study, "answer"):
        readme = folder / "README.md"
        readme.write_text(shown(readme.read_text("utf-8"), study.answer(tables)), "utf-8")
    temporary = folder / "result.json.new"
    temporary.write_text(to_json(tables), "utf-8")
    temporary.replace(folder / "result.json")


def main() -> None:
    """Measure a study, or list all."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("name", nargs="?", choices=names(), help="the study; without it, list all")
    options.add_argument(
        "--small", action="store_true", help="measure the short form, and write no file"
    )
    options.add_argument(
        "--show", action="store_true", help="write README and pictures from the stored result"
    )
    given = options.parse_args()
    if given.name is None:
        for name in names():
            study = load(name)
            print(
                f"{name:14} {study.MINUTES:5g} min  {(study.__doc__ or '').partition(chr(10))[0]}"
            )
        return
    study = load(given.name)
    if given.show:
        publish(given.name, study, stored(given.name))
        return
    if lacks := missing(study):
        raise SystemExit(f"the study {given.name} needs: {', '.join(lacks)}")
    length = "some seconds" if given.small else f"some {study.MINUTES:g} minutes on two cores"
    print(f"{given.name}: this takes {length}.", file=sys.stderr)
    began = time.monotonic()
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)  # runs that a study writes go here
        tables = study.measure(given.small)
        os.chdir(here)
    print(f"{given.name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    if given.small:
        print(to_json(tables), end="")
    else:
        publish(given.name, study, tables)


if __name__ == "__main__":
    main()
