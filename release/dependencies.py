"""Measures the installation of the wheel, and writes docs/dependencies.md and .json.

    python release/dependencies.py target/wheels/*.whl

Each installation is in a virtual environment of its own, in a temporary folder. The time is that of
`pip install` from the package registry, without a cache.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PAGE = ROOT / "docs" / "dependencies.md"
_DATA = ROOT / "docs" / "dependencies.json"
# The part without extras comes first; the others are those of pyproject.toml for users.
EXTRAS = ("", "sweep", "cluster", "kubernetes", "gym", "worst")
# Why a package is needed. Packages without a line are needed by those that name them.
REASONS = {
    "altair": "builds the charts as Vega-Lite documents; imported when one is drawn",
    "argcomplete": "completion in shells; imported when a shell asks",
    "jinja2": "templates of reports and of tables in notebooks; altair needs it too",
    "msgspec": "reads and checks run directories of any program",
    "polars": "frames of series and figures; imported when a frame is used",
    "rich": "tables and progress on the terminal",
    "vl-convert-python": "draws charts as SVG, PNG and offline pages, in a process of its own",
    "duckdb": "SQL over the datasets of sweeps",
    "scipy": "Latin-hypercube and Sobol designs",
    "dask-jobqueue": "jobs of Slurm and PBS",
    "dask-kubernetes": "clusters of Dask on Kubernetes",
    "distributed": "the scheduler and workers of a cluster",
    "fsspec": "datasets on remote file systems",
    "s3fs": "datasets on S3",
    "gymnasium": "the interface of learned control",
    "cmaes": "CMA-ES, the search of `sojourn worst`",
    "optuna": "the other searches of `sojourn worst`",
}
# Commands whose imports are listed.
_COMMANDS = {
    "sojourn --version": ["--version"],
    "sojourn check": ["check", "capacity-drop"],
    "sojourn controllers": ["controllers"],
    "sojourn run --json": ["run", "capacity-drop", "--json", "--control", "cubic"],
    "sojourn run --no-report": ["run", "capacity-drop", "--no-report", "--control", "cubic"],
    "sojourn run": ["run", "capacity-drop", "--control", "cubic"],
}
# Runs in the environment: the packages with their sizes.
_LIST = r"""
import importlib.metadata as metadata, json, re
found = []
for one in metadata.distributions():
    about = one.metadata
    files = one.files or ()
    size = sum(f.size or 0 for f in files)
    classes = about.get_all("Classifier") or ()
    named = [c.rpartition(" :: ")[2] for c in classes if "License ::" in c]
    text = about.get("License-Expression") or ", ".join(named) or about.get("License") or ""
    plain = [r for r in one.requires or () if "extra ==" not in r]
    needs = [re.split(r"[ ;<>=!~\[(]", r)[0].lower() for r in plain]
    found.append({"name": about["Name"].lower(), "version": one.version, "bytes": size,
                  "licence": text.splitlines()[0][:60] if text else "", "needs": needs})
