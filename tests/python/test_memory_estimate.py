"""The memory estimate exceeds the memory of a run, for scenarios of every shape."""

import json
import subprocess
import sys

import pytest

LINK = '[link.a]\nrate = "100Mbit"\ndelay = "20ms"\n'
FLOW = '[flow.f]\npath = ["a"]\ncontrol = "cubic"\n'
BACK = 'back = ["b"]\n'


def scenario(body: str, duration: str = "2s") -> str:
    return f'duration = "{duration}"\n{body}'


def steps(count: int, key: str, values: tuple[str, str]) -> str:
    listed = ", ".join(
        f'{{ at = "{100 + place}ms", {key} = "{values[place % 2]}" }}' for place in range(count)
    )
    return f'{{ start = "{values[0]}", steps = [{listed}] }}'


SHAPES = {
    "many flows": scenario(LINK + FLOW + "count = 3000\n"),
    "many flows, each with requests": scenario(
        LINK
        + '[link.b]\ndelay = "20ms"\n'
        + FLOW
        + BACK
        + 'count = 1000\nsource = { kind = "request", request = "1kB", response = "10kB" }\n'
    ),
    "many links": scenario(
        "".join(
            f'[link.l{n}]\nrate = "10Mbit"\ndelay = "5ms"\n'
            f'[flow.f{n}]\npath = ["l{n}"]\ncontrol = "reno"\n'
            for n in range(300)
        )
    ),
    "a deep buffer": scenario(
        '[link.a]\nrate = "1Gbit"\ndelay = "100ms"\nbuffer = "unlimited"\n' + FLOW
    ),
    "no rate": scenario(
        '[link.a]\ndelay = "100ms"\n' + FLOW + 'source = { kind = "file", size = "100MB" }\n'
    ),
    "a large initial window": scenario(LINK + FLOW + "host = { initial_window = 300000 }\n"),
    "an initial window over a long wire": scenario(
        '[link.w]\ndelay = "500ms"\n'
        + LINK
        + FLOW.replace('["a"]', '["w", "a"]')
        + "host = { initial_window = 300000 }\n"
    ),
    "packets out of order, and twice": scenario(
        '[link.a]\nrate = "1Gbit"\ndelay = "50ms"\nbuffer = "100ms"\nduplicate = 0.5\n'
        'reorder = { late = "100ms", probability = 0.3 }\n'
        '[link.b]\ndelay = "50ms"\nduplicate = 1.0\n' + FLOW.replace("cubic", "bbr") + BACK
    ),
    "loss, and acknowledgements of everything": scenario(
        '[link.a]\nrate = "1Gbit"\ndelay = "50ms"\nbuffer = "100ms"\nloss = 0.05\n'
        '[link.b]\ndelay = "200ms"\n'
        + FLOW.replace("cubic", "bbr")
        + BACK
        + 'host = { like = "quic", ack_every = 1, sack_ranges = 256 }\n'
    ),
    "small packets": scenario(LINK + FLOW + 'host = { mss = "100B" }\n', duration="5s"),
    "a long record": scenario(
        '[link.a]\nrate = "1Mbit"\ndelay = "1ms"\n'
        + FLOW
        + 'count = 20\n[record]\ninterval = "1ms"\n',
        duration="10s",
    ),
    "steps of rate": scenario(
        f'[link.a]\nrate = {steps(3000, "rate", ("5Mbit", "10Mbit"))}\ndelay = "20ms"\n' + FLOW,
        duration="4s",
    ),
    "steps of delay": scenario(
        f'[link.a]\nrate = "10Mbit"\ndelay = {steps(3000, "delay", ("5ms", "10ms"))}\n' + FLOW,
        duration="4s",
    ),
    "a ramp": scenario(
        '[link.a]\nrate = { start = "1Mbit", ramps = [{ from = "1s", to = "99s", rate = "2Mbit" }]'
        ' }\ndelay = "20ms"\n' + FLOW + '[record]\ninterval = "0s"\n',
        duration="100s",
    ),
    "many queues": scenario(
        '[link.a]\nrate = "100Mbit"\ndelay = "20ms"\n'
        'queue = { kind = "fq_codel", flows = 65536 }\n' + FLOW + "count = 100\n"
    ),
    "flows that the bottleneck tells": scenario(
        LINK + FLOW.replace("cubic", "ideal") + "count = 500\n", duration="1s"
    ),
    "a controller that keeps packets": scenario(
        '[link.a]\nrate = "1Gbit"\ndelay = "50ms"\nbuffer = "100ms"\n[link.b]\ndelay = "50ms"\n'
        + FLOW.replace("cubic", "rapid")
        + BACK
        + "host = { receive_times = true }\n"
    ),
}

CHILD = """
import json, sys
from sojourn import _core
from sojourn.run import api
from sojourn.run.scenario import Scenario

def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))

text = sys.stdin.read()
# Exclude memory that every run loads.
api.run(Scenario.parse('duration="1s"\\n[link.a]\\nrate="1Mbit"\\ndelay="1ms"\\n'
                       '[flow.f]\\npath=["a"]\\ncontrol="reno"'), jobs=1)
before = memory("VmRSS")
core = Scenario.parse(text).compile()
core.check()
done = api.run(Scenario.parse(text), jobs=1)
print(json.dumps({
    "estimate": core.memory_bytes(),
    "peak": memory("VmHWM") - before,
    "sent": sum(flow["sent_packets"] for flow in done.summary["runs"][0]["flows"]),
}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc says what is used")
@pytest.mark.parametrize("shape", SHAPES)
def test_the_estimate_is_above_what_is_used(shape: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=SHAPES[shape],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(shape, found, found["estimate"] / max(found["peak"], 1))
    assert found["sent"] > 0
    # After a first run, a process allocates no new pages for small objects.
    assert found["peak"] <= found["estimate"] + (8 << 20), found
