"""Builders of the tables of a scenario.

Written by docs/scenario_builders.py from the schema.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

_Built = TypeVar("_Built", bound="Builders")
Quantity = str | int | float
"""A value with its unit as in `tc` ("60Mbit", "20ms", "150kB"), or a plain number."""


class Builders:
    """The methods of a scenario that add a table."""

    @abstractmethod
    def _put(self: _Built, table: str, arguments: Mapping[str, Any]) -> _Built:
        """Add a table whose keys are the arguments of a builder, without those left out."""

    def group(
        self: _Built,
        name: str,
        *,
        count: int,
        link: Mapping[str, Any] | None = None,
        flow: Mapping[str, Any] | None = None,
        group: Mapping[str, Any] | None = None,
    ) -> _Built:
        """Add a group, or replace the one of this name; return the scenario."""
        return self._put("group", locals())

    def link(
        self: _Built,
        name: str,
        *,
        rate: Quantity | Mapping[str, Any] | None = None,
        delay: Quantity | Mapping[str, Any] | None = None,
        queue: str | Mapping[str, Any] | None = None,
        buffer: Quantity | None = None,
        ring: Mapping[str, Any] | None = None,
        loss: float | Mapping[str, Any] | None = None,
        jitter: Quantity | Mapping[str, Any] | None = None,
        reorder: float | Mapping[str, Any] | None = None,
        duplicate: float | Mapping[str, Any] | None = None,
        ecn: str | Mapping[str, Any] | None = None,
        ack_thinning: int | Mapping[str, Any] | None = None,
        slots: Mapping[str, Any] | None = None,
        overhead: Quantity | None = None,
    ) -> _Built:
        """Add a link, or replace the one of this name; return the scenario."""
        return self._put("link", locals())

    def flow(
        self: _Built,
        name: str,
        *,
        path: Sequence[str],
        control: str | Mapping[str, Any] | None = None,
        back: Sequence[str] | None = None,
        source: str | Mapping[str, Any] | None = None,
        dscp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        start: Quantity | None = None,
        stop: Quantity | None = None,
        count: int | None = None,
        stagger: Quantity | None = None,
        host: str | Mapping[str, Any] | None = None,
        receiver: str | Mapping[str, Any] | None = None,
        stack: str | Mapping[str, Any] | None = None,
    ) -> _Built:
        """Add a flow, or replace the one of this name; return the scenario."""
        return self._put("flow", locals())