print(json.dumps(found))
"""
# Runs in the environment: a command, and the packages that it has imported at its end.
_IMPORTS = r"""
import json, sys
before = set(sys.modules)
from sojourn.cli import main
status = main(sys.argv[2:])
import importlib.metadata as metadata
owners = metadata.packages_distributions()
tops = {name.partition(".")[0] for name in set(sys.modules) - before}
found = sorted({owner.lower() for top in tops for owner in owners.get(top, ())})
open(sys.argv[1], "w").write(json.dumps({"status": status, "packages": found}))
"""


def install(wheel: Path, extra: str, place: Path) -> dict[str, Any]:
    """Install the wheel with an extra into a new environment, and describe it."""
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    before = {one["name"] for one in _listed(python)}
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    line = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", what]
    line.insert(4, "--disable-pip-version-check")
    began = time.perf_counter()
    subprocess.run(line, check=True)
    took_s = time.perf_counter() - began
    packages = [one for one in _listed(python) if one["name"] not in before]
    return {
        "extra": extra,
        "install_s": round(took_s, 1),
        "installed_bytes": sum(one["bytes"] for one in packages),
        "packages": sorted(packages, key=lambda one: -one["bytes"]),
    }


def _listed(python: str) -> list[dict[str, Any]]:
    done = subprocess.run([python, "-I", "-c", _LIST], capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def imports(python: str, place: Path) -> dict[str, list[str]]:
    """Return the packages that each command imports."""
    found = {}
    for number, (name, args) in enumerate(_COMMANDS.items()):
        folder = place / str(number)
        folder.mkdir()
        file = folder / "imports.json"
        line = [python, "-I", "-c", _IMPORTS, str(file), *args]
        subprocess.run(line, cwd=folder, capture_output=True)
        if not file.is_file():
            # `--version` ends the process by itself.
            found[name] = ["sojourn"]
            continue
        found[name] = json.loads(file.read_text())["packages"]
    return found


def page(data: Mapping[str, Any]) -> str:
    """Return docs/dependencies.md."""
    whole = data["installs"]
    plain = whole[0]
    lines = [
        "# Dependencies",
        "",
        "`make dependencies` measures the wheel and writes this page; the data are in "
        "[dependencies.json](dependencies.json). Sizes are those of the installed files.",
        "[Releases](../CONTRIBUTING.md#releases) has the checks of these packages for advisories.",
        "",
        f"The wheel has {_mb(data['wheel_bytes'])}. Measured with Python {data['python']} on two "
        f"cores of a virtual machine ({data['system']}), without a cache and "
        "without other work.",
        "",
        "## Installations",
        "",
        "| installation | time | packages | size |",
        "|---|---|---|---|",
    ]
    for one in whole:
        name = f"sojourn[{one['extra']}]" if one["extra"] else "sojourn"
        count = len(one["packages"])
        size = _mb(one["installed_bytes"])
        lines.append(f"| `{name}` | {one['install_s']:.0f} s | {count} | {size} |")
    lines += ["", "## Packages of the plain installation", "", *_table(plain["packages"])]
    known = {one["name"] for one in plain["packages"]}
    for one in whole[1:]:
        own = [package for package in one["packages"] if package["name"] not in known]
        lines += ["", f"## Packages that `[{one['extra']}]` adds", "", *_table(own)]
    lines += ["", "## Imports of the commands", "", *_imports(data["imports"])]
    return "\n".join(lines) + "\n"


def _table(packages: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["| package | version | size | licence | reason |", "|---|---|---|---|---|"]
    for one in packages:
        reason = REASONS.get(one["name"]) or _needed_by(one["name"], packages)
        if one["name"] == "sojourn":
            reason = "the simulator, the page, the scenarios and the papers"
        cells = (one["name"], one["version"], _mb(one["bytes"]), one["licence"], reason)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _needed_by(name: str, packages: Sequence[Mapping[str, Any]]) -> str:
    users = [one["name"] for one in packages if name in one["needs"]]
    return f"needed by {', '.join(users) or 'a package of the plain installation'}"


def _imports(found: Mapping[str, Sequence[str]]) -> list[str]:
    lines = [
        "Packages that a command has imported when it ends. The worker process that draws a report",
        "imports vl-convert-python, and no command does.",
        "",
        "| command | packages |",
        "|---|---|",
    ]
    return lines + [f"| `{name}` | {', '.join(packages)} |" for name, packages in found.items()]


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="Measure the installation of a wheel.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--again", action="store_true", help="write the page from the JSON")
    args = parser.parse_args()
    if args.again:
        _PAGE.write_text(page(json.loads(_DATA.read_text("utf-8"))), "utf-8")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        installs = [install(args.wheel.resolve(), one, place / f"v{one}") for one in EXTRAS]
        data = {
            "wheel": args.wheel.name,
            "wheel_bytes": args.wheel.stat().st_size,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "installs": installs,
            "imports": imports(str(place / "v" / "bin" / "python"), place),
        }
    _DATA.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    _PAGE.write_text(page(data), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
