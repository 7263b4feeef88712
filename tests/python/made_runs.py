"""Run directories of another program, written with JSON and Polars alone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

Columns = Mapping[str, Sequence[Any]]


def run_of(control: str, seed: int, flows: Sequence[str], links: Sequence[str]) -> dict[str, Any]:
    """Return an entry of `runs` with only the required keys."""
    return {
        "control": control,
        "seed": seed,
        "duration_s": 4,
        "flows": [{"name": name, "control": control} for name in flows],
        "links": [{"name": name} for name in links],
    }


def write(
    place: Path,
    flows: Mapping[tuple[str, int, str], Columns],
    links: Mapping[tuple[str, int, str], Columns] | None = None,
) -> Path:
    """Write a directory with these series, by controller, seed and name."""
    place.mkdir(parents=True)
    runs = []
    for control, seed in dict.fromkeys(key[:2] for key in flows):
        own, across = (
            [key[2] for key in series if key[:2] == (control, seed)]
            for series in (flows, links or {})
        )
        runs.append(run_of(control, seed, own, across))
    summary = {"format": 2, "scenario": "by hand", "version": "hand 1", "runs": runs}
    (place / "summary.json").write_text(json.dumps(summary))
    _frame(flows, "flow").write_parquet(place / "flows.parquet")
    if links is not None:
        _frame(links, "link").write_parquet(place / "links.parquet")
    return place


def _frame(series: Mapping[tuple[str, int, str], Columns], name: str) -> pl.DataFrame:
    frames = [
        pl.DataFrame(columns).with_columns(
            pl.lit(control).alias("control"), pl.lit(seed).alias("seed"), pl.lit(own).alias(name)
        )
        for (control, seed, own), columns in series.items()
    ]
    return pl.concat(frames)


def change_summary(place: Path, **changes: Any) -> None:
    """Change keys of the summary; None removes a key."""
    file = place / "summary.json"
    summary = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({key: value for key, value in summary.items() if value is not None}))


def change_series(place: Path, what: str, *columns: pl.Expr, drop: Sequence[str] = ()) -> None:
    """Change or remove columns of a series."""
    file = place / f"{what}.parquet"
    frame = pl.read_parquet(file).with_columns(*columns).drop(drop)
    frame.write_parquet(file)
