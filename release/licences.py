"""Writes the licences of all parts of the wheel into a file: a list of the parts, then their texts.

    python release/licences.py --texts python/sojourn/shipped/licences.txt

The data are those of cargo, of npm's packages in `web`, and a list of the C libraries that crates
build from their own copies.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# C libraries that a crate compiles from copies in its package: name, licence, folder of the texts.
_VENDORED = {
    "libbpf-sys": (
        ("libbpf", "LGPL-2.1-only OR BSD-2-Clause", "libbpf/LICENSE.BSD-2-Clause"),
        ("libelf of elfutils", "GPL-2.0-or-later OR LGPL-3.0-or-later", "elfutils/COPYING-LGPLV3"),
        ("zlib", "Zlib", "zlib/LICENSE"),
    ),
}
# Licences that need no more than their text beside the program, by SPDX identifier.
_PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense",
    "Zlib",
}  # fmt: skip
_TEXTS = re.compile(r"^(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)
_HEAD = """\
Sojourn is licensed under Apache-2.0 or MIT, as you choose. The package also contains the parts
below.

The programs for the Linux kernel are licensed under GPL-2.0, as the kernel requires for the
functions that they call. The package for Linux contains their compiled objects, which `sojourn
kernel load` and live runs load into the kernel; they are not linked with the rest. Their source is
in the folder `bpf` of the repository and of the source package. A package that was built without
`libbpf` contains the objects and cannot load them.
"""
_FURTHER = """\
These parts ask for more than their text beside the program. Each is linked statically, and its
source is in the crate that its line names. `make wheel` in the repository builds the package with a
changed one.
"""


@dataclass(frozen=True, order=True)
class Part:
    """A part of the wheel that other authors wrote."""

    name: str
    version: str
    licence: str
    kind: str
    texts: tuple[Path, ...] = ()


def crates() -> list[Part]:
    """Return the crates that the compiled module contains, without those of the build."""
    line = ["cargo", "metadata", "--format-version=1", "--locked"]
    line += ["--features=sojourn-py/kernel", "--filter-platform=x86_64-unknown-linux-gnu"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    data = json.loads(done.stdout)
    packages = {one["id"]: one for one in data["packages"]}
    nodes = {one["id"]: one for one in data["resolve"]["nodes"]}
    todo = [name for name, one in packages.items() if one["name"] == "sojourn-py"]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        # Macros run in the compiler alone.
        if name in found or _is_macro(packages[name]):
            continue
        found.add(name)
        deps = nodes[name]["deps"]
        todo += [one["pkg"] for one in deps if any(k["kind"] is None for k in one["dep_kinds"])]
    return sorted(_crate(packages[name]) for name in found if packages[name]["source"])


def _is_macro(package: Mapping[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def _crate(package: Mapping[str, Any]) -> Part:
    folder = Path(package["manifest_path"]).parent
    licence = str(package["license"] or "").replace("/", " OR ")
    return Part(package["name"], package["version"], licence, "crate", _texts(folder))


def _texts(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(file for file in folder.iterdir() if _TEXTS.match(file.name)))


def vendored(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the C libraries that these crates contain."""
    for part in parts:
        folder = part.texts[0].parent if part.texts else None
        for name, licence, text in _VENDORED.get(part.name, ()):
            file = None if folder is None else folder / text
            if file is None or not file.is_file():
                raise SystemExit(f"{part.name} has no {text}: correct _VENDORED in {__file__}")
            yield Part(name, f"in {part.name} {part.version}", licence, "C library", (file,))


def packages() -> list[Part]:
    """Return npm's packages in the page; an empty list if the page was not built."""
    built = ROOT / "target" / "page" / "licences.txt"
    if not built.is_file():
        return []
    lines = set(re.split(r", |\n", built.read_text("utf-8")))
    found = []
    for file in sorted((ROOT / "web" / "node_modules").glob("**/package.json")):
        name = file.parent.relative_to(ROOT / "web" / "node_modules").as_posix()
        if name in lines:
            about = json.loads(file.read_text("utf-8"))
            texts = _texts(file.parent)
            found.append(Part(name, about["version"], about["license"], "package of npm", texts))
    return found


def is_permissive(licence: str) -> bool:
    """Whether one choice of a licence expression asks for no more than its text."""
    choices = re.split(r"\s+OR\s+", licence.replace("(", "").replace(")", ""))
    return any(
        all(one.strip() in _PERMISSIVE for one in re.split(r"\s+AND\s+", choice))
        for choice in choices
    )


def listed(parts: list[Part]) -> str:
    """Return the list of all parts, after those with further terms."""
    others = [part for part in parts if not is_permissive(part.licence)]
    rust = "The standard library of Rust (MIT OR Apache-2.0) is in every program in Rust."
    return "\n".join(
        [_HEAD, _FURTHER, *map(_line, others), "", "All parts:", rust, *map(_line, parts)]
    )


def _line(part: Part) -> str:
    return f"- {part.name} {part.version} ({part.kind}): {part.licence}"


def texts(parts: list[Part]) -> str:
    """Return the texts of all licences, each once."""
    named: dict[str, list[str]] = {}
    for part in parts:
        if not part.texts:
            named.setdefault(f"Licence: {part.licence}", []).append(part.name)
        for file in part.texts:
            if file.is_file():
                text = file.read_text("utf-8", "replace").strip()
                named.setdefault(text, []).append(part.name)
    gpl = (ROOT / "bpf" / "COPYING").read_text("utf-8").strip()
    named.setdefault(gpl, []).append("the programs for the kernel")
    return "\n\n\n".join(f"{', '.join(dict.fromkeys(n))}\n\n{text}" for text, n in named.items())


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description="List the licences of the wheel's parts.")
    parser.add_argument("--texts", metavar="FILE", type=Path, required=True, help="file to write")
    args = parser.parse_args()
    shipped = crates()
    parts = [*shipped, *vendored(shipped), *packages()]
    args.texts.write_text(f"{listed(parts)}\n\n\n{texts(parts)}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
