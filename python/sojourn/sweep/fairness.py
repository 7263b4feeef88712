"""Fairness between the flows of a run: the share of each, and Jain's index.

Jain, Chiu and Hawe, "A Quantitative Measure of Fairness" (DEC-TR-301, 1984).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

SHARE, JAIN = "goodput_share", "jain"
COLUMNS = (SHARE, JAIN)
"""Columns of flows that follow from the goodputs of a run."""
SQL = {
    SHARE: "own.goodput_bps / nullif(sum(own.goodput_bps) over each_run, 0)",
    JAIN: "power(sum(own.goodput_bps) over each_run, 2) "
    "/ nullif(count(*) over each_run * sum(power(own.goodput_bps, 2)) over each_run, 0)",
}
"""The same columns in SQL, over the window `each_run`."""


def jain() -> "pl.Expr":
    """Jain's index of a group of flows: 1 for equal goodputs, 1/n if one of n has everything."""
    import polars as pl

    goodput = pl.col("goodput_bps")
    # Without any goodput, the index is undefined: 0/0.
    return (goodput.sum() ** 2 / (goodput.len() * (goodput**2).sum())).fill_nan(None)


def added(flows: "pl.DataFrame") -> "pl.DataFrame":
    """Add the columns to a table of flows."""
    import polars as pl

    goodput = pl.col("goodput_bps")
    return flows.with_columns(
        (goodput / goodput.sum()).fill_nan(None).over("run").alias(SHARE),
        jain().over("run").alias(JAIN),
    )
