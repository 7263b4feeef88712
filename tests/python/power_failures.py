"""`.venv/bin/python tests/python/power_failures.py`: power failures during a sweep.

`sojourn sweep` and its workers get SIGKILL at a random time, or in a random one of their steps that
write a file. Then everything that they had not
synced is lost as by a power failure: each file is cut to its size at its last sync, and of the
moves, removals and new folders whose folder was not synced afterwards, some are undone. Every
reader must then refuse the dataset or show rows of the undisturbed sweep, and the same command must
give the whole of it, row for row.

`--cost` measures the command with and without syncs.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import sojourn
from sojourn.errors import UsageError
from support import SMALL, command, environment

TABLES = ("points", "runs", "flows", "links", "spikes")
# Failures of one dataset before the command may end.
IN_A_ROW = 5


@dataclass
class Found:
    """The results of all failures."""

    kills: int = 0
    datasets: int = 0
    cut: int = 0
    """Files that lost content."""
    undone: int = 0
    """Moves, removals and new folders that were lost."""
    refused: int = 0
    """Times that a reader refused the dataset."""
    shown: int = 0
    faults: list[str] = field(default_factory=list)


class Trials:
    """One sweep, and its undisturbed result."""

    def __init__(self, place: Path, runs: int, seed: int) -> None:
        self.place = place
        self.random = random.Random(seed)
        self.dataset, self.log, self.kept = (place / one for one in ("swept", "log", "kept"))
        (place / "small.toml").write_text(SMALL.replace('"6s"', '"6s"\nstart_jitter = "1s"'))
        shutil.copy(Path(__file__).with_name("sync_recorder.py"), place / "sitecustomize.py")
        vary = "link.bottleneck.queue=droptail,codel"
        self.line = command("sweep", "small.toml", "--vary", vary, "--runs", str(runs), "--series")
        self.line += ["--jobs", "2", "--out", str(self.dataset)]
        self.takes_s = self.undisturbed()
        self.steps_bytes = self.log.stat().st_size
        self.whole = dict(self.tables())
        shutil.rmtree(self.dataset)

    def undisturbed(self, **others: str) -> float:
        """Run the command to its end; return its duration in seconds."""
        began = time.monotonic()
        _, stderr = (process := self._begin(**others)).communicate()
        assert process.returncode == 0, stderr
        return time.monotonic() - began

    def fail(self, count: int) -> Found:
        """Let the power fail this often, in several datasets."""
        found = Found()
        while found.kills < count and not found.faults:
            for _ in range(min(IN_A_ROW, count - found.kills)):
                if self._one(found):
                    found.kills += 1
                    self._show(found)
            self.compare(found)
            shutil.rmtree(self.dataset)
        return found

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Read all tables."""
        read = sojourn.Dataset(self.dataset)
        yield from ((name, getattr(read, name)) for name in TABLES)
        yield "series", read.series("flows")

    def _begin(self, **others: str) -> "subprocess.Popen[str]":
        self.kept.mkdir(exist_ok=True)
        paths = [str(self.place), os.environ.get("PYTHONPATH", "")]
        own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "SYNC_LOG": str(self.log)}
        own |= {"SYNC_KEPT": str(self.kept), "SYNC_PLACE": str(self.dataset)}
        own |= {"SYNC_MODE": "record", **others}
        return subprocess.Popen(
            self.line,
            cwd=self.place,
            env={**environment(), **own},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _one(self, found: Found) -> bool:
        """Start the command and let the power fail; return whether it was still running."""
        self.log.write_text("")
        before = {file.stat().st_ino: file.stat().st_size for file in self._files()}
        if self.random.random() < 0.5:
            process = self._begin(SYNC_KILL=str(self.random.randrange(self.steps_bytes)))
            process.communicate()
        else:
            process = self._begin()
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=self.random.uniform(0.0, self.takes_s))
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if process.returncode == 0:
            return False
        lines = [line.rstrip(" ").split("\t") for line in self.log.read_text().splitlines()]
        found.undone += self._undo(lines)
        found.cut += self.cut(before, lines)
        shutil.rmtree(self.kept)
        return True

    def _undo(self, lines: list[list[str]]) -> int:
        """Undo some of the changes of names that were not synced, the last one first."""
        syncs: set[str] = set()
        undone = 0
        for kind, *parts in reversed(lines):
            if kind in ("begin", "sync"):
                syncs.update(parts[2:])
                continue
            *sources, target, kept = parts
            if str(Path(target).parent) in syncs or self.random.random() < 0.5:
                continue
            undone += self._undo_one(kind, Path(target), kept, sources)
        return undone

    def _undo_one(self, kind: str, target: Path, kept: str, sources: list[str]) -> bool:
        """Undo one change, if the process had time for it."""
        if kind == "os.mkdir":
            shutil.rmtree(target, ignore_errors=True)
            return True
        is_done = not Path(*sources).exists() if sources else not target.exists()
        if not is_done or not target.parent.is_dir():
            return False
        target.unlink(missing_ok=True)
        if kept:
            os.link(kept, target)
        return True

    def cut(self, before: dict[int, int], lines: list[list[str]]) -> int:
        """Cut each file to what was synced."""
        sizes = before | {int(own[1]): int(own[2]) for own in lines if own[0] == "sync"}
        cut = 0
        for file in self._files():
            status = file.stat()
            if (size := sizes.get(status.st_ino, 0)) < status.st_size:
                os.truncate(file, size)
                cut += 1
        return cut

    def _files(self) -> list[Path]:
        return [file for file in self.dataset.rglob("*") if file.is_file()]

    def _show(self, found: Found) -> None:
        """Read what is left: it is refused, or it has rows of the undisturbed sweep."""
        try:
            for name, frame in self.tables():
                whole = self.whole[name]
                columns = [one for one in whole.columns if one in frame.columns]
                if not frame.join(whole, on=columns, how="anti", nulls_equal=True).is_empty():
                    found.faults.append(f"after kill {found.kills}: {name} has other rows")
            found.shown += 1
        except (UsageError, FileNotFoundError):
            found.refused += 1

    def compare(self, found: Found) -> None:
        """Run the command to its end, and compare all tables."""
        self.undisturbed()
        found.datasets += 1
        for name, frame in self.tables():
            if not frame.equals(self.whole[name]):
                found.faults.append(f"after kill {found.kills}: {name} differs")


def cost(trials: Trials, times: int) -> tuple[float, float]:
    """Return the least duration of the command in seconds, with and without syncs."""
    took: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(times):
        for mode, own in took.items():
            own.append(trials.undisturbed(SYNC_MODE=mode))
            shutil.rmtree(trials.dataset)
    return min(took["on"]), min(took["off"])


def main() -> int:
    """Print the counts, or the cost of syncs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="failures")
    parser.add_argument("--runs", type=int, default=100, help="seeds of each of the four points")
    parser.add_argument("--seed", type=int, default=1, help="of the times")
    parser.add_argument("--cost", type=int, metavar="TIMES", help="measure the cost of syncs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(Path(folder), args.runs, args.seed)
        print(f"an undisturbed sweep of {4 * args.runs} runs takes {trials.takes_s:.1f} s")
        if args.cost:
            on, off = cost(trials, args.cost)
            print(f"with syncs {on:.2f} s, without {off:.2f} s: {on / off:.3f}")
            return 0
        found = trials.fail(args.count)
    print(found)
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
