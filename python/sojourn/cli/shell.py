"""`sojourn shell`."""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from sojourn import _core, output, terminal
from sojourn.cli.options import add_scenario, file_name, whole
from sojourn.cli.scenarios import read
from sojourn.cli.status_line import StatusLine
from sojourn.errors import UsageError
from sojourn.extras import require_live
from sojourn.live.real_time import gain_privilege, require_privilege
from sojourn.record.formatting import MISSING, counted, ms_text, rate_text
from sojourn.run import experiment

# Time between two updates of the line.
_REFRESH_S = 1.0


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sojourn shell`."""
    parser.usage = "sojourn shell [options] FILE -- COMMAND [ARGS ...]"
    parser.description = (
        "Run any program in real time over the links of a scenario. COMMAND runs in "
        "a network namespace whose only peer, $SOJOURN_PEER, is behind the links of one flow. The "
        "exit status is COMMAND's."
    )
    add_scenario(parser)
    add = parser.add_argument
    add(
        "--flow",
        metavar="NAME",
        help="use the links of this flow: its path there, its `back` for answers (default: the "
        "first flow)",
    )
    add(
        "--server",
        metavar="COMMAND",
        help="a shell command for the other side of the links, such as 'iperf3 -s'; it is started "
        "before COMMAND and ended after it",
    )
    add(
        "--congestion",
        metavar="NAME",
        help="the kernel's congestion controller for TCP on both sides (default: the kernel's own)",
    )
    add("--ecn", action="store_true", help="let TCP on both sides request ECN")
    add("--seed", metavar="N", type=whole, help="seed of the links' random draws")
    add("--quiet", action="store_true", help="show neither the live line nor the summary")
    add("--json", metavar="FILE", type=file_name, help="write the summary to this new file as JSON")
    parser.set_defaults(execute=execute, prepare=prepare)


def prepare(args: argparse.Namespace) -> None:
    """Gain the privilege for the namespaces."""
    gain_privilege()


def execute(args: argparse.Namespace) -> int:
    """Run the program and show how the links treated its packets."""
    command: list[str] = args.command
    if not command:
        raise UsageError("there is no COMMAND; write it after --, such as -- ping $SOJOURN_PEER")
    core = experiment.prepare(read(args.file), assignments=args.set, seed=args.seed)
    require_live("`sojourn shell`")
    if shutil.which(command[0]) is None:
        raise UsageError(f"{command[0]}: command not found; install it, or name its path")
    target = output.require_free_file(args.json, "--json") if args.json else None
    require_privilege()
    shell = core.shell(command, args.flow, args.congestion, args.ecn, args.server)
    status = _watch(shell, StatusLine(not args.quiet))
    ended_by = shell.ended_by()
    if ended_by is not None:
        status = 128 + ended_by
    summary = {
        "scenario": args.file,
        "command": command,
        "status": status,
        **json.loads(shell.finish()),
    }
    if not args.quiet:
        for line in _lines(summary):
            terminal.say(line)
    if target is not None:
        _write(target, summary)
    return status


def _watch(shell: "_core.Shell", line: StatusLine) -> int:
    """Wait for the program's end, and return its exit status."""
    before: dict[str, Any] = {"t_s": 0.0, "sent_bits": 0}
    with line:
        while True:
            status = shell.wait(_REFRESH_S)
            if status is not None:
                return status
            if line.is_shown:
                now = json.loads(shell.link_json())
                line.show(_state(before, now))
                before = now


def _state(before: dict[str, Any], now: dict[str, Any]) -> str:
    span = now["t_s"] - before["t_s"]
    bits = now["sent_bits"] - before["sent_bits"]
    delay = now["queue_delay_s"]
    return "   ".join(
        (
            f"{now['t_s']:.0f} s",
            rate_text(bits / span if span > 0 else 0.0),
            f"queue {MISSING if delay is None else ms_text(delay)}",
            counted(now["marked_packets"], "mark"),
            counted(now["dropped_packets"], "drop"),
        )
    )


def _lines(summary: dict[str, Any]) -> list[str]:
    """Format the summary."""
    (link,) = [one for one in summary["links"] if one["name"] == summary["bottleneck"]]
    live = summary["live"]

    def delays(found: dict[str, Any], key: str, names: tuple[str, ...]) -> str:
        values = [found[f"{key}_{name}_s"] for name in names]
        shown = [MISSING if value is None else ms_text(value) for value in values]
        return ", ".join(f"{name} {text}" for name, text in zip(names, shown, strict=True))

    lines = [
        f"sojourn: {summary['time_s']:.1f} s over the links of flow {summary['flow']}: "
        f"{summary['to_peer_bytes']:,} bytes there, {summary['from_peer_bytes']:,} bytes back",
        f"sojourn: link {link['name']}: queueing delay "
        f"{delays(link, 'queue_delay', ('p50', 'p99', 'max'))}; "
        f"{counted(link['dropped_packets'], 'drop')}, {counted(link['marked_packets'], 'mark')}",
        f"sojourn: lateness of the emulation {delays(live, 'lateness', ('p50', 'p99'))}",
    ]
    if live["timing_note"] is not None:
        lines.append(f"sojourn: {live['timing_note']}")
    if live["warning"] is not None:
        lines.append(f"sojourn: {live['warning']}")
    if summary["server_status"] is not None:
        lines.append(
            f"sojourn: the server ended before COMMAND, with status {summary['server_status']}"
        )
    return lines


def _write(target: Path, summary: dict[str, Any]) -> None:
    text = json.dumps(summary, indent=2) + "\n"
    output.write_new_file(target, lambda file: file.write_text(text, "utf-8"), "--json")
