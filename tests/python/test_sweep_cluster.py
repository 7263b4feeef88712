"""Sweeps on a Dask scheduler and on S3, with real servers on loopback."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sojourn
from polars.testing import assert_frame_equal
from sojourn.errors import UsageError

pytestmark = pytest.mark.long

VARY = {
    "link.bottleneck.queue": ["droptail", "codel"],
    "link.back.delay": "1ms..50ms:log:10",
}
TABLES = ("points", "runs", "flows", "links", "spikes")


def assert_same(one: sojourn.Dataset, other: sojourn.Dataset) -> None:
    for name in TABLES:
        assert_frame_equal(getattr(one, name), getattr(other, name))


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def test_a_killed_worker_of_a_cluster_costs_nothing(
    cluster: Any, small: Path, tmp_path: Path
) -> None:
    killed = []

    def kill() -> None:
        while not list(tmp_path.glob("cluster/runs/*.parquet")):
            time.sleep(0.05)
        killed.append(cluster.workers[0].pid)
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    asked: dict[str, Any] = {"vary": VARY, "control": ["cubic", "reno"], "runs": 20}
    address = cluster.scheduler_address
    found = sojourn.sweep(small, out=tmp_path / "cluster", cluster=address, **asked)
    thread.join()
    assert killed
    whole = sojourn.sweep(small, out=tmp_path / "here", jobs=1, **asked)
    assert found.runs.height == 800
    assert_same(found, whole)


def test_a_missing_scheduler_is_named(small: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="no Dask scheduler"):
        sojourn.sweep(small, VARY, tmp_path / "out", cluster="tcp://127.0.0.1:1")


_SBATCH = """#!{python}
import subprocess, sys
done = open(sys.argv[0] + ".jobs", "a+")
job = subprocess.Popen(["bash", sys.argv[-1]], stdout=done, stderr=done, start_new_session=True)
print("Submitted batch job", job.pid)
"""
_SCANCEL = """#!{python}
import os, signal, sys
os.killpg(int(sys.argv[1]), signal.SIGTERM)
"""


def test_jobs_of_a_batch_system_execute_a_sweep(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_jobqueue")
    import dask

    # Stand-ins for Slurm's commands, which start and end the job at once.
    for name, text in (("sbatch", _SBATCH), ("scancel", _SCANCEL)):
        (tmp_path / name).write_text(text.format(python=sys.executable), "utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    asked = {"cores": 1, "memory": "1GB", "interface": "lo", "log-directory": str(tmp_path)}
    with dask.config.set({f"jobqueue.slurm.{key}": value for key, value in asked.items()}):
        found = sojourn.sweep(small, VARY, tmp_path / "out", control="cubic", cluster="slurm")
    assert_same(found, sojourn.sweep(small, VARY, tmp_path / "here", control="cubic", jobs=1))


def test_a_dataset_on_s3_resumes(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        for key, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(key, value)
        import s3fs

        s3fs.S3FileSystem().mkdir("bucket")
        part = {**VARY, "link.back.delay": "1ms..50ms:log:2"}
        sojourn.sweep(small, part, "s3://bucket/sweep", control="cubic", runs=2)
        # The command starts worker processes, which write by themselves.
        line = [sys.executable, "-m", "sojourn", "sweep", str(small), "--control", "cubic"]
        for key, values in VARY.items():
            listed = values if isinstance(values, str) else ",".join(values)
            line += ["--vary", f"{key}={listed}"]
        line += ["--runs", "2", "--out", "s3://bucket/sweep"]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        whole = sojourn.sweep(small, VARY, tmp_path / "here", control="cubic", runs=2)
        assert_same(sojourn.Dataset("s3://bucket/sweep"), whole)
    finally:
        server.stop()
