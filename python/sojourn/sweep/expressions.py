"""Expressions over axes and keys: derived values, and the condition of the points that run.

They have arithmetic, comparisons, `and`, `or`, `not`, `in`, `min` and `max`. Quantities keep their
dimensions, so that a rate times a time is an amount of data.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sojourn import _core
from sojourn.sweep import quantities
from sojourn.sweep.places import Place
from sojourn.sweep.quantities import Quantity, Value

Lookup = Callable[[str], Value]

_LITERAL = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w.])(?P<quantity>\d[\d_.]*\s*[A-Za-z]\w*)""")
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_HELP = "write arithmetic and comparisons of axes, keys and quantities, such as rate * 50ms"


class _Wrong(Exception):
    """A fault of the expression, for the user."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression."""

    text: str
    place: Place
    names: frozenset[str]
    """The axes and keys in it."""
    _body: ast.expr
    _literals: dict[str, Quantity]

    def value(self, lookup: Lookup) -> Value:
        """Compute the expression; `lookup` returns the value of an axis or a key."""
        try:
            return _Reader(lookup, self._literals).read(self._body)
        except (_Wrong, ZeroDivisionError, OverflowError) as error:
            self.place.fault(f"`{self.text}`: {error}", _HELP, self.text)

    def holds(self, lookup: Lookup) -> bool:
        """Compute the expression; refuse one that is no condition."""
        value = self.value(lookup)
        if not isinstance(value, bool):
            message = f"`{self.text}` is not a condition"
            self.place.fault(message, "write rate >= 10Mbit", self.text)
        return value


def parse(text: str, place: Place) -> Expression:
    """Parse an expression; refuse any other Python."""
    literals: dict[str, Quantity] = {}

    def named(match: re.Match[str]) -> str:
        found = _core.quantity(match["quantity"]) if match["quantity"] else None
        if found is None:
            return match[0]
        value = quantities.parse(match["quantity"])
        assert isinstance(value, Quantity)
        literals[name := f"_literal{len(literals)}"] = value
        return name

    try:
        body = ast.parse(_LITERAL.sub(named, text).strip(), mode="eval").body
        names = frozenset(_names(body)) - literals.keys()
    except (SyntaxError, _Wrong, RecursionError, MemoryError, ValueError) as error:
        fault = error if isinstance(error, _Wrong) else "it is malformed"
        place.fault(f"`{text}`: {fault}", _HELP, text)
    return Expression(text, place, names, body, literals)


def _names(node: ast.expr) -> Iterator[str]:
    """Yield the names of an expression; refuse nodes that `_Reader` cannot read."""
    match node:
        case ast.Name() | ast.Attribute():
            yield _dotted(node)
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            yield from (name for part in parts for name in _names(part))
        case ast.BinOp(left=left, op=op, right=right):
            if not isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
                raise _Wrong(f"{type(op).__name__} is not possible here")
            yield from (*_names(left), *_names(right))
        case ast.UnaryOp(operand=part, op=ast.Not() | ast.USub()):
            yield from _names(part)
        case ast.Compare(left=left, comparators=others):
            yield from (name for part in (left, *others) for name in _names(part))
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, *_] as parts, keywords=[]):
            yield from (name for part in parts for name in _names(part))
        case ast.Constant(value=bool() | int() | float() | str()):
            return
        case _:
            raise _Wrong(f"{type(node).__name__} is not possible here")


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    raise _Wrong("only names have a `.`")


@dataclass(frozen=True)
class _Reader:
    lookup: Lookup
    literals: dict[str, Quantity]

    def read(self, node: ast.expr) -> Value:
        match node:
            case ast.Name(id=name) if name in self.literals:
                return self.literals[name]
            case ast.Name() | ast.Attribute():
                return self.lookup(_dotted(node))
            case ast.Constant(value=bool() | str() as value):
                return value
            case ast.Constant(value=number):
                return Quantity(float(number))  # type: ignore[arg-type]
            case ast.BoolOp(op=op, values=parts):
                each = (_boolean(self.read(part)) for part in parts)
                return all(each) if isinstance(op, ast.And) else any(each)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not _boolean(self.read(part))
            case ast.UnaryOp(operand=part):
                given = _quantity(self.read(part))
                return Quantity(-given.value, given.dimensions)
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(op, _quantity(self.read(left)), _quantity(self.read(right)))
            case ast.Call(func=ast.Name(id=name), args=args):
                values = [_quantity(self.read(part)) for part in args]
                for other in values[1:]:
                    _require_alike(values[0], other)
                choose = min if name == "min" else max
                return choose(values, key=lambda value: value.value)
            case ast.Compare():
                return self._compared(node)
        raise _Wrong(f"{type(node).__name__} is not possible here")

    def _compared(self, node: ast.Compare) -> bool:
        left = self.read(node.left)
        for op, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.In, ast.NotIn)):
                if not isinstance(other, (ast.List, ast.Tuple)):
                    raise _Wrong("`in` needs a list")
                is_in = any(_compare(ast.Eq(), left, self.read(one)) for one in other.elts)
                return is_in is isinstance(op, ast.In)
            right = self.read(other)
            if not _compare(op, left, right):
                return False
            left = right
        return True


def _compare(op: ast.cmpop, left: Value, right: Value) -> bool:
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        _require_alike(left, right)
        return _ORDER[type(op)](left.value, right.value)
    if type(left) is not type(right) and isinstance(op, (ast.Eq, ast.NotEq)):
        return isinstance(op, ast.NotEq)
    if isinstance(left, Quantity) or isinstance(right, Quantity) or type(op) not in _ORDER:
        raise _Wrong("a quantity is compared with a name")
    return _ORDER[type(op)](left, right)


def _combined(op: ast.operator, left: Quantity, right: Quantity) -> Quantity:
    (bits, seconds), (other_bits, other_seconds) = left.dimensions, right.dimensions
    if isinstance(op, ast.Mult):
        dimensions = (bits + other_bits, seconds + other_seconds)
        return Quantity(left.value * right.value, dimensions)
    if isinstance(op, ast.Div):
        dimensions = (bits - other_bits, seconds - other_seconds)
        return Quantity(left.value / right.value, dimensions)
    _require_alike(left, right)
    sign = 1 if isinstance(op, ast.Add) else -1
    return Quantity(left.value + sign * right.value, left.dimensions)


def _require_alike(left: Quantity, right: Quantity) -> None:
    if left.dimensions != right.dimensions:
        kinds = " and ".join(one.kind or "a product" for one in (left, right))
        raise _Wrong(f"{kinds} do not go together")


def _quantity(value: Value) -> Quantity:
    if isinstance(value, Quantity):
        return value
    raise _Wrong(f"`{value}` is not a quantity")


def _boolean(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    raise _Wrong("it combines values that are neither true nor false")
