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
    from sojourn.capture import captures as captures
    from sojourn.capture import qlog as qlog
    from sojourn.capture.explanation import explain as explain
    from sojourn.errors import ArgumentError as ArgumentError
    from sojourn.errors import DatasetError as DatasetError
    from sojourn.errors import NotEnoughMemoryError as NotEnoughMemoryError
    from sojourn.errors import OutputExistsError as OutputExistsError
    from sojourn.errors import RunDirectoryError as RunDirectoryError
    from sojourn.live.api import live as live
    from sojourn.picture import Figure as Figure
    from sojourn.record.record import Selection as Selection
    from sojourn.run.api import compare as compare
    from sojourn.run.api import controllers as controllers
    from sojourn.run.api import hosts as hosts
    from sojourn.run.api import queues as queues
    from sojourn.run.api import run as run
    from sojourn.run.api import schema as schema
    from sojourn.run.comparison import Comparison as Comparison
    from sojourn.run.comparison import combine as combine
    from sojourn.run.results import Run as Run
    from sojourn.run.results import load as load
    from sojourn.run.scenario import Scenario as Scenario
    from sojourn.sweep.adversary.api import Counterexample as Counterexample
    from sojourn.sweep.adversary.api import worst as worst
    from sojourn.sweep.api import sweep as sweep
    from sojourn.sweep.result import Dataset as Dataset
    from sojourn.user.controllers import Controller as Controller
    from sojourn.user.controllers import Param as Param

_HOME = {
    "ArgumentError": "sojourn.errors",
    "Comparison": "sojourn.run.comparison",
    "Controller": "sojourn.user.controllers",
    "ControllerError": "sojourn._core",
    "Counterexample": "sojourn.sweep.adversary.api",
    "Dataset": "sojourn.sweep.result",
    "DatasetError": "sojourn.errors",
    "Feedback": "sojourn._core",
    "Figure": "sojourn.picture",
    "Limits": "sojourn._core",
    "LiveError": "sojourn._core",
    "NotEnoughMemoryError": "sojourn.errors",
    "OutputExistsError": "sojourn.errors",
    "Param": "sojourn.user.controllers",
    "RateSample": "sojourn._core",
    "Received": "sojourn._core",
    "Run": "sojourn.run.results",
    "RunDirectoryError": "sojourn.errors",
    "Scenario": "sojourn.run.scenario",
    "ScenarioError": "sojourn._core",
    "Selection": "sojourn.record.record",
    "Sent": "sojourn._core",
    "Setup": "sojourn._core",
    "__version__": "sojourn._core",
    "combine": "sojourn.run.comparison",
    "compare": "sojourn.run.api",
    "controllers": "sojourn.run.api",
    "explain": "sojourn.capture.explanation",
    "hosts": "sojourn.run.api",
    "live": "sojourn.live.api",
    "load": "sojourn.run.results",
    "queues": "sojourn.run.api",
    "run": "sojourn.run.api",
    "schema": "sojourn.run.api",
    "sweep": "sojourn.sweep.api",
    "worst": "sojourn.sweep.adversary.api",
}

_MODULES = {
    "captures": "sojourn.capture.captures",
    "qlog": "sojourn.capture.qlog",
    "theory": "sojourn.theory",
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


# These packages have the names of functions. Python binds a package's name here when it first
# imports the package, so that happens now, and the name is free for the function.
for _package in ("live", "run", "sweep"):
    import_module(f"sojourn.{_package}")
    del globals()[_package]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
