"""The tables of a dataset as views of DuckDB, which reads the Parquet files itself."""

from collections.abc import Iterator

from sojourn.errors import UsageError
from sojourn.sweeps.dataset import Dataset
from sojourn.sweeps.store import Folder
from sojourn.sweeps.tables import POINTS, TABLES, Table, columns

_TYPES = {"String": "varchar", "Int64": "bigint", "Float64": "double"}


def views(dataset: Dataset) -> Iterator[str]:
    """Yield the statements that make a view of each table, with the columns of the points first."""
    if not isinstance(dataset.folder, Folder):
        raise UsageError(f"{dataset.folder}: queries need a local folder; copy the dataset first")
    points = _quoted(f"{dataset.folder}/{POINTS}")
    yield f"create view points as select * from read_parquet({points})"
    for table in TABLES:
        own = [name for name in columns(table) if name not in ("run", "seed")]
        chosen = ", ".join(_chosen(table, name) for name in own)
        yield (
            f"create view {table} as select points.*, {chosen} "
            f"from points join {_files(dataset, table)} own using (run)"
        )


def _chosen(table: Table, name: str) -> str:
    """Name a column; `control` of the points is the controller of the run."""
    if name == "control":
        return "own.control as " + ("run_control" if table == "runs" else "flow_control")
    return f'own."{name}"'


def _files(dataset: Dataset, table: Table) -> str:
    """Return the complete batches, or a table without rows."""
    complete = set(dataset.folder.list("runs"))
    names = [name for name in dataset.folder.list(table) if name in complete]
    if names:
        paths = ", ".join(_quoted(f"{dataset.folder}/{table}/{name}") for name in names)
        read = f"read_parquet([{paths}])"
        # A run that failed may have been repeated.
        best = "row_number() over (partition by run order by error is not null) = 1"
        return f"(select * from {read} qualify {best})" if table == "runs" else read
    empty = ", ".join(f'null::{_TYPES[kind]} as "{name}"' for name, kind in columns(table).items())
    return f"(select {empty} where false)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
