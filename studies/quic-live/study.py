"""Does a QUIC stack over UDP do what it does in virtual time, and do its packets leave in time?"""

import contextlib
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import sojourn
from tables import markdown

MINUTES = 4
NEEDS = ("root", "gtlsclient")

Row = dict[str, Any]
Tables = dict[str, list[Row]]

STEP: Row = {"kind": "threshold", "ce_threshold": "5ms"}
DOWN: Row = {"rate": "10Mbit", "delay": "10ms", "buffer": "20ms", "queue": STEP}
UP: Row = {"rate": "10Mbit", "delay": "10ms"}
NOQ: Row = {"stack": "noq", "mtu": "1440B"}
REPAIRED: Row = {
    "kind": "prague",
    "response": "epoch",
    "alpha_init": 0,
    "max_burst_delay": "6ms",
    "suspect_epoch": True,
}
SOJOURN = [sys.executable, "-m", "sojourn"]
BUSY = 2


def measure(small: bool) -> Tables:
    """Download over emulated links, and from `sojourn quic serve`, in real time."""
    size = 100_000 if small else 1_000_000
    return {
        "downloads": list(downloads(size, small)),
        "senders": senders(small),
        "udp": list(udp(size)),
        "priority": priority(size, PRIORITIES[:1] if small else PRIORITIES, 1 if small else 5),
    }


def downloads(size: int, small: bool) -> Iterator[Row]:
    """Run one scenario in virtual time and live."""
    four = requests(size, 4, "prague", {**NOQ, "ack_every": 1}, DOWN, UP)
    repaired = requests(size, 4, REPAIRED, NOQ, DOWN, UP)
    bare = {"rate": "10Mbit"}, {"rate": "10Mbit"}
    two = requests(size, 2, "cubic", NOQ, *bare)
    studied = [("four files with Prague", four, 6)]
    if not small:
        studied.append(("four files with Prague as repaired", repaired, 12))
    for what, scenario, runs in studied:
        yield ranges(what, "virtual time", sojourn.run(scenario))
        yield ranges(what, "live", sojourn.live(scenario, runs=1 if small else runs))
    if not small:
        what = "two files with CUBIC, no delay"
        yield ranges(what, "virtual time", sojourn.run(two))
        yield ranges(what, "kernel's queues", sojourn.live(two, bottleneck="tc"))


def requests(
    size: int, count: int, control: Any, transport: Row, down: Row, up: Row
) -> sojourn.Scenario:
    """Return a scenario of files in sequence."""
    scenario = sojourn.Scenario(
        duration=f"{max(1, round(count * size / 500_000))}s", link={"down": down, "up": up}
    )
    source = {"kind": "request", "request": "257B", "response": f"{size}B", "count": count}
    return scenario.flow(
        "files", control=control, path=["down"], back=["up"], transport=transport, source=source
    )


def ranges(what: str, network: str, run: sojourn.Run) -> Row:
    """Return the range of the times, marks, losses and lateness of runs."""
    flows: list[Row] = [dict(one["flows"][0]) for one in run.runs]
    timings: list[Row] = [dict(one).get("live") or {} for one in run.runs]  # type: ignore[misc]
    live = [timing.get("departures", {}).get("files", {}) for timing in timings]
    return {
        "download": what,
        "network": network,
        "runs": len(flows),
        **least_most("time", "s", [flow["completion_s"] for flow in flows], 3),
        **least_most("marked", "packets", [flow["marked_packets"] for flow in flows], 0),
        "dropped_most_packets": max(flow["dropped_packets"] for flow in flows),
        **lateness(live),
    }


def lateness(connections: Iterable[Row]) -> Row:
    """Return the range of the lateness of departures, in microseconds."""
    found = list(connections)
    row: Row = {}
    for which in ("p50", "p99", "max"):
        late = [one.get(f"lateness_{which}_s") for one in found]
        row |= least_most(f"late_{which}", "us", [1e6 * s for s in late if s is not None], 0)
    return row


def least_most(name: str, unit: str, values: list[Any], digits: int) -> Row:
    """Return two columns, which are null without values."""
    ends = (min(values), max(values)) if values else (None, None)
    rounded = (end if end is None else round(end, digits) for end in ends)
    return {f"{name}_{end}_{unit}": v for end, v in zip(("least", "most"), rounded, strict=True)}


