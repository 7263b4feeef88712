"""Run every fuzz target for its share of the time, and count (studies/fuzzing).

This needs only Python's standard library; `make fuzz` builds the targets first.
"""

import argparse
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SEEDS, OUT = HERE / "seeds", HERE / "out"
PROGRAMS = HERE.parent / "target/fuzz"
STUDIES = HERE.parent / "studies"

TARGETS = ("scenario", "json", "set", "capture", "capacity", "udp", "quic", "http3", "qlog")
OPTIONS = ("-timeout=20", "-rss_limit_mb=3072", "-max_len=262144", "-print_final_stats=1")
# libFuzzer's exit status after a timeout and after too much memory.
KINDS = {70: "over 20 s", 71: "over its memory"}
# A target stops at this many findings, because it keeps finding the same fault.
MOST_FINDINGS = 20
REPORT_S = 20.0


@dataclass
class Count:
    """The counts and findings of one target."""

    target: str
    seconds: float = 0.0
    executions: int = 0
    edges: int = 0
    all_edges: int | None = None
    seeds: int = 0
    corpus: int = 0
    new: int = 0
    peak_rss_mb: int = 0
    slowest_s: int = 0
    findings: list[dict[str, str]] = field(default_factory=list)


def command(target: str) -> list[str]:
    """Return the command line of a target."""
    (program,) = PROGRAMS.glob(f"*/fuzz/fuzz-{target}")
    return [str(program)]


