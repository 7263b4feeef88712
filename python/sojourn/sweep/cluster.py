"""The engine of clusters: batches as tasks of a Dask scheduler (dask.distributed)."""

import json
import tempfile
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from sojourn import _core, extras, terminal
from sojourn.errors import UsageError
from sojourn.sweep import batch, controllers, store
from sojourn.sweep.batch import Batch, Done, Worker
from sojourn.sweep.local import Lost

_CONNECT_S = 10
_DASHBOARD_S = 2
_DASHBOARD_BYTES = 1000
# Jobs wait in the queue of a batch system.
_QUEUE_S = 24 * 3600
_BATCH_SYSTEMS = {"slurm": "SLURMCluster", "pbs": "PBSCluster"}
_KUBERNETES = "kubernetes"
# Batches of each thread of the cluster: one is executed while the next one waits at the worker.
_WAITING = 2


class Dask:
    """The workers of a Dask scheduler. It repeats the batches of workers that die.

    `address` is that of the scheduler, or the name of a batch system, which then gets `jobs` jobs
    with the settings of dask-jobqueue's configuration, or `kubernetes`, whose operator then starts
    `jobs` workers with the settings of dask-kubernetes.
    """

    def __init__(self, address: str, setup: dict[str, Any], jobs: int) -> None:
        self._cluster = _started(address, jobs)
        try:
            self._connect(address)
        except BaseException:
            if self._cluster is not None:
                self._cluster.close()
            raise
        self._setup = json.dumps(setup)
        self._futures: dict[Any, Batch] = {}

    def _connect(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(
                "clusters need dask.distributed; install it with: "
                f"{extras.installation_here('cluster')}"
            ) from error
        try:
            self._client = Client(self._cluster or address, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:
            raise UsageError(f"--cluster {address}: no Dask scheduler answers ({error})") from error
        try:
            self._require_workers(address)
        except BaseException:
            self._client.close()
            raise

    @property
    def slots(self) -> int:
        """Number of threads of all workers, which may join and leave."""
        threads: Mapping[str, int] = self._client.nthreads()
        return max(sum(threads.values()), 1)

    @property
    def has_room(self) -> bool:
        """Whether the cluster takes another batch."""
        return len(self._futures) < _WAITING * self.slots

    def submit(self, given: Batch) -> None:
        """Send a batch to the scheduler."""
        line = batch.to_json(given)
        future = self._client.submit(execute, self._setup, line, key=f"sojourn-{given.name}")
        self._futures[future] = given

    def wait(self) -> list[Done | Lost]:
        """Wait for the end of batches, for a moment at most."""
        from distributed import wait

        try:
            done = wait(list(self._futures), timeout=0.5, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        return [self._ended(future) for future in done]

    def close(self) -> None:
        """Cancel the batches that have not ended, and leave the scheduler."""
        self._client.cancel(list(self._futures))
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _ended(self, future: Any) -> Done | Lost:
        given = self._futures.pop(future)
        if error := future.exception():
            return Lost(given, f"its worker failed: {type(error).__name__}: {error}")
        return Done(**future.result())

    def _require_workers(self, address: str) -> None:
        """Refuse a cluster without workers, and one with another version of Sojourn."""
        try:
            wait_s = _QUEUE_S if self._cluster is not None else _CONNECT_S
            self._client.wait_for_workers(1, timeout=wait_s)
        except TimeoutError as error:
            raise UsageError(f"--cluster {address}: the scheduler has no workers") from error
        try:
            versions = set(self._client.run(version).values())
        except ImportError as error:
            raise UsageError(f"--cluster {address}: a worker has no Sojourn: {error}") from error
        if versions != {_core.__version__}:
            raise UsageError(
                f"--cluster {address}: its workers have Sojourn {', '.join(sorted(versions))}, and "
                f"this is {_core.__version__}; install the same version everywhere"
            )
        link = self._client.dashboard_link
        if link and _is_served(link):
            terminal.say(f"Dask dashboard: {link}")


def _is_served(link: str) -> bool:
    """Whether a dashboard answers: a scheduler names an address without one too."""
    # Proxies do not reach a scheduler that this machine reaches itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(link, timeout=_DASHBOARD_S) as answer:
            page = answer.read(_DASHBOARD_BYTES)
    except (OSError, ValueError):
        return False
    # distributed/http/scheduler/missing_bokeh.py
    return b"Dask needs" not in page


def _started(address: str, jobs: int) -> Any:
    """Start a cluster if the address is the name of a system that starts one."""
    if address == _KUBERNETES:
        return _in_kubernetes(jobs)
    return _submitted(address, jobs) if address in _BATCH_SYSTEMS else None


def _in_kubernetes(jobs: int) -> Any:
    """Create a `DaskCluster`, for which the operator starts a scheduler and workers."""
    try:
        from dask_kubernetes.operator import KubeCluster
    except ImportError as error:
        raise UsageError(
            "--cluster kubernetes needs dask-kubernetes; install it with: "
            f"{extras.installation_here('kubernetes')}"
        ) from error
    try:
        return KubeCluster(n_workers=jobs, quiet=True)
    # The client, the server and the operator each have errors of their own.
    except Exception as error:
        raise UsageError(
            f"--cluster kubernetes: no cluster started ({type(error).__name__}: {error}); it needs "
            "access by kubectl, the operator of dask-kubernetes, and settings `kubernetes` in a "
            "file of ~/.config/dask"
        ) from error


def _submitted(system: str, jobs: int) -> Any:
    """Start a scheduler here, and submit jobs whose workers connect to it."""
    try:
        import dask_jobqueue
    except ImportError as error:
        raise UsageError(
            f"--cluster {system} needs dask-jobqueue; install it with: "
            f"{extras.installation_here('cluster')}"
        ) from error
    try:
        cluster = getattr(dask_jobqueue, _BATCH_SYSTEMS[system])()
    except ValueError as error:
        raise UsageError(
            f"--cluster {system}: {error}; set jobqueue.{system} in a file of ~/.config/dask"
        ) from error
    cluster.scale(jobs=jobs)
    return cluster


def version() -> str:
    """Return the version of Sojourn at a worker."""
    return _core.__version__


def execute(setup: str, line: str) -> dict[str, Any]:
    """Execute a batch at a worker of the cluster."""
    return asdict(_worker(setup).execute(batch.from_json(line)))


@lru_cache(maxsize=2)
def _worker(setup: str) -> Worker:
    """Parse the scenario once for each sweep, with copies of all files that it needs."""
    from distributed import get_worker

    given = json.loads(setup)
    # Dask removes the folder of a worker, also that of a killed one.
    place = get_worker().local_directory
    folder = Path(tempfile.mkdtemp(prefix="sojourn-sweep-", dir=place))
    for name, text in given["files"].items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    base = _core.Scenario.from_toml(given["origin"], given["toml"], str(folder))
    own = controllers.elsewhere(given["controllers"], folder).catalogue
    base.use_controllers(own)
    read = batch.reader(given["origin"], str(folder), own)
    return Worker(base, store.open_folder(given["out"]), given["detail"], False, read)


def description(base: _core.Scenario, origin: str, files: Mapping[str, str]) -> dict[str, Any]:
    """Return the scenario with its files and those of others, for machines without them."""
    toml, own = base.portable()
    return {"origin": origin, "toml": toml, "files": {**files, **dict(own)}}
