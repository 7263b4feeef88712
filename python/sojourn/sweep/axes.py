"""The axes of a sweep, from text: lists, ranges and zipped keys."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sojourn import _core
from sojourn.record import key_names
from sojourn.run import experiment
from sojourn.sweep import quantities
from sojourn.sweep.places import Argument, Entry, Place
from sojourn.sweep.quantities import Quantity

_OPEN, _CLOSED = "{[", "}]"
_RANGE = re.compile(r"(?P<low>.+?)\.\.(?P<high>[^:]+)(:(?P<scale>[^:]*))?(:(?P<steps>[^:]*))?")
_WRITE = "write KEY=A,B,... or KEY=LOW..HIGH:log:STEPS, such as link.bottleneck.rate=10Mbit,1Gbit"


@dataclass(frozen=True)
class Range:
    """All values between two quantities of one kind, on a linear or a logarithmic scale."""

    low: Quantity
    high: Quantity
    logarithmic: bool
    steps: int | None
    is_whole: bool
    """Whether the scenario takes whole numbers alone."""

    def at(self, fraction: float | Fraction) -> str:
        """Return the value at a fraction of the range, exactly.

        Rates are whole bit/s, times nanoseconds and data bytes, as in scenarios. A number on a
        logarithmic scale has 15 digits, which all are right.
        """
        low, high = map(self._units, (self.low, self.high))
        if fraction <= 0 or fraction >= 1:
            value = low if fraction <= 0 else high
        elif self.logarithmic:
            value = Fraction(f"{float(low) * float(high / low) ** float(fraction):.15g}")
        else:
            value = low + Fraction(fraction) * (high - low)
        kind = self.low.kind
        assert kind is not None
        if kind == "number":
            return quantities.number_text(float(round(value) if self.is_whole else value))
        return _core.quantity_text(kind, round(value))

    def values(self) -> list[str]:
        """Return the steps; fewer if the range has not that many values."""
        steps = self.steps or 1
        if self.is_discrete:
            low, high = map(self._units, (self.low, self.high))
            if high - low + 1 < steps:
                return [
                    self.at((one - low) / (high - low)) for one in range(int(low), int(high) + 1)
                ]
        fractions = (Fraction(step, max(steps - 1, 1)) for step in range(steps))
        return list(dict.fromkeys(map(self.at, fractions)))

    @property
    def is_discrete(self) -> bool:
        """Whether neighbouring values differ by a unit."""
        return self.is_whole or self.low.kind != "number"

    def _units(self, one: Quantity) -> Fraction:
        """Return a quantity in bit/s, nanoseconds or bytes, and a number as it is."""
        assert one.kind is not None
        amount = one.value / quantities.SCALE[one.kind]
        return Fraction(round(amount) if self.is_discrete else amount)


@dataclass(frozen=True)
class Axis:
    """Keys of the scenario that change together, and their values.

    Each of `values` has one text for each key. A `Range` has one key or gives all keys its value.
    """

    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...] | Range
    place: Place

    def levels(self) -> list[tuple[str, ...]]:
        """Return the values of a grid."""
        if isinstance(self.values, Range):
            texts = self.values.values()
            if len(texts) < (self.values.steps or 1):
                self.place.fault(
                    f"the range has {len(texts):,} different values, fewer than its "
                    f"{self.values.steps:,} steps",
                    "write fewer steps, or a list of values",
                )
            return [(text,) * len(self.keys) for text in texts]
        return list(self.values)

    def at(self, fraction: float) -> tuple[str, ...]:
        """Return the value at a fraction of the axis, from 0 to below 1."""
        if isinstance(self.values, Range):
            return (self.values.at(fraction),) * len(self.keys)
        return self.values[min(int(fraction * len(self.values)), len(self.values) - 1)]


def from_argument(text: str, option: str = "--vary") -> Axis:
    """Read `KEY=A,B`, `KEY=LOW..HIGH:log:5`, or `KEY+KEY=A+B,C+D`."""
    place = Argument(option, text)
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        place.fault(f"`{text}` is not an axis", _WRITE)
    return _axis(key, _split(rest, ","), place)


def from_document(key: str, value: object, place: Entry) -> Axis:
    """Read an entry of `[sweep.vary]`: a list of values, or text as in an argument."""
    if isinstance(value, str):
        return _axis(key, _split(value, ","), place)
    if not isinstance(value, Sequence):
        place.fault(f"the axis `{key}` is neither a list nor a range", 'write "1ms..20ms:log:5"')
    zipped = "+" in key
    texts = [
        "+".join(map(experiment.toml_value, one))
        if zipped and isinstance(one, Sequence) and not isinstance(one, str)
        else experiment.toml_value(one)
        for one in value
    ]
    return _axis(key, texts, Entry(place.core, place.path, tuple(texts)))


def _axis(key: str, texts: list[str], place: Place) -> Axis:
    keys = tuple(part.strip() for part in key.split("+"))
    if not all(keys) or len(set(keys)) < len(keys):
        place.fault(f"`{key}` names a key twice, or none", "join different keys by +", key)
    if len(texts) == 1 and (found := _range(texts[0], keys, place)):
        return Axis(keys, found, place)
    for number, text in enumerate(texts):
        if not text:
            place.fault(f"the axis `{key}` has an empty value", _WRITE)
        if text in texts[:number]:
            place.fault(f"the axis `{key}` has the value `{text}` twice", "keep one", text)
    return Axis(keys, tuple(_zipped(text, len(keys), place) for text in texts), place)


def _zipped(text: str, count: int, place: Place) -> tuple[str, ...]:
    """Return the text for each of `count` keys: one for all, or one each."""
    parts = [part.strip() for part in _split(text, "+")] if count > 1 else [text]
    if len(parts) == 1:
        return (text,) * count
    if len(parts) != count or not all(parts):
        place.fault(
            f"`{text}` has {len(parts)} parts for {count} keys", "write one part for each key", text
        )
    return tuple(parts)


def _range(text: str, keys: Sequence[str], place: Place) -> Range | None:
    """Read a range; None for other text, such as the path of a file."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    low, high = (quantities.parse(match[end].strip()) for end in ("low", "high"))
    if not isinstance(low, Quantity) or not isinstance(high, Quantity):
        return None
    if low.kind != high.kind or low.value >= high.value:
        place.fault(
            f"`{text}` does not rise from one quantity to another of its kind", _WRITE, text
        )
    scale, steps = match["scale"], match["steps"]
    if scale is not None and scale.isdecimal() and steps is None:
        scale, steps = "lin", scale
    if scale not in (None, "lin", "log"):
        place.fault(f"`{scale}` is not a scale", "write lin or log", scale)
    if scale == "log" and low.value <= 0:
        place.fault(f"`{text}` reaches 0 on a logarithmic scale", "begin above 0", text)
    if steps is not None and (not steps.isdecimal() or int(steps) < 2):
        place.fault(f"`{steps}` is not a number of steps", "write 2 or more", steps)
    is_whole = low.kind == "number" and any(map(key_names.is_whole, keys))
    return Range(low, high, scale == "log", int(steps) if steps else None, is_whole)


def _split(text: str, separator: str) -> list[str]:
    """Split at the separators outside brackets and quotes."""
    values, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        else:
            depth += (sign in _OPEN) - (sign in _CLOSED)
        if sign == separator and depth == 0 and not quote:
            values.append("")
        else:
            values[-1] += sign
    return [value.strip() for value in values]
