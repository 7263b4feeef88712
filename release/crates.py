"""Packages the public crates, and builds their examples outside the workspace.

    python3 release/crates.py

The examples are copied to a project in a temporary folder, whose dependencies are the packages. So
they see only the files that users of the crates have. Prints the size of each package.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In the order of their dependencies.
CRATES = ("units", "cc", "queue", "transport", "theory", "quic")
_TARGET = ROOT / "target" / "crates"
_MANIFEST = """\
[package]
name = "user"
version = "0.0.0"
edition = "2024"

[features]
default = []

[dependencies]
{dependencies}

[patch.crates-io]
{patches}
"""


def package() -> dict[str, Path]:
    """Package all crates; return their files by name."""
    chosen = [word for crate in CRATES for word in ("--package", f"sojourn-{crate}")]
    line = ["cargo", "package", "--locked", "--allow-dirty", "--no-verify", "--quiet", *chosen]
    subprocess.run([*line, "--target-dir", str(_TARGET)], cwd=ROOT, check=True)
    found = {}
    for crate in CRATES:
        name = f"sojourn-{crate}"
        (found[name],) = (_TARGET / "package").glob(f"{name}-*.crate")
    return found


def user(packages: dict[str, Path], place: Path) -> list[str]:
    """Write a project that depends on the packages; return its programs."""
    patches, dependencies = [], []
    for name, file in packages.items():
        with tarfile.open(file) as packed:
            packed.extractall(place, filter="data")
        folder = place / file.name.removesuffix(".crate")
        version = file.name.removesuffix(".crate").removeprefix(f"{name}-")
        patches.append(f'{name} = {{ path = "{folder}" }}')
        extra = ', features = ["noq", "quinn"]' if name == "sojourn-quic" else ""
        dependencies.append(f'{name} = {{ version = "={version}"{extra} }}')
    # The example of the crate for QUIC names types of the stacks.
    dependencies += [_workspace_line("noq-proto"), _workspace_line("quinn-proto")]
    project = place / "user"
    programs = _programs(packages, place, project / "src" / "bin")
    text = _MANIFEST.format(dependencies="\n".join(dependencies), patches="\n".join(patches))
    (project / "Cargo.toml").write_text(text, "utf-8")
    # The versions that the workspace was tested with.
    shutil.copyfile(ROOT / "Cargo.lock", project / "Cargo.lock")
    return programs


def _workspace_line(name: str) -> str:
    found = re.search(rf"^{name} = .*$", (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    assert found, f"{name} is no dependency of the workspace"
    return found[0]


def _programs(packages: dict[str, Path], place: Path, target: Path) -> list[str]:
    """Copy the examples of the packages as programs; return their names."""
    target.mkdir(parents=True)
    names = []
    for name, file in packages.items():
        folder = place / file.name.removesuffix(".crate")
        examples = sorted((folder / "examples").glob("*.rs"))
        for example in examples:
            shutil.copyfile(example, target / example.name)
            names.append(example.stem)
        if not examples:
            names.append(_from_readme(name, folder, target))
    return names


def _from_readme(name: str, folder: Path, target: Path) -> str:
    """Make a program of the first example in a README."""
    shown = re.search(r"^```rust\n(.*?)^```$", (folder / "README.md").read_text(), re.M | re.S)
    if shown is None:
        raise SystemExit(f"{name} has neither an example nor one in its README")
    program = name.replace("-", "_")
    text = f"#![allow(dead_code)]\n{shown[1]}\nfn main() {{}}\n"
    (target / f"{program}.rs").write_text(text, "utf-8")
    return program


def main() -> int:
    """Package, build and run."""
    packages = package()
    with tempfile.TemporaryDirectory() as folder:
        programs = user(packages, Path(folder))
        project = Path(folder) / "user"
        line = ["cargo", "build", "--quiet", "--bins", "--target-dir", str(_TARGET)]
        subprocess.run(line, cwd=project, check=True)
        for program in programs:
            done = subprocess.run(
                [str(_TARGET / "debug" / program)], capture_output=True, text=True, check=True
            )
            shown = done.stdout.strip().splitlines()
            print(f"{program}: {shown[-1] if shown else 'built'}")
    for file in packages.values():
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
