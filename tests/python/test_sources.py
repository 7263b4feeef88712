"""Every source of a run writes the same record: equal keys and columns, and figures that agree."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

import polars as pl
import pytest
import sojourn
from sojourn import LiveError, Run, _core
from sojourn.record.record_types import FlowSummary
from support import leave_out_live

SCENARIO = """
title = "Twenty pages beside a bulk upload"
duration = "6s"
seed = 3

[link.bottleneck]
rate = "10Mbit"
delay = "20ms"
buffer = "40ms"

[link.back]
delay = "10ms"

[flow.upload]
control = "cubic"
path = ["bottleneck"]
back = ["back"]
STACK

[flow.pages]
control = "cubic"
path = ["bottleneck"]
back = ["back"]
start = "1s"
source = { kind = "request", request = "100B", sizes = "exponential", mean = "20kB", count = 20 }
STACK
"""


def scenario(stack: str = "") -> str:
    return SCENARIO.replace("STACK", f'stack = {{ kind = "{stack}" }}' if stack else "")


SIMULATED: Mapping[str, Callable[[], Run]] = {
    "the host udp": lambda: sojourn.run(scenario(), set={"host": "udp"}),
    "noq": lambda: sojourn.run(scenario("noq")),
    "quinn": lambda: sojourn.run(scenario("quinn")),
}
LIVE: Mapping[str, Callable[[], Run]] = {
    "live, TCP of the kernel": lambda: sojourn.live(scenario()),
    "live, TCP over tc": lambda: sojourn.live(scenario(), bottleneck="tc"),
    "live, UDP": lambda: sojourn.live(scenario(), stack="udp"),
    "live, noq over UDP": lambda: sojourn.live(scenario("noq")),
}
SOURCES = {**SIMULATED, **LIVE}

# The one list of keys that a source may lack or have beyond a simulation, each with its reason.
MAY_DIFFER = {
    "runs[].live": "the timing of real time",
    "runs[].flows[].host": "a live host is the machine, not one of the scenario's",
    "runs[].flows[].rwnd_limited_s": "absent without a limit by the receive window",
    "runs[].flows[].ecn_failure": "absent while ECN works",
    "runs[].flows[].closed": "absent while a QUIC connection is open",
    "runs[].links[].warning": "absent without a doubt about the link's delays",
}

# Figures that are null, since the sender does not report them.
_OF_STACKS = {
    "spurious_retransmissions": "the stacks report no spurious retransmission of their own",
    "timeouts": "the stacks report no probe timeouts",
}
_OF_THE_KERNEL = {
    "undone_reductions": "TCP_INFO does not count them",
    "timeouts": "TCP_INFO counts them from Linux 6.7 on",
}
UNKNOWN: Mapping[str, Mapping[str, str]] = {
    "noq": _OF_STACKS,
    "quinn": _OF_STACKS,
    "live, noq over UDP": _OF_STACKS,
    "live, TCP of the kernel": _OF_THE_KERNEL,
    "live, TCP over tc": _OF_THE_KERNEL,
}


@cache
def reference() -> Run:
    """Return the plain simulation."""
    return sojourn.run(scenario())


@cache
def run_of(name: str) -> Run:
    """Run a source once; skip the test if the machine has no live runs."""
    try:
        return SOURCES[name]()
    except LiveError as error:
        leave_out_live(error)


def both(name: str) -> Iterator[tuple[FlowSummary, FlowSummary]]:
    """Yield each flow of the plain simulation, with that of a source."""
    yield from zip(reference().runs[0]["flows"], run_of(name).runs[0]["flows"], strict=True)


def keys(value: Any, place: str) -> Iterator[str]:
    """Yield the place of each key, and of those in lists; entries of a list share theirs."""
    if isinstance(value, list):
        yield from chain.from_iterable(keys(one, f"{place}[]") for one in value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{place}.{key}"
            if isinstance(inner, list):
                yield from keys(inner, f"{place}.{key}")


@pytest.mark.parametrize("name", SOURCES)
def test_the_keys_of_the_summary_are_those_of_a_simulation(name: str) -> None:
    expected, found = (set(keys(run.runs, "runs")) for run in (reference(), run_of(name)))
    assert found ^ expected <= MAY_DIFFER.keys()


def test_the_list_of_differences_has_declared_keys_alone() -> None:
    declared = {
        f"{table['place'].removeprefix('summary.json: ')}.{column['name']}"
        for table in json.loads(_core.tables())
        for column in table["columns"]
        if column["need"] == "absent"
    }
    assert MAY_DIFFER.keys() <= declared


@pytest.mark.parametrize("name", SOURCES)
def test_the_columns_of_the_series_are_those_of_a_simulation(name: str) -> None:
    expected, found = reference().series, run_of(name).series
    assert expected.keys() == found.keys() == {"flows", "links", "transfers"}
    for file, data in expected.items():
        assert pl.read_parquet_schema(found[file]) == pl.read_parquet_schema(data)


@pytest.mark.parametrize("name", SOURCES)
def test_figures_are_known_as_in_a_simulation(name: str) -> None:
    for expected, found in both(name):
        missing = {key for key, value in found.items() if value is None}
        allowed = {key for key, value in expected.items() if value is None}
        assert missing - allowed <= set(UNKNOWN.get(name, {})), found["name"]


@pytest.mark.parametrize("name", SOURCES)
def test_transfers_agree(name: str) -> None:
    run, (_, (expected, found)) = run_of(name), both(name)
    # The source draws the sizes, from the run's seed.
    sizes = reference().transfers["size_bytes"].to_list()
    assert run.transfers["size_bytes"].to_list() == sizes
    assert found["completed_transfers"] == len(sizes) == 20
    counts = ("from_bytes", "to_bytes", "started_transfers", "completed_transfers")
    of_classes = [
        [tuple(dict(one)[key] for key in counts) for one in flow["transfers_by_size"]]
        for flow in (expected, found)
    ]
    assert of_classes[0] == of_classes[1]
    # Each byte once.
    delivered = run.flows.filter(pl.col("flow") == "pages")["delivered_bytes"]
    assert delivered.max() == sum(sizes)
    # No transfer is faster than the empty path, except for the resolution of a clock.
    assert (run.transfers["slowdown"] > 0.95).all()


@pytest.mark.parametrize("name", SOURCES)
def test_paths_agree(name: str) -> None:
    for expected, found in both(name):
        assert found["base_rtt_s"] == expected["base_rtt_s"] == pytest.approx(0.030)
        least = found["rtt_min_s"]
        assert least is not None
        # The kernel measures in microseconds; the first packets may meet a queue of up to 40 ms.
        assert 0.030 - 1e-4 <= least < 0.030 + 0.040 + 0.010
        assert found["rtt_missing_share"] is not None


@pytest.mark.parametrize("name", SOURCES)
def test_the_link_carries_as_much(name: str) -> None:
    simulated, run = reference().runs[0], run_of(name).runs[0]
    expected, found = simulated["links"][0], run["links"][0]
    assert found["capacity_bps"] == expected["capacity_bps"]
    assert found["utilisation"] is not None
    # The machine may disturb a live run.
    assert 0.3 < found["utilisation"] <= 1
    if name in SIMULATED:
        # A handshake and slow start take a few of 200 round trips; headers take 3 to 5 %.
        assert found["utilisation"] == pytest.approx(expected["utilisation"], rel=0.05)
        goodput, most = (one["flows"][0]["goodput_bps"] for one in (run, simulated))
        assert goodput == pytest.approx(most, rel=0.1)
