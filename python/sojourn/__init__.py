"""Sojourn: a laboratory for low-latency congestion control.

    import sojourn

    run = sojourn.run("scenarios/capacity-drop.toml", control="dctcp")
    run.summary                    # the same figures as `sojourn run --json`
    run.flow("upload").series      # a Polars frame
    run.plot()                     # the figure, in a notebook
    sojourn.compare("runs/a", "runs/b").summary

Importing this package is cheap: each name loads its module on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn import captures as captures
    from sojourn import qlog as qlog
    from sojourn import theory as theory
    from sojourn._core import ControllerError as ControllerError
    from sojourn._core import Feedback as Feedback
    from sojourn._core import Limits as Limits
    from sojourn._core import LiveError as LiveError
    from sojourn._core import RateSample as RateSample
    from sojourn._core import Received as Received
    from sojourn._core import ScenarioError as ScenarioError
    from sojourn._core import Sent as Sent
    from sojourn._core import Setup as Setup
    from sojourn._core import __version__ as __version__
    from sojourn.adversary.api import Counterexample as Counterexample
    from sojourn.adversary.api import worst as worst
    from sojourn.api import compare as compare
    from sojourn.api import controllers as controllers
    from sojourn.api import hosts as hosts
    from sojourn.api import live as live
    from sojourn.api import load as load
    from sojourn.api import queues as queues
    from sojourn.api import run as run
    from sojourn.api import schema as schema
    from sojourn.combined import combine as combine
    from sojourn.comparison.result import Comparison as Comparison
    from sojourn.errors import ArgumentError as ArgumentError
    from sojourn.errors import DatasetError as DatasetError
    from sojourn.errors import NotEnoughMemoryError as NotEnoughMemoryError
    from sojourn.errors import OutputExistsError as OutputExistsError
    from sojourn.errors import RunDirectoryError as RunDirectoryError
    from sojourn.explanation import explain as explain
    from sojourn.record import Selection as Selection
    from sojourn.report import Figure as Figure
    from sojourn.results import Run as Run
    from sojourn.scenario import Scenario as Scenario
    from sojourn.sweeps.api import sweep as sweep
    from sojourn.sweeps.result import Dataset as Dataset
    from sojourn.user_controllers import Controller as Controller
    from sojourn.user_controllers import Param as Param

_HOME = {
    "ArgumentError": "sojourn.errors",
    "Comparison": "sojourn.comparison.result",
    "Controller": "sojourn.user_controllers",
    "ControllerError": "sojourn._core",
    "Counterexample": "sojourn.adversary.api",
    "Dataset": "sojourn.sweeps.result",
    "DatasetError": "sojourn.errors",
    "Feedback": "sojourn._core",
    "Figure": "sojourn.report",
    "Limits": "sojourn._core",
    "LiveError": "sojourn._core",
    "NotEnoughMemoryError": "sojourn.errors",
    "OutputExistsError": "sojourn.errors",
    "Param": "sojourn.user_controllers",
    "RateSample": "sojourn._core",
    "Received": "sojourn._core",
    "Run": "sojourn.results",
    "RunDirectoryError": "sojourn.errors",
    "Scenario": "sojourn.scenario",
    "ScenarioError": "sojourn._core",
    "Selection": "sojourn.record",
    "Sent": "sojourn._core",
    "Setup": "sojourn._core",
    "__version__": "sojourn._core",
    "combine": "sojourn.combined",
    "compare": "sojourn.api",
    "controllers": "sojourn.api",
    "explain": "sojourn.explanation",
    "hosts": "sojourn.api",
    "live": "sojourn.api",
    "load": "sojourn.api",
    "queues": "sojourn.api",
    "run": "sojourn.api",
    "schema": "sojourn.api",
    "sweep": "sojourn.sweeps.api",
    "worst": "sojourn.adversary.api",
}

__all__ = [
    "ArgumentError",
    "Comparison",
    "Controller",
    "ControllerError",
    "Counterexample",
    "Dataset",
    "DatasetError",
    "Feedback",
    "Figure",
    "Limits",
    "LiveError",
    "NotEnoughMemoryError",
    "OutputExistsError",
    "Param",
    "RateSample",
    "Received",
    "Run",
    "RunDirectoryError",
    "Scenario",
    "ScenarioError",
    "Selection",
    "Sent",
    "Setup",
    "__version__",
    "captures",
    "combine",
    "compare",
    "controllers",
    "explain",
    "hosts",
    "live",
    "load",
    "qlog",
    "queues",
    "run",
    "schema",
    "sweep",
    "theory",
    "worst",
]


def __getattr__(name: str) -> Any:
    if name in ("captures", "qlog", "theory"):
        return import_module(f"sojourn.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
