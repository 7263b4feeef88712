"""A congestion controller to learn: the Gymnasium environment `sojourn/Link-v0`.

    import gymnasium
    import sojourn.gym

    env = gymnasium.make("sojourn/Link-v0", scenario="home.toml", action="rate")

Needs Gymnasium, which the optional part `gym` installs.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args

from sojourn import _core, extras
from sojourn._core import Setup
from sojourn.errors import UsageError, require_known
from sojourn.run import api, experiment
from sojourn.sweep import quantities
from sojourn.sweep.quantities import Quantity
from sojourn.user.controllers import UserControllers
from sojourn.user.learning import Agent, Interval

try:
    import gymnasium
    import numpy
except ImportError as error:
    raise UsageError(
        f"the environment needs Gymnasium; install it with: {extras.installation_here('gym')}"
    ) from error

ID = "sojourn/Link-v0"
CONTROL = "learned"
"""Name of the learned controller in results."""
Action = Literal["window", "rate"]

WORLD: Mapping[str, Any] = {
    "title": "A link of 24 Mbit/s with a deep buffer",
    "duration": "20s",
    "link": {
        "bottleneck": {"rate": "24Mbit", "delay": "20ms", "buffer": "240kB"},
        "back": {"delay": "20ms"},
    },
    "flow": {"learner": {"path": ["bottleneck"], "back": ["back"]}},
}
"""The default scenario: a bandwidth-delay product of 80 packets, and a buffer of twice that."""

# Greatest values of the observation: ratios beyond them are all "far too much".
_HIGH = (10.0, 10.0, 1.0, 1.0, 16.0, 10.0)


def reward_of(interval: Interval) -> float:
    """Return the default reward: the share of the capacity, minus costs of delay and loss.

    The form is that of Jay et al. 2019 (A Deep Reinforcement Learning Perspective on Internet
    Congestion Control): linear in throughput, delay and loss. A link kept full without a queue
    gives 1, and a queue of one base round trip costs half of that.
    """
    return interval.goodput - 0.5 * interval.delay - 5.0 * interval.lost


class LinkEnv(gymnasium.Env):  # type: ignore[misc]
    """One flow of any scenario, whose window or rate the agent sets at each interval.

    Observation: six numbers over the last interval, all known to a sender. They are the goodput
    over `reference`, the queueing delay over the base round-trip time, the lost and the marked
    share of packets, the base-2 logarithm of the window in packets, and the packets in flight over
    the window.

    Action: one number from -1 to 1. The window, or the pacing rate, is multiplied by 2 to its power
    at the next acknowledgement. With `action="rate"`, the rate is the window over the least
    round-trip time, and twice the window may be in flight.

    An episode is truncated at the end of the scenario; `info["summary"]` then has the figures of
    the run, with the keys of `sojourn run --json`.
    """

    metadata: Mapping[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: api.Source | None = None,
        flow: str | None = None,
        action: str = "window",
        interval: str = "50ms",
        reference: str | None = None,
        reward: Callable[[Interval], float] = reward_of,
        set: Mapping[str, object] | Iterable[str] = (),
    ) -> None:
        """Prepare a scenario; raise `ScenarioError` or `UsageError` for a fault in it.

        `flow` is the learner (default: the first flow). `reference` is the rate that counts as a
        goodput of 1 (default: the initial capacity of the slowest link on its path).
        """
        require_known("action", action, get_args(Action))
        self._is_rate = action == "rate"
        self._interval_s = _quantity(interval, "time")
        self._reward = reward
        self._agents: list[Agent] = []
        self._core = self._prepared(scenario if scenario is not None else dict(WORLD), set, flow)
        self._reference_bps = _quantity(reference, "rate") if reference else self._capacity_bps()
        self._running: _core.Simulation | None = None
        self.observation_space = gymnasium.spaces.Box(
            numpy.zeros(len(_HIGH), numpy.float32), numpy.array(_HIGH, numpy.float32)
        )
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), numpy.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode. The seed also draws the seed of the simulation."""
        super().reset(seed=seed)
        self._agents.clear()
        drawn = int(self.np_random.integers(1, 2**31))
        self._running = self._core.simulation(0, drawn)
        # The agent acts from the first interval with an acknowledgement.
        while not self._agents or self._agents[0].is_idle:
            self._advance()
            if self._running.now_s >= self._running.duration_s:
                raise UsageError("the learner's flow received no acknowledgement in the scenario")
        return self._observed(self._agents[0].take(self._interval_s, self._reference_bps)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Set the window or the rate, and simulate one interval."""
        if self._running is None:
            raise UsageError("the episode is over; call reset()")
        agent = self._agents[0]
        agent.act(float(numpy.clip(numpy.asarray(action).reshape(-1)[0], -1.0, 1.0)))
        self._advance()
        seen = agent.take(self._interval_s, self._reference_bps)
        is_over = self._running.now_s >= self._running.duration_s
        info: dict[str, Any] = {}
        if is_over:
            info["summary"] = json.loads(self._running.finish().summary_json())
            self._running = None
        return self._observed(seen), float(self._reward(seen)), False, is_over, info

    def _advance(self) -> None:
        assert self._running is not None
        until = self._running.now_s + self._interval_s
        self._running.advance(min(until, self._running.duration_s))

    def _observed(self, seen: Interval) -> Any:
        values = (
            seen.goodput,
            seen.delay,
            seen.lost,
            seen.marked,
            seen.window_log2,
            seen.in_flight,
        )
        return numpy.clip(numpy.array(values, numpy.float32), 0.0, self.observation_space.high)

    def _prepared(
        self, scenario: api.Source, changes: Mapping[str, object] | Iterable[str], flow: str | None
    ) -> _core.Scenario:
        core = api.as_scenario(scenario).compile()
        flows = json.loads(core.to_json())["flow"]
        if flow is not None:
            require_known("flow", flow, list(flows))
        self._flow = flow if flow is not None else next(iter(flows))
        if flows[self._flow].get("count", 1) != 1:
            raise UsageError(f"the flow {self._flow} has a count above 1; name a single flow")
        learner = [f"flow.{self._flow}.control={CONTROL}"]
        if not any(_needs_control(flows[name]) for name in flows if name != self._flow):
            learner.append("controls=[]")
        core = experiment.prepare(
            core,
            assignments=[*experiment.assignment_texts(changes), *learner],
            user_controllers=UserControllers({CONTROL: self._made}),
        )
        if len(core.controls()) != 1:
            raise UsageError("the other flows have several controllers; choose one (controls)")
        return core

    def _made(self, setup: Setup) -> Agent:
        """Make the controller of the learner's connection, which the simulation calls."""
        self._agents.append(agent := Agent(setup, self._is_rate))
        return agent

    def _capacity_bps(self) -> float:
        """Return the initial capacity of the slowest link on the learner's path."""
        document = json.loads(self._core.to_json())
        rates = []
        for name in document["flow"][self._flow]["path"]:
            rate = document["link"][name].get("rate")
            rate = rate.get("start") if isinstance(rate, Mapping) else rate
            if rate is not None:
                rates.append(_quantity(rate, "rate"))
        if not rates:
            raise UsageError("no link on the learner's path has a rate; name a reference rate")
        return min(rates)


def _needs_control(flow: Mapping[str, Any]) -> bool:
    """Whether the scenario's `controls` apply to a flow."""
    source = flow.get("source", "bulk")
    kind = source.get("kind") if isinstance(source, Mapping) else source
    return "control" not in flow and kind != "ping"


def _quantity(text: str, kind: str) -> float:
    value = quantities.parse(text)
    if not isinstance(value, Quantity) or value.kind != kind or value.value <= 0:
        raise UsageError(f"{text!r} is not a {kind} above 0")
    return value.value


gymnasium.register(id=ID, entry_point="sojourn.gym:LinkEnv")
