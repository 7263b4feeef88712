"""Queries of a dataset in SQL, by DuckDB, which reads the Parquet files itself.

A query is one SELECT over the tables of the dataset. DuckDB then opens the files of these tables
and no others, and writes none (https://duckdb.org/docs/operations_manual/securing_duckdb).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sojourn import extras, inputs, memory
from sojourn.errors import DatasetError, UsageError
from sojourn.sweep import fairness, reading
from sojourn.sweep.dataset import StoredDataset
from sojourn.sweep.store import Folder
from sojourn.sweep.tables import POINTS, SERIES, TABLES, WHOLE, Table, columns

if TYPE_CHECKING:
    import duckdb

_COUNTED = "counted_executions"
# Rows that are fetched at a time.
_FETCHED = 10_000
# Share of the available memory for DuckDB; the rest is for the rows in Python.
_MEMORY_SHARE = 0.5
_TYPES = {"String": "varchar", "Int64": "bigint", "Float64": "double"}


def query(dataset: StoredDataset, sql: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return the columns of a query, and its rows one after the other.

    Raise `UsageError` for anything but one SELECT, and for a query that DuckDB refuses.
    """
    try:
        import duckdb
    except ImportError as error:
        raise UsageError(
            f"queries need DuckDB; install it with: {extras.installation_here('sweep')}"
        ) from error
    if not isinstance(dataset.folder, Folder):
        raise UsageError(f"{dataset.folder}: queries need a local folder; copy the dataset first")
    dataset.require_whole()
    connection = duckdb.connect(":memory:")
    try:
        _open(connection, dataset)
    except duckdb.Error as error:
        remedy = reading.remedy(dataset.folder, POINTS)
        raise DatasetError(f"{dataset.folder}: {_line(error)}; {remedy}") from error
    try:
        statements = connection.extract_statements(sql)
        if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
            raise UsageError(f"{sql}: a query is one SELECT over the tables of the dataset")
        found = connection.execute(statements[0])
        return [column[0] for column in found.description or ()], _rows(found, sql)
    except duckdb.Error as error:
        raise UsageError(f"{sql}: {_line(error)}") from error


def _rows(found: "duckdb.DuckDBPyConnection", sql: str) -> Iterator[tuple[Any, ...]]:
    import duckdb

    try:
        while rows := found.fetchmany(_FETCHED):
            yield from rows
    except duckdb.Error as error:
        raise UsageError(f"{sql}: {_line(error)}") from error


def _line(error: Exception) -> str:
    """Return an error in one line, without the query that DuckDB repeats at its end."""
    return " ".join(str(error).partition("\nLINE ")[0].split())


def _open(connection: "duckdb.DuckDBPyConnection", dataset: StoredDataset) -> None:
    """Make the views of the tables, and close everything else."""
    tables = [POINTS, *(f"{one}/{name}" for one in TABLES for name in dataset.folder.list(one))]
    paths = [f"{dataset.folder}/{name}" for name in tables]
    for path in paths:
        inputs.require_file(path)
    available = memory.available_bytes()
    settings = {
        "allowed_paths": f"[{', '.join(map(_quoted, paths))}]",
        # Without one, DuckDB writes what does not fit in memory below the current folder.
        "temp_directory": "''",
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_access": "false",
    }
    if available is not None:
        settings["memory_limit"] = f"'{round(available * _MEMORY_SHARE) >> 20}MiB'"
    for name, value in settings.items():
        connection.execute(f"set {name} = {value}")
    for statement in views(dataset):
        connection.execute(statement)
    connection.execute("set lock_configuration = true")


def views(dataset: StoredDataset) -> Iterator[str]:
    """Yield the statements that make a view of each table, with the columns of the points first."""
    points = _read(_quoted(f"{dataset.folder}/{POINTS}"))
    yield f"create view points as select * from {points}"
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
        read = _read(f"[{paths}]", ", filename = true")
        return f"(select *, parse_filename(filename) as batch from {read})"
    types = {**columns(table), "batch": "String"}
    empty = ", ".join(f'null::{_TYPES[kind]} as "{name}"' for name, kind in types.items())
    return f"(select {empty} where false)"


def _read(paths: str, options: str = "") -> str:
    """Read files; a folder such as `queue=codel` above the dataset adds no column."""
    return f"read_parquet({paths}, hive_partitioning = false{options})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
