"""Writes release/bundled.cdx.json: the parts of the wheel besides crates.

    python3 release/sbom.py

They are the C libraries that crates build from their own copies, and npm's packages in the page,
which must be built. maturin lists the crates, and adds both lists to the wheel (PEP 770).
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import licences

FILE = licences.ROOT / "release" / "bundled.cdx.json"
# The file of a crate's copy of a C library that states its version.
_VERSIONS = {
    "libbpf": ("libbpf/src/libbpf_version.h", r"MAJOR_VERSION (\d+)\n.*MINOR_VERSION (\d+)"),
    "libelf of elfutils": ("elfutils/configure.ac", r"AC_INIT\(\[elfutils\],\[([\d.]+)\]"),
    "zlib": ("zlib/zlib.h", r'ZLIB_VERSION "([\d.]+)"'),
}


def libraries() -> list[licences.Part]:
    """Return the C libraries, each with its own version."""
    found = []
    for crate in licences.crates():
        for part in licences.vendored([crate]):
            version = _version(crate.texts[0].parent, part.name)
            found.append(licences.Part(part.name, version, part.licence, part.kind))
    return found


def _version(folder: Path, name: str) -> str:
    file, pattern = _VERSIONS[name]
    found = re.search(pattern, (folder / file).read_text("utf-8"))
    if found is None:
        raise SystemExit(f"{folder / file} states no version: correct _VERSIONS in {__file__}")
    return ".".join(found.groups())


def document(parts: Sequence[licences.Part]) -> dict[str, Any]:
    """Return the bill of materials in CycloneDX 1.5."""
    about = {"type": "application", "name": "sojourn"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": about},
        "components": [_component(part) for part in sorted(parts)],
    }


def _component(part: licences.Part) -> dict[str, Any]:
    name = part.name.split()[0]
    kind = "npm" if part.kind == "package of npm" else "generic"
    return {
        "type": "library",
        "name": name,
        "version": part.version,
        "licenses": [{"expression": part.licence}],
        "purl": f"pkg:{kind}/{quote(name)}@{part.version}",
    }


def main() -> int:
    """Write the file."""
    packages = licences.packages()
    if not packages:
        raise SystemExit("the page is missing; `make page` builds it")
    text = json.dumps(document([*libraries(), *packages]), indent=2)
    FILE.write_text(f"{text}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
