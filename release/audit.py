"""Audits the supply chain: licences, sources and advisories of all parts.

    python3 release/audit.py [--packages FOLDER] [--all]

Prints one line for each check: passed, FAILED, or not run with the reason, such as a missing
program or a list of advisories out of reach: a mirror of crates.io, PyPI or npm has packages alone,
and the lists are RustSec's repository, PyPI's JSON and npm's audit service. Exits with 1 if a check
failed; with `--all`, also if one did not run.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_DENY = "cargo install cargo-deny --locked"
_TIMEOUT_S = 300


class NotRunError(Exception):
    """A check that could not run; the message is the reason."""


class FaultError(Exception):
    """A check that found a fault; the message describes it."""


def _call(
    *line: str | Path, program: str, remedy: str, place: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    if shutil.which(program) is None:
        raise NotRunError(f"{program} is missing: {remedy}")
    try:
        return subprocess.run(line, cwd=place, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise NotRunError(f"no answer within {_TIMEOUT_S} s") from error


def _deny(*given: str) -> subprocess.CompletedProcess[str]:
    return _call("cargo", "deny", *given, program="cargo-deny", remedy=_DENY)


def rules_of_crates() -> None:
    """Check the crates against the rules of deny.toml."""
    done = _deny("--log-level=error", "check", "licenses", "bans", "sources")
    if done.returncode:
        raise FaultError(done.stderr)


def advisories_of_crates() -> None:
    """Check the crates against the advisories of RustSec."""
    fetched = _deny("fetch", "db")
    if fetched.returncode:
        raise NotRunError(f"RustSec's list: {fetched.stderr.strip().splitlines()[-1]}")
    done = _deny("--log-level=error", "check", "--disable-fetch", "advisories")
    if done.returncode:
        raise FaultError(done.stderr)


def advisories_of_python(folder: Path) -> None:
    """Check the installed packages of Python against PyPI's advisories."""
    line = ("pip-audit", "--progress-spinner=off", "--format=json", "--path", folder)
    done = _call(*line, program="pip-audit", remedy="pipx install pip-audit")
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError as error:
        raise NotRunError((done.stderr.strip() or "no output").splitlines()[-1]) from error
    found = [f"{one['name']} {flaw['id']}" for one in packages for flaw in one.get("vulns", ())]
    if found:
        raise FaultError("\n".join(found))
    # Sojourn itself is on no package index.
    left = [one["name"] for one in packages if "skip_reason" in one and one["name"] != "sojourn"]
    if left or not packages:
        raise NotRunError(f"PyPI's list has no entry for {len(left)} of {len(packages)} packages")


def advisories_of_the_page() -> None:
    """Check the packages that build the page against npm's advisories."""
    line = ("npm", "audit", "--package-lock-only", "--json")
    done = _call(*line, program="npm", remedy="web/install", place=ROOT / "web")
    answer = json.loads(done.stdout or "{}")
    if "vulnerabilities" not in answer:
        raise NotRunError(f"npm's list: {answer.get('message', done.stderr.strip())}")
    if answer["vulnerabilities"]:
        raise FaultError("\n".join(answer["vulnerabilities"]))


def outcomes(checks: Iterable[tuple[str, Callable[[], None]]]) -> list[str]:
    """Run the checks, print a line for each, and return their outcomes."""
    found = []
    for name, check in checks:
        outcome, said = "passed", ""
        try:
            check()
        except NotRunError as error:
            outcome, said = "not run", str(error)
        except FaultError as error:
            outcome, said = "FAILED", str(error)
        found.append(outcome)
        print(f"{outcome:8} {name}", flush=True)
        if said:
            print("    " + "\n    ".join(said.strip().splitlines()), flush=True)
    return found


def _own_packages() -> Path:
    """Return the folder of the packages in .venv."""
    found = sorted((ROOT / ".venv" / "lib").glob("python3*/site-packages"))
    if not found:
        raise NotRunError("no packages are installed in .venv: make install, or --packages")
    return found[-1]


def main() -> int:
    """Run all checks."""
    parser = argparse.ArgumentParser(description="Audit licences, sources and advisories.")
    parser.add_argument("--packages", metavar="FOLDER", type=Path, help="default: those of .venv")
    parser.add_argument("--all", action="store_true", help="fail if a check could not run")
    args = parser.parse_args()
    found = outcomes(
        [
            ("crates: licences, bans, sources", rules_of_crates),
            ("crates: advisories of RustSec", advisories_of_crates),
            (
                "packages of Python: advisories of PyPI",
                lambda: advisories_of_python(args.packages or _own_packages()),
            ),
            ("packages of the page: advisories of npm", advisories_of_the_page),
        ]
    )
    failing = {"FAILED", "not run"} if args.all else {"FAILED"}
    return 1 if failing & set(found) else 0


if __name__ == "__main__":
    sys.exit(main())
