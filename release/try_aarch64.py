"""Tries the wheel of `release/wheel aarch64` on a machine with another processor.

    python release/try_aarch64.py AARCH64.whl THIS_MACHINE.whl

debootstrap unpacks Debian's Python for aarch64 into a temporary folder, pip adds the wheel with its
dependencies, and qemu-user runs the commands. Their output must be that of this machine's wheel, to
the byte. Needs root for debootstrap. It tries no pictures: their worker is a process of its own,
which qemu-user runs only if the kernel knows it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

_NEEDED = ("debootstrap", "dpkg-deb", "qemu-aarch64-static")
_PYTHON = ("3.11", "bookworm")
# The platforms of wheels that this Debian (glibc 2.36) can run.
_GLIBC_MINORS = range(17, 37)
_FOLDER = Path(__file__).resolve().parents[1] / "scenarios"
_SCENARIOS = sorted(
    file.relative_to(_FOLDER).with_suffix("").as_posix() for file in _FOLDER.rglob("*.toml")
)
_RUN = "import sys; from sojourn.cli import main; sys.exit(main())"
_COMMANDS = (
    "--version",
    "scenarios",
    "controllers --json",
    "queues --json",
    "kernel list",
    "schema",
    *(f"run {name} --json" for name in _SCENARIOS),
    "run capacity-drop --json --control prague --set link.bottleneck.queue=dualpi2",
    'run capacity-drop --json --control prague --set flow.upload.stack={kind="noq",mtu="1440B"}',
    "theory spike --from 60Mbit --to 20Mbit --delay 50ms --json",
)


def unpack(place: Path) -> Path:
    """Unpack Debian's Python for aarch64; return its interpreter."""
    version, suite = _PYTHON
    line = ["debootstrap", "--foreign", "--arch=arm64", "--variant=minbase", "--include=python3"]
    done = subprocess.run([*line, suite, str(place)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"debootstrap failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    # Its second stage would run programs of aarch64, and unpacking suffices.
    for package in sorted((place / "var" / "cache" / "apt" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(place)], check=True)
        package.unlink()
    return place / "usr" / "bin" / f"python{version}"


def install(wheel: Path, target: Path) -> None:
    """Install the wheel and its dependencies for aarch64 into a folder."""
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in _GLIBC_MINORS]
    line = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    line += ["--target", str(target), "--only-binary=:all:", "--python-version", _PYTHON[0]]
    line += [*platforms, "--platform=manylinux2014_aarch64", "--implementation=cp"]
    subprocess.run(
        [*line, f"--abi=cp{_PYTHON[0].replace('.', '')}", "--abi=abi3", str(wheel)], check=True
    )


def compare(command: str, there: Sequence[str], packages: Path, here: str, home: Path) -> bool:
    """Run a command on both processors, and report whether the outputs are equal."""
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "100"}
    given = {**plain, "PYTHONPATH": str(packages)}
    began = time.perf_counter()
    arm = subprocess.run(
        [*there, "-c", _RUN, *command.split()], cwd=home, env=given, capture_output=True
    )
    took_s = time.perf_counter() - began
    own = subprocess.run(
        [here, "-c", _RUN, *command.split()], cwd=home, env=plain, capture_output=True
    )
    is_equal = arm.returncode == 0 and arm.stdout == own.stdout
    outcome = "equal" if is_equal else "FAILED"
    print(f"{outcome:8} {took_s:6.1f} s {len(arm.stdout):9,} bytes  sojourn {command}", flush=True)
    if not is_equal:
        print(f"    status {arm.returncode} and {own.returncode}; {arm.stderr.decode()[-1500:]}")
    return is_equal


def main() -> int:
    """Unpack, install and compare."""
    parser = argparse.ArgumentParser(description="Try the wheel for aarch64 under qemu-user.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("beside", type=Path, help="the wheel of this machine, or a Python with it")
    args = parser.parse_args()
    if absent := [name for name in _NEEDED if shutil.which(name) is None]:
        packages = "sudo apt-get install debootstrap qemu-user-static"
        raise SystemExit(f"{', '.join(absent)}: missing; on Debian or Ubuntu: {packages}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        python = unpack(place / "debian")
        install(args.wheel.resolve(), place / "packages")
        here = str(args.beside.absolute())
        if args.beside.suffix == ".whl":
            venv.create(place / "v", with_pip=True)
            here = str(place / "v" / "bin" / "python")
            line = [here, "-m", "pip", "install", "--quiet", str(args.beside.resolve())]
            subprocess.run(line, check=True)
        (place / "home").mkdir()
        there = ["qemu-aarch64-static", "-L", str(place / "debian"), str(python)]
        passed = [
            compare(one, there, place / "packages", here, place / "home") for one in _COMMANDS
        ]
    print(f"{passed.count(False)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
