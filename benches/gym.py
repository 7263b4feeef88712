"""Steps a second of `sojourn/Link-v0`: `python benches/gym.py [STEPS]`, one JSON object a world.

The time of a step is its simulation, whose acknowledgements call Python, and the exchange of an
observation and an action. The link of 100 kbit/s carries less than one packet a step, so that the
exchange remains.
"""

import json
import sys
import time
from typing import Any

import gymnasium
import numpy
import sojourn.gym

# Rates of the bottleneck, and windows in packets that fill it.
WORLDS = {"24Mbit": 80, "5Mbit": 20, "100kbit": 2}


def steps_a_second(rate: str, packets: int, steps: int) -> float:
    """Measure steps of 50 ms of a flow whose window stays constant."""
    changes = {"link.bottleneck.rate": rate, "duration": "100s"}
    made = gymnasium.make(sojourn.gym.ID, set=changes, disable_env_checker=True)
    env: Any = made.unwrapped
    done, took_s = 0, 0.0
    while done < steps:
        seen, _ = env.reset(seed=1)
        is_over = False
        began = time.perf_counter()
        while not is_over and done < steps:
            action = numpy.clip(numpy.array([numpy.log2(packets) - seen[4]]), -1, 1)
            seen, _, _, is_over, _ = env.step(action)
            done += 1
        took_s += time.perf_counter() - began
    return done / took_s


def main(steps: int) -> None:
    """Measure each world."""
    for rate, packets in WORLDS.items():
        found = {
            "rate": rate,
            "steps": steps,
            "steps_a_second": steps_a_second(rate, packets, steps),
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
