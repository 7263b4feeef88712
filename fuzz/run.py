"""Give every fuzz target its share of the time, and count (studies/fuzzing).

The targets are tests of this crate; cargo-bolero builds and runs each with libFuzzer.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT, SEEDS, OUT = HERE.parent, HERE / "src" / "__fuzz__", HERE / "out"
TOOL = ROOT / "target" / "cargo-bolero"
VERSION = "0.13.5"
# On the stable compiler, which has no sanitizer.
BUILD = ("--package=sojourn-fuzz", "--sanitizer=NONE", f"--target-dir={ROOT}/target/fuzz")
LIMITS = ("-rss_limit_mb=3072", "-max_len=262144", "-print_final_stats=1")


@dataclass
class Count:
    """The counts of one target."""

    target: str
    seconds: float = 0.0
    """Of processor time."""
    executions: int = 0
    edges: int = 0
    features: int = 0
    seeds: int = 0
    corpus: int = 0
    peak_rss_mb: int = 0
    finding: str | None = None


def install() -> None:
    """Install the tool, unless it is there."""
    packages = (
        "cargo-bolero",
        f"--version={VERSION}",
        "--no-default-features",
        "--features=libfuzzer",
    )
    subprocess.run(
        ["cargo", "install", "--quiet", "--locked", f"--root={TOOL}", *packages], check=True
    )


def bolero(target: str, *given: str) -> list[str]:
    """Return the command that tests a target."""
    folders = (f"--corpus-dir={OUT}/corpus/{target}", f"--crashes-dir={OUT}/findings/{target}")
    engine = [f"--engine-args={one}" for one in (*LIMITS, SEEDS / target / "corpus")]
    tool = f"{TOOL}/bin/cargo-bolero"
    return [
        "nice",
        tool,
        "bolero",
        "test",
        target,
        *BUILD,
        *folders,
        "--timeout=20s",
        *engine,
        *given,
    ]


def fuzz(target: str, seconds: int) -> Count:
    """Fuzz a target until it used its share of processor time, or found a fault."""
    log = OUT / f"{target}.log"
    count = Count(target, seeds=len(list((SEEDS / target / "corpus").iterdir())))
    while count.finding is None and (left := seconds - int(count.seconds)) > 0:
        with log.open("wb") as out:
            process = subprocess.Popen(
                bolero(target, f"-T{left}s"),
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            _, status, used = os.wait4(process.pid, 0)
        count.seconds += used.ru_utime + used.ru_stime
        text = log.read_text("utf-8", "replace")
        count.executions += last(r"executed_units: (\d+)", text) or last(r"^#(\d+)\t", text)
        count.edges = max(count.edges, last(r"cov: (\d+)", text))
        count.features = max(count.features, last(r"ft: (\d+)", text))
        count.peak_rss_mb = max(count.peak_rss_mb, last(r"peak_rss_mb: +(\d+)", text))
        if status:
            fault = re.search(
                r"panicked at .*\n?.*|ERROR: libFuzzer: .*|^error.*", text, re.MULTILINE
            )
            count.finding = fault[0] if fault else f"status {status}"
    count.corpus = len(list((OUT / "corpus" / target).iterdir()))
    print(row(count) + (f"\n{count.finding}\n{log}" if count.finding else ""), flush=True)
    return count


def last(pattern: str, text: str) -> int:
    """Return the last number that the pattern finds; 0 without one."""
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


HEAD = """
| target | seconds | executions | a second | edges | features | seeds, kept | memory | fault |
|---|---|---|---|---|---|---|---|---|"""


def row(one: Count) -> str:
    """Return the counts as a row of Markdown."""
    return (
        f"| {one.target} | {one.seconds:.0f} | {one.executions:,} "
        f"| {one.executions / max(one.seconds, 1):,.0f} | {one.edges:,} | {one.features:,} "
        f"| {one.seeds}, {one.corpus:,} | {one.peak_rss_mb:,} MB "
        f"| {'yes' if one.finding else 'none'} |"
    )


def main() -> int:
    """Fuzz the targets, and keep the counts."""
    targets = sorted(folder.name for folder in SEEDS.iterdir())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=int, default=3600, help="of processor time, for all targets together"
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="at once")
    parser.add_argument(
        "targets", nargs="*", default=targets, metavar="TARGET", help="default: all"
    )
    args = parser.parse_args()
    if unknown := set(args.targets) - set(targets):
        parser.error(f"unknown target {min(unknown)}: {', '.join(targets)}")
    OUT.mkdir(exist_ok=True)
    install()
    share = max(1, args.seconds // len(args.targets))
    subprocess.run(bolero(args.targets[0], "-r1"), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    print(f"{len(args.targets)} targets, {share} s each, {args.jobs} at once{HEAD}", flush=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        try:
            counts = list(pool.map(lambda target: fuzz(target, share), args.targets))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            return 130
    show = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(show, capture_output=True, text=True, check=False).stdout.strip()
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit or "unknown",
        "targets": [asdict(count) for count in counts],
    }
    (OUT / "counts.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return 1 if any(count.finding for count in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
