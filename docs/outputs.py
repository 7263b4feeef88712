"""Writes the output below each command that the documents show: `docs/renew outputs`.

In a block `console`, a line `$ command` is followed by its output. A block `python` with a block
`text` directly after it is shown with what it prints. The commands of a document run in its order,
in one folder that has copies of the files that a reader has. Words after the fence's language are
options: `lines=8` keeps the first eight lines of each output, and `exit=2` is the expected status;
`real` says that the output's figures are this machine's. A block with `file=mine.toml` is that
file, for the commands after it.

The tests compare the outputs in form with those shown (`faults`), because a better controller must
not fail a test.
"""

import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
# Commands that install or build Sojourn; their shown output stays as it is.
_SETUP = ("make", "git", "cargo", "cd", "apt", "sudo", "pip", "python3", "source", "eval", ".")
# Times are compared in ms, rates in Mbit/s and sizes in kB, whatever the unit of the output.
_UNITS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
_UNITS |= {"bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1.0, "Gbit/s": 1e3}
_UNITS |= {"B": 1e-3, "kB": 1.0, "MB": 1e3, "GB": 1e6}
# A number with its unit. A digit within a word, a path or an address is a part of a name.
_QUANTITY = re.compile(
    r"(?<![\w.:/-])[-+]?(?P<number>\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w.:]*[.:]\d)"
    rf"(?:\s?(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![\w/]))?"
)
_DIGITS = re.compile(r"\d+")
_RULES = re.compile(r"[░▒▓█▚─━│┃═╞╡╪┌┐└┘├┤┬┴┼┆|]+")
# The share of words that stay: a verdict's words and a table's order follow the figures.
ALIKE = 0.75
# Words that turn a statement into its contrary, or report a failure.
_CONTRARY = re.compile(
    r"\b(?:no|not|never|cannot|fails?|failed|refused|error|warning|invalid)\b", re.I
)
# A figure that changes by more says something else to the reader, such as seconds for milliseconds;
# the best and the worst controller of a table differ by more. Two units beside it are little: 0 and
# 4 drops, or 0.4 and 4 ms.
FACTOR = 3
LITTLE = 2
# Lines about the machine that runs the commands, in outputs that are otherwise the same anywhere.
_MACHINE = re.compile(r"runs in [\d.]|on \d+ processes|packets a second here")
# Between the outputs of a program's blocks.
_NEXT = "next block"
# No command takes so long, even on a busy machine.
_LIMIT_S = 300


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

    @property
    def is_real(self) -> bool:
        """Whether the figures are those of the machine, such as the times of real packets."""
        return "real" in self.options.split()


def documents() -> list[Path]:
    """Return the documents that show a command or a program with its output.

    The tutorials are notebooks.
    """
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    others = {"tutorials", "reference"}
    return [file for file in every if not others & set(file.parts) and shows_output(file)]


def shows_output(file: Path) -> bool:
    """Return whether an output of a command or a program stands in a document."""
    text = file.read_text("utf-8")
    every = blocks(text)
    consoles = (block for block in every if block.language == "console")
    return any(output for block in consoles for _, output in commands(block)) or any(
        is_printed(text, *pair) for pair in pairwise(every)
    )


def is_printed(text: str, before: Block, block: Block) -> bool:
    """Return whether a block is what the program directly before it prints."""
    languages = before.language, block.language
    return languages == ("python", "text") and not text[before.end : block.start].strip()


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
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=_LIMIT_S)
        finally:
            # A server that the command left behind ends with it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != status or "Traceback" in output:
        shown = command[-1]
        raise RuntimeError(f"{shown}\nended with status {process.returncode}:\n{output}")
    return output


def kept(output: str, lines: int) -> str:
    """Return the lines of an output that the document shows."""
    every = [line.rstrip() for line in output.strip("\n").rstrip().splitlines()]
    shown = every[:lines] + ["..."] * (len(every) > lines)
    return "".join(f"{line}\n" for line in shown)


def outputs(text: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the commands of a document, and yield each block that shows an output, renewed."""
    every = blocks(text)
    program = output = ""
    for before, block, after in zip([None, *every], every, [*every[1:], None], strict=False):
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
                new = printed(line, folder, block.option("exit", 0))
                shown += f"$ {command}\n{kept(new, lines)}"
            yield block, shown
        elif block.language == "python":
            program += f"print({_NEXT!r})\n{block.text}"
            # Blocks of Python are one program, which runs at the last of those in a row.
            if after is None or after.language != "python":
                output = printed([sys.executable, "-c", program], folder, block.option("exit", 0))
        elif before is not None and is_printed(text, before, block):
            yield block, kept(output.rpartition(f"{_NEXT}\n")[2], lines)


def renewed(text: str, folder: Path) -> str:
    """Return a document with the outputs of its commands written anew."""
    for block, shown in reversed(list(outputs(text, folder))):
        fence = f"```{block.language}{block.options}\n{shown}```\n"
        text = text[: block.start] + fence + text[block.end :]
    return text


def faults(block: Block, new: str) -> list[str]:
    """Return in which form a block's outputs differ from those shown, each command alone."""
    if block.language != "console":
        return differences("program", block.text, new, is_real=block.is_real)
    renewed = Block(block.language, block.options, new, block.start, block.end)
    pairs = zip(commands(block), commands(renewed), strict=True)
    return [
        fault
        for (command, old), (_, output) in pairs
        for fault in differences(command, old, output, is_real=block.is_real)
    ]


def differences(command: str, old: str, new: str, *, is_real: bool = False) -> list[str]:
    """Return what differs between a command's output and the shown one, other than a little.

    Most words stay, none of denial or failure is added, and numbers at the same place of the same
    line stay within a factor.
    """
    before, after = shapes(old), shapes(new)
    found = []
    shown, printed_now = ([word for line, _ in lines for word in line] for lines in (before, after))
    alike = difflib.SequenceMatcher(None, shown, printed_now, autojunk=False).ratio()
    if alike < ALIKE:
        found.append(f"{command}: {alike:.0%} of the words are those shown")
    contrary = [Counter(word.lower() for word in _CONTRARY.findall(text)) for text in (old, new)]
    if added := contrary[1] - contrary[0]:
        found.append(f"{command}: the output has more of {', '.join(added)}")
    if is_real:
        return found
    # Lines of the same words may stand in another order among others, but not among themselves.
    later = defaultdict(list)
    for line, numbers in after:
        later[_DIGITS.sub("0", " ".join(line)), len(numbers)].append(numbers)
    for line, numbers in before:
        same = later[_DIGITS.sub("0", " ".join(line)), len(numbers)]
        for was, now in zip(numbers, same.pop(0) if same else numbers, strict=True):
            if (max(was, now) + LITTLE) / (min(was, now) + LITTLE) > FACTOR:
                found.append(f"{command}: {was:g} became {now:g} in: {' '.join(line)}")
    return found


def shapes(output: str) -> list[tuple[tuple[str, ...], list[float]]]:
    """Return the words of each line, with 0 for each number, and its numbers to compare."""
    found = []
    for line in output.splitlines():
        plain = _RULES.sub(" ", line)
        words = _QUANTITY.sub(lambda one: "0" + (one["unit"] or "").lstrip("nuµmkMG"), plain)
        numbers = [
            float(one["number"].replace(",", "")) * _UNITS.get(one["unit"], 1.0)
            for one in _QUANTITY.finditer("" if _MACHINE.search(line) else plain)
        ]
        found.append((tuple(words.split()), numbers))
    return found


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
