"""The commands, and the parser of the command line.

A new command is a module with a function that declares its options and sets `execute`, and a line
in `COMMANDS`. Only the module of the command that runs is imported.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, TypeAlias

from sojourn.terminal import one_line


class Command(NamedTuple):
    """A command: its name, its line in the help, and the function that declares its options."""

    name: str
    help: str
    place: str = ""
    """The function, if it is neither `declare` of its module nor `declare_two` for `one two`."""
    runs_another: bool = False
    """Whether `--` separates its own arguments from a command line for it to run."""

    @property
    def declare(self) -> str:
        """The module and the name of the function."""
        first, _, second = self.name.partition(" ")
        return self.place or f"sojourn.cli.{first}:declare" + (f"_{second}" if second else "")


COMMANDS = (
    Command("run", "simulate a scenario, once for each of its controllers"),
    Command("live", "run a scenario in real time, on real network stacks"),
    Command("serve", "receive the data of `sojourn send` on this machine, over UDP"),
    Command("send", "send data to a machine that runs `sojourn serve`, with any controller"),
    Command("quic serve", "serve files over HTTP/3, with any controller in a QUIC stack"),
    Command("quic get", "download over HTTP/3, and show the figures of the connection"),
    Command(
        "shell", "run any program in real time over the links of a scenario", runs_another=True
    ),
    Command("kernel load", "load a controller into the kernel, for every program of this machine"),
    Command("kernel list", "list the controllers that can be loaded into the kernel"),
    Command("kernel status", "list the loaded controllers, their sockets and their parameters"),
    Command("kernel unload", "remove a loaded controller from the kernel"),
    Command("compare", "compare run directories, of Sojourn or another program"),
    Command(
        "sweep", "simulate a scenario at every point of a study, such as several queues and rates"
    ),
    Command(
        "sweep show",
        "show the figures of a sweep's dataset as tables and pictures",
        "sojourn.cli.sweep_show:declare_show",
    ),
    Command(
        "sweep query",
        "query a sweep's dataset in SQL, through DuckDB",
        "sojourn.cli.sweep_show:declare_query",
    ),
    Command("worst", "search the changes of a link that a controller handles worst"),
    Command("matrix", "run every controller over every queue, alone and in pairs"),
    Command(
        "theory spike",
        "compute the minimum latency spike, or loss, after a drop of capacity",
        "sojourn.cli.theory_spike:declare",
    ),
    Command(
        "theory trace",
        "compute the unavoidable queueing delay of any link, from its capacity over time",
        "sojourn.cli.theory_trace:declare",
    ),
    Command(
        "theory rapid",
        "compute the cost of periodic bursts of cross traffic for the packet-scale paradigm",
        "sojourn.cli.theory_rapid:declare",
    ),
    Command(
        "paper list", "list the papers and their figures", "sojourn_papers.command:declare_list"
    ),
    Command(
        "paper run",
        "run a paper's figures, and compare the published values with Sojourn's",
        "sojourn_papers.command:declare_run",
    ),
    Command(
        "rtt", "compute the round-trip times of every TCP flow in a capture, in both directions"
    ),
    Command("explain", "find the bottleneck, the cause of the delay and its cure in a capture"),
    Command(
        "controllers",
        "list the congestion controllers and their parameters",
        "sojourn.cli.listings:declare_controllers",
    ),
    Command(
        "queues",
        "list the queue disciplines and their parameters",
        "sojourn.cli.listings:declare_queues",
    ),
    Command(
        "hosts",
        "list the hosts of flows, and the values of one with their sources",
    ),
    Command(
        "columns",
        "list the files of a run directory with their columns and keys",
        "sojourn.cli.listings:declare_columns",
    ),
    Command(
        "scenarios",
        "list, print or copy the scenarios of this package",
        "sojourn.cli.shipped:declare",
    ),
    Command("check", "validate scenario files", "sojourn.cli.scenarios:declare_check"),
    Command("qlog", "show the figures and plots of qlog files of any program"),
    Command("report", "redraw the report of a run directory"),
    Command("view", "serve runs and the simulator as a page for the browser, on loopback"),
    Command("completion", "print the completion of commands and options for a shell"),
    Command("bench", "measure speed, memory and start-up", "sojourn_bench.command:declare"),
    Command(
        "schema", "print the JSON Schema of scenario files", "sojourn.cli.scenarios:declare_schema"
    ),
)
GROUPS = {
    "quic": "download over HTTP/3 with any controller in a QUIC stack",
    "kernel": "use the controllers in the Linux kernel",
    "sweep": "read the dataset of a sweep",
    "theory": "compute bounds without simulation",
    "paper": "reproduce the published papers",
}
"""The help of the first word of commands with two words."""


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; exit the program for invalid ones or for help."""
    parser = _parser()
    if argv is None and "_ARGCOMPLETE" in os.environ:
        return _complete(parser)
    own, other = _split(sys.argv[1:] if argv is None else argv)
    _add_commands(parser, own)
    args = parser.parse_args(own)
    if other is not None:
        args.command = other
    if not hasattr(args, "execute"):
        parser.print_help(sys.stderr)
        parser.exit(2)
    return args