def senders(small: bool) -> list[Row]:
    """Return the senders of the published text over UDP, beside virtual time."""
    command = [*SOJOURN, "paper", "run", "l4s-prague", "--stack", "noq", "--live", "--json"]
    out = ["--out", "paper", *["--quick"] * small]
    printed = subprocess.run([*command, *out], check=True, stdout=subprocess.PIPE).stdout
    (table,) = json.loads(printed)["figures"][0]["tables"]
    return [
        {key: round(cell, 3) if isinstance(cell, float) else cell for key, cell in row.items()}
        for row in table["rows"]
    ]


def udp(size: int) -> Iterator[Row]:
    """Download from the server by its own client and by another project's."""
    path = f"/bytes/{size}"
    serve = [*SOJOURN, "quic", "serve", "--control", "prague", "--json", "--port", "0"]
    clients = {
        "sojourn quic get": [*SOJOURN, "quic", "get", "--insecure", "--repeat", "4", "URL"],
        "gtlsclient": [*GTLSCLIENT, "127.0.0.1", "PORT", "URL"],
    }
    for client, command in clients.items():
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = json.loads(server.stdout.readline())["listening"].rpartition(":")[2]
            named = {"PORT": port, "URL": f"https://127.0.0.1:{port}{path}"}
            subprocess.run(
                [named.get(word, word) for word in command],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            served = connection(server.stdout)
            server.terminate()
        yield {"client": client, "over": "loopback", **counts(served), "link_marked_packets": None}
    served, link = shell(size, "auto")
    over = {"client": "gtlsclient", "over": "10 Mbit/s, 20 ms"}
    yield {**over, **counts(served), "link_marked_packets": link["marked_packets"]}


GTLSCLIENT = ["gtlsclient", "--quiet", "--exit-on-all-streams-close", "-n", "4"]


def connection(lines: Iterable[str]) -> Row:
    """Return the first connection that the server reports."""
    return next(row for row in map(json.loads, lines) if "requests" in row)


def counts(served: Row) -> Row:
    """Return the packets that the server sent, and the marks and losses that it heard of."""
    return {
        "packets": served["sent"]["packets"],
        "ect1_packets": served["sent"]["ect1"],
        "heard_packets": served["marked_packets"],
        "lost_packets": served["lost_packets"],
    }


def shell(size: int, asked: str) -> tuple[Row, Row]:
    """Download four files through links, and return the server's figures and the link's."""
    scenario = sojourn.Scenario(
        duration="10s",
        controls=["prague"],
        link={"down": DOWN, "up": {"delay": "10ms"}},
        flow={"files": {"path": ["up"], "back": ["down"]}},
    )
    Path("links.toml").write_text(scenario.to_toml())
    own, summary = " ".join(SOJOURN), Path("shell.json")
    summary.unlink(missing_ok=True)
    serve = f"{own} quic serve --control prague --priority {asked} --json >served"
    url = f"https://$SOJOURN_PEER:4433/bytes/{size}"
    client = " ".join([*GTLSCLIENT, "$SOJOURN_PEER", "4433", url])
    options = ["links.toml", "--quiet", "--json", str(summary), "--server", serve]
    subprocess.run([*SOJOURN, "shell", *options, "--", "sh", "-c", client], check=True)
    first, *rest = Path("served").read_text().splitlines()
    (link,) = (one for one in json.loads(summary.read_text())["links"] if one["name"] == "down")
    return {**json.loads(first), **connection(rest)}, link


PRIORITIES = ("auto", "normal")


def priority(size: int, priorities: Sequence[str], runs: int) -> list[Row]:
    """Measure the lateness of departures beside two busy processes; the priorities take turns."""
    served: dict[str, list[Row]] = {asked: [] for asked in priorities}
    with busy(BUSY):
        for _ in range(runs):
            for asked, found in served.items():
                found.append(shell(size, asked)[0])
    return [
        {
            "asked": asked,
            "priority": found[0]["priority"],
            "runs": runs,
            **least_most("time", "s", [one["duration_s"] for one in found], 3),
            **lateness(found),
        }
        for asked, found in served.items()
    ]


def spin() -> None:
    """Use a processor."""
    while True:
        pass


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep this many processes busy."""
    spinning = [multiprocessing.get_context("fork").Process(target=spin) for _ in range(count)]
    for one in spinning:
        one.daemon = True
        one.start()
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.join()


def answer(tables: Tables) -> str:
    """Return the senders over UDP and in virtual time."""
    lines = [["sender", "live", "virtual time", "with jitter of 0.2 ms", "late, p99"]]
    for row in tables["senders"]:
        span = f"{row['least_s']:.2f} to {row['most_s']:.2f}"
        late = f"{row['late_p99_us']:.0f} us"
        times = (f"{row[key]:.2f}" for key in ("live_s", "virtual_s"))
        lines.append([row["sender"], *times, span, late])
    return markdown(lines)
