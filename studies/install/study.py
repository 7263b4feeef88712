"""What does an installation take, and why does it need each package?

The whole measurement installs the newest wheel of `make wheel` from the package registry, without a
cache, into environments of its own. The small form describes the environment that runs it.
"""

import json
import platform
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

MINUTES = 5
# No wheel is installed.
NULL_WHEN_SMALL = ("wheel.wheel", "wheel.size_mb", "installations.time_s")

WHEELS = Path(__file__).resolve().parents[2] / "target" / "wheels"
# The part without extras comes first; the others are those of pyproject.toml for users.
EXTRAS = ("", "pictures", "sweep", "cluster", "kubernetes", "gym", "worst")
# Why a package is needed. Packages without a line are needed by those that name them.
REASONS = {
    "sojourn": "the simulator, the page, the scenarios and the papers",
    "argcomplete": "completion in shells; imported when a shell asks",
    "jinja2": "templates of reports and of tables in notebooks",
    "msgspec": "reads and checks run directories of any program",
    "polars": "frames of series and figures; imported when a frame is used",
    "rich": "tables and progress on the terminal",
    "matplotlib": "draws figures as SVG, PNG and PDF for papers",
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
COMMANDS: Mapping[str, Sequence[str]] = {
    "sojourn --version": ["--version"],
    "sojourn check": ["check", "capacity-drop"],
    "sojourn controllers": ["controllers"],
    "sojourn run --json": ["run", "capacity-drop", "--json", "--control", "cubic"],
    "sojourn run --no-report": ["run", "capacity-drop", "--no-report", "--control", "cubic"],
    "sojourn run": ["run", "capacity-drop", "--control", "cubic"],
}
# Runs in the environment: the packages with their sizes.
LIST = r"""
import importlib.metadata as metadata, json, re
def normal(name): return re.sub(r"[-_.]+", "-", name).lower()
found = []
for one in metadata.distributions():
    about = one.metadata
    size = sum(f.size or 0 for f in one.files or ())
    classes = about.get_all("Classifier") or ()
    named = [c.rpartition(" :: ")[2] for c in classes if "License ::" in c]
    text = about.get("License-Expression") or ", ".join(named) or about.get("License") or ""
    plain = [r for r in one.requires or () if "extra ==" not in r]
    needs = [normal(re.split(r"[ ;<>=!~\[(]", r)[0]) for r in plain]
    found.append({"name": normal(about["Name"]), "version": one.version, "bytes": size,
                  "licence": text.splitlines()[0][:60] if text else "", "needs": needs})
print(json.dumps(found))
"""
# Runs in the environment: a command, and the packages that it has imported at its end.
IMPORTS = r"""
import json, sys
before = set(sys.modules)
from sojourn.cli import main
try:
    main(sys.argv[2:])
except SystemExit:
    pass  # `--version` ends by itself.
import importlib.metadata as metadata
owners = metadata.packages_distributions()
tops = {name.partition(".")[0] for name in set(sys.modules) - before}
found = sorted({owner.lower() for top in tops for owner in owners.get(top, ())})
open(sys.argv[1], "w").write(json.dumps(found))
"""


def packages(python: str) -> list[Row]:
    """Return the packages of an environment."""
    done = subprocess.run([python, "-c", LIST], stdout=subprocess.PIPE, check=True)
    found: list[Row] = json.loads(done.stdout)
    return found


def installed(wheel: Path, extra: str, place: Path) -> tuple[float, list[Row]]:
    """Install the wheel with an extra; return the time in s and the new packages."""
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    before = {one["name"] for one in packages(python)}
    line = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    began = time.perf_counter()
    subprocess.run([*line, "--no-cache-dir", f"{wheel}[{extra}]" if extra else wheel], check=True)
    took_s = time.perf_counter() - began
    return took_s, [one for one in packages(python) if one["name"] not in before]


def needed(every: Iterable[Row]) -> list[Row]:
    """Return Sojourn and the packages that it needs, of those of an environment."""
    named = {one["name"]: one for one in every}
    todo, found = ["sojourn"], {}
    while todo:
        name = todo.pop()
        if name in named and name not in found:
            found[name] = named[name]
            todo += named[name]["needs"]
    return list(found.values())


def imports(python: str) -> Iterator[Row]:
    """Yield the packages that each command imports."""
    for name, args in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "imports.json"
            line = [python, "-c", IMPORTS, str(file), *args]
            subprocess.run(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            yield {"command": name, "packages": ", ".join(json.loads(file.read_text()))}


def measure(small: bool) -> dict[str, list[Row]]:
    """Install the wheel with each extra, or describe this environment."""
    found: list[tuple[str, float | None, list[Row]]] = []
    wheel: dict[str, object] = {"wheel": None, "size_mb": None}
    if small:
        found.append(("", None, needed(packages(sys.executable))))
        listed = list(imports(sys.executable))
    else:
        file = max(WHEELS.glob("*manylinux*.whl"), key=lambda one: one.stat().st_mtime)
        wheel = {"wheel": file.name, "size_mb": round(file.stat().st_size / 1e6, 1)}
        with tempfile.TemporaryDirectory() as folder:
            for extra in EXTRAS:
                took_s, own = installed(file, extra, Path(folder) / f"v{extra}")
                found.append((extra, round(took_s, 1), own))
            listed = list(imports(str(Path(folder) / "v" / "bin" / "python")))
    system = f"{platform.system()} {platform.machine()}"
    return {
        "wheel": [{**wheel, "python": platform.python_version(), "system": system}],
        "installations": [
            {
                "installation": f"sojourn[{extra}]" if extra else "sojourn",
                "time_s": took_s,
                "packages": len(own),
                "size_mb": round(sum(one["bytes"] for one in own) / 1e6, 1),
            }
            for extra, took_s, own in found
        ],
        "packages": list(reasons([(extra, own) for extra, _, own in found])),
        "imports": listed,
    }


def reasons(found: Sequence[tuple[str, Sequence[Row]]]) -> Iterator[Row]:
    """Yield the packages of the plain installation, and those that each extra adds to them."""
    plain = {one["name"] for one in found[0][1]}
    for extra, own in found:
        for one in sorted(own, key=lambda one: -one["bytes"]):
            if extra and one["name"] in plain:
                continue
            users = [other["name"] for other in own if one["name"] in other["needs"]]
            yield {
                "extra": extra,
                "package": one["name"],
                "version": one["version"],
                "size_mb": round(one["bytes"] / 1e6, 1),
                "licence": one["licence"],
                "reason": REASONS.get(one["name"]) or f"needed by {', '.join(users)}",
            }


def answer(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return time, packages and size of each installation."""
    lines = ["| installation | time | packages | size |", "|---|---|---|---|"]
    for row in tables["installations"]:
        # The small form installs nothing.
        time = "–" if row["time_s"] is None else f"{row['time_s']:.0f} s"
        size = f"{row['size_mb']:.0f} MB"
        lines.append(f"| `{row['installation']}` | {time} | {row['packages']} | {size} |")
    return "\n".join(lines)
