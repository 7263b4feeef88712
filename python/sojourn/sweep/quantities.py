"""Values with dimensions: numbers, rates, times, amounts of data, and names."""

from dataclasses import dataclass
from typing import Literal

from sojourn import _core

Kind = Literal["number", "rate", "time", "data"]

# The exponents of bits and of seconds.
_DIMENSIONS: dict[Kind, tuple[int, int]] = {
    "number": (0, 0),
    "rate": (1, -1),
    "time": (0, 1),
    "data": (1, 0),
}
SCALE: dict[Kind, float] = {"number": 1.0, "rate": 1.0, "time": 1e-9, "data": 8.0}
"""Units of scenarios (bit/s, ns, bytes) in bits and seconds."""
SUFFIX: dict[Kind, str] = {"number": "", "rate": "_bps", "time": "_s", "data": "_bytes"}
"""The end of a column's name, which names the unit of its values."""


@dataclass(frozen=True)
class Quantity:
    """A number in bits and seconds, with the exponents of both."""

    value: float
    dimensions: tuple[int, int] = (0, 0)

    @property
    def kind(self) -> Kind | None:
        """The kind; None for a product without a name, such as a squared rate."""
        return next((kind for kind, one in _DIMENSIONS.items() if one == self.dimensions), None)


Value = Quantity | str | bool


def parse(text: str) -> Value:
    """Return the value of a text: a number, a quantity with a unit, a boolean, or a name."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return Quantity(float(text.replace("_", "")))
    except ValueError:
        found = _core.quantity(text)
    if found is None:
        return text
    kind, amount = found
    return Quantity(amount * SCALE[kind], _DIMENSIONS[kind])


def text_of(value: Value) -> str | None:
    """Format a value as scenarios write it; None for a quantity without a unit.

    Times are rounded to nanoseconds, rates to bit/s and data to bytes.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if value.kind is None or not 0 <= value.value < float("inf"):
        return None if value.kind != "number" else number_text(value.value)
    if value.kind == "number":
        return number_text(value.value)
    return _core.quantity_text(value.kind, round(value.value / SCALE[value.kind]))


def column_value(value: Value, kind: Kind) -> float:
    """Return a quantity in the unit of a column: bit/s, seconds or bytes."""
    assert isinstance(value, Quantity)
    if kind == "data":
        return value.value / 8
    # Nanoseconds as a fraction of a second, exactly as written.
    return round(value.value / 1e-9) / 1e9 if kind == "time" else value.value


def number_text(value: float) -> str:
    """Format a number as scenarios write it, with all its digits."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
