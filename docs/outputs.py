"""Writes the output below each command that README and guide show: `make outputs`.

In a block `console`, a line `$ command` is followed by its output. A block `python` with a block
`text` directly after it is shown with what it prints. The commands of a document run in its order,
in one folder that has copies of the files that a reader has. Words after the fence's language are
options: `lines=8` keeps the first eight lines of each output, and `exit=2` is the expected status.
A block with `file=mine.toml` is that file, for the commands after it.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
# Commands that install or build Sojourn; their shown output stays as it is.
_SETUP = ("make", "git", "cargo", "cd", "apt", "sudo", "pip", "python3", "source", "eval", ".")
_NUMBER = re.compile(r"[-+]?\d[\d.,:]*(?:e[-+]?\d+)?")
# Words of the output that may differ: a verdict's words and a table's order follow its figures.
ALIKE = 0.75


@dataclass(frozen=True)
class Block:
    """One fenced block of a document, from `start` to `end` of its text."""

    language: str
    options: str
    text: str
    start: int
    end: int

    def option(self, name: str, default: int) -> int:
        """Return a number among the options."""
        found = re.search(rf"\b{name}=(\d+)", self.options)
        return int(found[1]) if found else default


def documents() -> list[Path]:
    """Return the documents whose commands are shown with their outputs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a document, in its order."""
    return [Block(m[1], m[2], m[3], m.start(), m.end()) for m in _FENCE.finditer(text)]


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block as it is written, and the output below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        last = next(n for n, line in enumerate(lines) if not line.endswith("\\\n"))
        yield "".join(lines[: last + 1]).rstrip("\n"), "".join(lines[last + 1 :])


def is_setup(command: str) -> bool:
    """Return whether a command installs or builds Sojourn, which the tests require."""
    return command.split()[0] in _SETUP


def workplace(folder: Path) -> Path:
    """Copy the files that a reader has, with the command where `make demo` puts it."""
    for name in ("scenarios", "papers", "docs", "tests/captures"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored, dirs_exist_ok=True)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    return folder


def environment() -> dict[str, str]:
    """Return an environment in which outputs are the same on every machine."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONSAFEPATH": "1"}


def printed(command: list[str], folder: Path, status: int) -> str:
    """Run a command, and return what a terminal shows; any other status is an error."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != status or "Traceback" in done.stdout:
        shown = command[-1]
        raise RuntimeError(f"{shown}\nended with status {done.returncode}:\n{done.stdout}")
    return done.stdout


def kept(output: str, lines: int) -> str:
    """Return the lines of an output that the document shows."""
    every = [line.rstrip() for line in output.strip("\n").splitlines()]
    shown = every[:lines] + ["..."] * (len(every) > lines)
    return "".join(f"{line}\n" for line in shown)


def outputs(text: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the commands of a document, and yield each block that shows an output, renewed."""
    before: Block | None = None
    program = ""
    for block in blocks(text):
        lines = block.option("lines", 60)
        if named := re.search(r"\bfile=(\S+)", block.options):
            (folder / named[1]).write_text(block.text, "utf-8")
        if block.language == "console":
            shown = ""
            for command, old in commands(block):
                if is_setup(command):
                    shown += f"$ {command}\n{old}"
                    continue
                line = ["bash", "-euo", "pipefail", "-c", command]
                output = printed(line, folder, block.option("exit", 0))
                shown += f"$ {command}\n{kept(output, lines)}"
            yield block, shown
        elif block.language == "python":
            program += block.text
            printed([sys.executable, "-c", program], folder, block.option("exit", 0))
        elif block.language == "text" and before is not None and before.language == "python":
            between = text[before.end : block.start]
            if not between.strip():
                # The program's earlier blocks print as well: their lines come first.
                earlier = printed([sys.executable, "-c", program[: -len(before.text)]], folder, 0)
                output = printed([sys.executable, "-c", program], folder, 0)
                yield block, kept(output[len(earlier) :], lines)
        before = block


def renewed(text: str, folder: Path) -> str:
    """Return a document with the outputs of its commands written anew."""
    for block, shown in reversed(list(outputs(text, folder))):
        fence = f"```{block.language}{block.options}\n{shown}```\n"
        text = text[: block.start] + fence + text[block.end :]
    return text


def likeness(old: str, new: str) -> float:
    """Return the share of equal words of two outputs, in their order, whatever the numbers are."""
    first, second = (
        _NUMBER.sub("0", re.sub(r"[─━│┃═|-]+", " ", text)).split() for text in (old, new)
    )
    return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def main() -> None:
    """Write the named documents anew, by default all."""
    files = [Path(name).resolve() for name in sys.argv[1:]] or documents()
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            text = renewed(file.read_text("utf-8"), workplace(Path(folder)))
        file.write_text(text, "utf-8")
        print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