class Run:
    """Repeated runs of one target until its time is over."""

    def __init__(self, target: str, seconds: int) -> None:
        self.count = Count(target)
        self.seconds = seconds
        self.corpus = OUT / "corpus" / target
        self.findings = OUT / "findings" / target
        self.log = OUT / f"{target}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.is_over = False

    def work(self) -> Count:
        """Fuzz; restart the program with its corpus after each finding, which ends it."""
        for folder in (self.corpus, self.findings):
            folder.mkdir(parents=True, exist_ok=True)
        before, begun = len(list(self.corpus.iterdir())), time.monotonic()
        self.log.write_bytes(b"")
        while not self.is_over and len(self.count.findings) < MOST_FINDINGS:
            left = self.seconds - int(time.monotonic() - begun)
            if left <= 0:
                break
            self._once(left)
        self.count.seconds = time.monotonic() - begun
        self.count.corpus = len(list(self.corpus.iterdir()))
        self.count.new = self.count.corpus - before
        self.count.seeds = len(list((SEEDS / self.count.target).iterdir()))
        return self.count

    def _once(self, seconds: int) -> None:
        begin = self.log.stat().st_size
        given = [*OPTIONS, f"-max_total_time={seconds}", f"-artifact_prefix={self.findings}/"]
        folders = [str(self.corpus), str(SEEDS / self.count.target)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["nice", *command(self.count.target), *given, *folders],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            status = self.process.wait()
        with self.log.open("rb") as log:
            log.seek(begin)
            text = log.read().decode("utf-8", "replace")
        self._note(text, status)

    def _note(self, text: str, status: int) -> None:
        count = self.count
        count.executions += _last(r"number_of_executed_units: (\d+)", text) or _last(
            r"^#(\d+)\t", text
        )
        count.edges = max(count.edges, _last(r"cov: (\d+)", text))
        count.all_edges = _last(r"Loaded 1 modules +\((\d+)", text) or count.all_edges
        count.peak_rss_mb = max(count.peak_rss_mb, _last(r"peak_rss_mb: +(\d+)", text))
        count.slowest_s = max(count.slowest_s, _last(r"slowest_unit_time_sec: +(\d+)", text))
        if status == 0 or self.is_over:
            return
        written = re.search(r"Test unit written to (\S+)", text)
        what = re.search(r"panicked at [^\n]*\n[^\n]*|memory allocation of [^\n]*", text)
        found = what.group(0) if what else f"status {status}"
        file = str(Path(written.group(1)).relative_to(HERE.parent)) if written else str(self.log)
        count.findings.append({"file": file, "what": KINDS.get(status, found)})
        print(f"{count.target}: {count.findings[-1]['what']}\n  {file}", flush=True)
        if not written:  # The program did not start, so it would not start the next time.
            self.is_over = True

    def progress(self) -> str:
        """Return a summary of the last status line."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - 4096))
            text = log.read().decode("utf-8", "replace")
        found = re.findall(r"^#(\d+)\t.*cov: (\d+).*corp: (\d+)", text, re.MULTILINE)
        if not found:
            return "starting"
        done, edges, corpus = found[-1]
        return f"{int(done):,} executions, {int(edges):,} edges, {int(corpus):,} inputs"

    def stop(self) -> None:
        """Kill the running program."""
        self.is_over = True
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


def fuzz(targets: list[str], seconds: int, jobs: int) -> tuple[list[Count], bool]:
    """Run every target for its share of `seconds`, `jobs` at once; also return if interrupted."""
    share = max(1, seconds * jobs // len(targets))
    runs = [Run(target, share) for target in targets]
    print(f"{len(targets)} targets, {share} s each, {jobs} at once", flush=True)
    was_stopped = False
    with ThreadPoolExecutor(jobs) as pool:
        work = [pool.submit(run.work) for run in runs]
        try:
            told = time.monotonic()
            while not all(one.done() for one in work):
                time.sleep(0.2)
                if time.monotonic() - told > REPORT_S:
                    told = time.monotonic()
                    for run, one in zip(runs, work, strict=True):
                        if one.running():
                            print(f"{run.count.target}: {run.progress()}", flush=True)
        except KeyboardInterrupt:
            print("stopping: the counts are those up to now", file=sys.stderr)
            was_stopped = True
            for run in runs:
                run.stop()
        return [one.result() for one in work], was_stopped


def table(result: dict[str, Any]) -> str:
    """Return the counts as Markdown."""
    rows = [
        "| target | seconds | executions | a second | edges | inputs: given, kept | slowest "
        "| memory | findings | date, commit |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in result["targets"]:
        of_all = f" of {one['all_edges']:,}" if one["all_edges"] else ""
        rate = one["executions"] / one["seconds"] if one["seconds"] else 0
        rows.append(
            f"| {one['target']} | {one['seconds']:,.0f} | {one['executions']:,} | {rate:,.0f} "
            f"| {one['edges']:,}{of_all} | {one['seeds']:,}, {one['corpus']:,} "
            f"| {one['slowest_s']} s | {one['peak_rss_mb']:,} MB | {len(one['findings'])} "
            f"| {result['date']}, {result['commit']} |"
        )
    return "\n".join([*rows, ""])


def commit() -> str:
    """Return the fuzzed version."""
    show = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    done = subprocess.run(show, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def record() -> None:
    """Store the last counts in the study, which shows the other targets as not run."""
    studies = runpy.run_path(str(STUDIES / "measure.py"))
    study = studies["load"]("fuzzing")
    studies["publish"]("fuzzing", study, study.recorded())


def main() -> int:
    """Fuzz, or record the last counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600, help="for all targets together")
    parser.add_argument("--targets", default=",".join(TARGETS), help="names, with commas between")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="at once")
    parser.add_argument("--record", action="store_true", help="store the last counts in the study")
    args = parser.parse_args()
    if args.record:
        record()
        return 0
    targets = args.targets.split(",")
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown or args.seconds < 1 or args.jobs < 1:
        parser.error(f"unknown target {unknown[0]}" if unknown else "too little to do")
    # The handler also ends the targets, which would continue by themselves.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    OUT.mkdir(exist_ok=True)
    counts, was_stopped = fuzz(targets, args.seconds, args.jobs)
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "targets": [asdict(count) for count in counts],
    }
    (OUT / "counts.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    print(f"\n{table(result)}")
    return 1 if was_stopped or any(count.findings for count in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
