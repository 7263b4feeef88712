"""The tables of a dataset as views of DuckDB, which reads the Parquet files itself."""

from collections.abc import Iterator

from sojourn.errors import UsageError
from sojourn.sweeps import fairness
from sojourn.sweeps.dataset import StoredDataset
from sojourn.sweeps.store import Folder
from sojourn.sweeps.tables import POINTS, SERIES, TABLES, WHOLE, Table, columns

_COUNTED = "counted_executions"
_TYPES = {"String": "varchar", "Int64": "bigint", "Float64": "double"}


def views(dataset: StoredDataset) -> Iterator[str]:
    """Yield the statements that make a view of each table, with the columns of the points first."""
    if not isinstance(dataset.folder, Folder):
        raise UsageError(f"{dataset.folder}: queries need a local folder; copy the dataset first")
    points = _quoted(f"{dataset.folder}/{POINTS}")
    yield f"create view points as select * from read_parquet({points})"
    yield f"create table {_COUNTED} as {_counted(dataset)}"
    for table in TABLES:
        own = [name for name in columns(table) if name not in ("run", "seed")]
        chosen = ", ".join(_chosen(table, name) for name in own)
        window = ""
        if table == "flows":
            chosen += "".join(f", {sql} as {name}" for name, sql in fairness.SQL.items())
            window = " window each_run as (partition by own.run)"
        yield (
            f"create view {table} as select points.*, {chosen} from points "
            f"join {_files(dataset, table)} own using (run) "
            f"join {_COUNTED} counted on counted.run = own.run and counted.batch = own.batch"
            f"{window}"
        )


def _counted(dataset: StoredDataset) -> str:
    """Select the batch of each run that counts, as `executions` does."""
    whole, series = (
        ", ".join(map(_quoted, dataset.folder.list(table))) or "''"
        for table in (WHOLE[0], SERIES[0])
    )
    order = f"error is not null, batch not in ({whole}), batch not in ({series}), batch"
    return (
        f"select run, batch from {_files(dataset, 'runs')} "
        f"qualify row_number() over (partition by run order by {order}) = 1"
    )


def _chosen(table: Table, name: str) -> str:
    """Name a column; `control` of the points is the controller of the run."""
    if name == "control":
        return "own.control as " + ("run_control" if table == "runs" else "flow_control")
    return f'own."{name}"'


def _files(dataset: StoredDataset, table: Table) -> str:
    """Return the complete batches with their names, or a table without rows."""
    complete = set(dataset.folder.list("runs"))
    names = [name for name in dataset.folder.list(table) if name in complete]
    if names:
        paths = ", ".join(_quoted(f"{dataset.folder}/{table}/{name}") for name in names)
        read = f"read_parquet([{paths}], filename = true)"
        return f"(select *, parse_filename(filename) as batch from {read})"
    types = {**columns(table), "batch": "String"}
    empty = ", ".join(f'null::{_TYPES[kind]} as "{name}"' for name, kind in types.items())
    return f"(select {empty} where false)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
