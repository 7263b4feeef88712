"""Rows of many simulations, and their table in Markdown."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each(function: Callable[[T], R], cases: Iterable[T]) -> list[R]:
    """Return a result for each case, with a simulation on each core."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, cases))


def markdown(lines: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown; the first line is its head."""
    rows = [[str(cell) for cell in line] for line in lines]
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *rest])