def parser_of(command: Command) -> argparse.ArgumentParser:
    """Return the parser of one command, with its options."""
    parser = _Parser(
        prog=f"sojourn {command.name}", description=_sentence(command.help), allow_abbrev=False
    )
    _declare(command, parser)
    return parser


def _parser() -> argparse.ArgumentParser:
    """Return the parser without commands."""
    parser = _Parser(
        prog="sojourn",
        description="A laboratory for low-latency congestion control.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28),
        epilog="Start with: sojourn run capacity-drop",
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action=_Version)
    return parser


def _split(argv: Sequence[str]) -> tuple[Sequence[str], list[str] | None]:
    """Split the command line that a command runs from its own arguments."""
    names = [command.name for command in COMMANDS if command.runs_another]
    if not argv or argv[0] not in names:
        return argv, None
    place = argv.index("--") if "--" in argv else len(argv)
    return argv[:place], list(argv[place + 1 :])


class _Version(argparse.Action):
    """Print the version. Loads the compiled module, which argparse's action would always need."""

    def __init__(self, **keys: Any) -> None:
        super().__init__(nargs=0, help="show the version and exit", **keys)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from sojourn._core import __version__

        print(f"sojourn {__version__}")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **keys: Any) -> None:
        super().__init__(*args, **keys)
        # From Python 3.14, argparse writes escape sequences, which the output streams escape.
        self.color = False

    def error(self, message: str) -> NoReturn:
        from sojourn.cli.suggestions import improved

        super().error(one_line(improved(message, self._option_string_actions)))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here, where the command's own options are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _complete(parser: argparse.ArgumentParser) -> NoReturn:
    """Answer the shell, which asks for the completions of a command line, and exit."""
    from sojourn.cli import completion

    _add_commands(parser, completion.words())
    completion.answer(parser)
    parser.exit()


def _add_commands(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Add all commands; only the one that `argv` names gets its options."""
    groups: dict[str, _Commands]
    groups = {"": parser.add_subparsers(title="commands", metavar="COMMAND")}
    # No option before the command takes a value, so the first words name it.
    words = [word for word in argv if not word.startswith("-")]
    for command in _reachable(words):
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            outer = _add(groups[""], group, GROUPS[group])
            groups[group] = outer.add_subparsers(title="commands", metavar="COMMAND", required=True)
        own = _add(groups[group], name, command.help)
        asked = command.name.split()
        if words[: len(asked)] == asked:
            _declare(command, own)


def _reachable(words: Sequence[str]) -> list[Command]:
    """Return the commands but for those whose name another use of their first word hides.

    `sweep` takes a scenario, and is the first word of `sweep show`.
    """
    names = [command.name for command in COMMANDS]
    own = {name for name in names if any(one.startswith(f"{name} ") for one in names)}
    long = " ".join(words[:2])
    hidden = {name for name in own if long in names and long.startswith(f"{name} ")}
    return [
        command
        for command in COMMANDS
        if command.name not in hidden
        and not any(command.name.startswith(f"{name} ") for name in own - hidden)
    ]


def _add(commands: _Commands, name: str, doc: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=doc, description=_sentence(doc), allow_abbrev=False)


def _declare(command: Command, parser: argparse.ArgumentParser) -> None:
    module, _, function = command.declare.partition(":")
    getattr(import_module(module), function)(parser)


def _sentence(doc: str) -> str:
    return f"{doc[0].upper()}{doc[1:]}."
