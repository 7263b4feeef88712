"""Samplers: they choose the parameters of the next evaluations by the damage of earlier ones."""

import random
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Protocol

from sojourn import extras
from sojourn.errors import UsageError

Values = tuple[float, ...]
"""Parameters from 0 to 1."""

# The first standard deviation of CMA-ES.
_SIGMA = 0.2


class Sampler(Protocol):
    """A choice of parameters."""

    def ask(self, count: int) -> list[Values]:
        """Return the next parameters; none if the sampler has converged."""

    def tell(self, asked: Sequence[Values], damages: Sequence[float]) -> None:
        """Take the damage of the last parameters."""


class Random:
    """Independent uniform draws."""

    def __init__(self, parameters: int, seed: int) -> None:
        self._parameters = parameters
        self._draw = random.Random(seed)

    def ask(self, count: int) -> list[Values]:
        """Return draws."""
        return [tuple(self._draw.random() for _ in range(self._parameters)) for _ in range(count)]

    def tell(self, asked: Sequence[Values], damages: Sequence[float]) -> None:
        """Learn nothing."""


class CmaEs:
    """CMA-ES around a start (Hansen and Ostermeier 2001, Completely Derandomized
    Self-Adaptation in Evolution Strategies), by the library that Optuna uses as well.
    """

    def __init__(self, start: Values, seed: int, generation: int) -> None:
        try:
            import numpy
            from cmaes import CMA
        except ImportError as error:
            raise missing("cmaes") from error
        bounds = numpy.array([[0.0, 1.0]] * len(start))
        self._cma: Any = CMA(
            numpy.array(start), _SIGMA, bounds=bounds, seed=seed, population_size=generation
        )

    def ask(self, count: int) -> list[Values]:
        """Return a part of the next generation."""
        if self._cma.should_stop():
            return []
        return [tuple(map(float, self._cma.ask())) for _ in range(count)]

    def tell(self, asked: Sequence[Values], damages: Sequence[float]) -> None:
        """Update the distribution; a last, incomplete generation has no effect."""
        import numpy

        if len(asked) == self._cma.population_size:
            pairs = zip(asked, damages, strict=True)
            self._cma.tell([(numpy.array(values), -damage) for values, damage in pairs])


class Tpe:
    """Tree-structured Parzen estimators (Bergstra et al. 2011, Algorithms for Hyper-Parameter
    Optimization), by Optuna.
    """

    def __init__(self, parameters: int, seed: int) -> None:
        try:
            import optuna
        except ImportError as error:
            raise missing("Optuna") from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            # Optuna calls these options experimental.
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler)
        uniform = optuna.distributions.FloatDistribution(0.0, 1.0)
        self._space = {str(place): uniform for place in range(parameters)}
        self._trials: list[Any] = []

    def ask(self, count: int) -> list[Values]:
        """Return draws from the estimated density of great damage."""
        self._trials = [self._study.ask(self._space) for _ in range(count)]
        return [tuple(trial.params[name] for name in self._space) for trial in self._trials]

    def tell(self, asked: Sequence[Values], damages: Sequence[float]) -> None:
        """Update the estimate."""
        for trial, damage in zip(self._trials, damages, strict=True):
            self._study.tell(trial, damage)


def require_library(method: str) -> None:
    """Raise `UsageError` if the library of a method is not installed."""
    name = {"cmaes": "cmaes", "tpe": "optuna"}.get(method)
    if name is not None and find_spec(name) is None:
        raise missing(name)


def missing(library: str) -> UsageError:
    """Return the error for a library that is not installed."""
    command = extras.installation_here("worst")
    return UsageError(
        f"the search needs {library}; install it with: {command}; --method random needs no package"
    )
