"""Sweeps on a Dask scheduler and on S3, with real servers on loopback."""

import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sojourn
from kubernetes_stand_in import kubernetes
from polars.testing import assert_frame_equal
from sojourn.cli import main
from sojourn.cli.scenarios import load_controllers
from sojourn.errors import UsageError
from sojourn.sweep import api as sweeps
from sojourn.sweep import plan as plans
from sojourn_papers import Ask, Lab

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


def test_papers_and_the_matrix_run_on_a_cluster(
    cluster: Any, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--dataset", str(tmp_path / "kept"), "--cluster", cluster.scheduler_address]
    line = ["matrix", "--controls", "cubic", "--queues", "codel", "--duration", "2s", "--json"]
    assert main([*line, *place]) == 0
    there = capsys.readouterr().out
    assert main(line) == 0
    assert capsys.readouterr().out == there
    # Two scenarios whose traces have the same name, as on machines without these files.
    for name, trace in (("a", "1\n"), ("b", "1\n1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.trace").write_text(trace, "utf-8")
        text = small.read_text("utf-8").replace(
            'rate  = { start = "12Mbit", steps = [{ at = "3s", rate = "6Mbit" }] }',
            f'rate = {{ trace = "{name}/own.trace" }}',
        )
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    asks = [Ask("a.toml", control="cubic"), Ask("b.toml", control="cubic")]
    lab = Lab(tmp_path, tmp_path, dataset=place[1], cluster=place[3])
    for one, two in zip(lab.runs(asks), Lab(tmp_path, tmp_path).runs(asks), strict=True):
        assert one.summary == two.summary
        assert_frame_equal(one.flows, two.flows, check_column_order=False)
    assert lab.runs(asks)[0].summary != lab.runs(asks)[1].summary


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


@pytest.mark.parametrize(
    ("system", "submit", "cancel"), [("slurm", "sbatch", "scancel"), ("pbs", "qsub", "qdel")]
)
def test_jobs_of_a_batch_system_execute_a_sweep(
    system: str,
    submit: str,
    cancel: str,
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("dask_jobqueue")
    import dask

    # Stand-ins for the commands, which start and end the job at once.
    for name, text in ((submit, _SBATCH), (cancel, _SCANCEL)):
        (tmp_path / name).write_text(text.format(python=sys.executable), "utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    asked = {"cores": 1, "memory": "1GB", "interface": "lo", "log-directory": str(tmp_path)}
    with dask.config.set({f"jobqueue.{system}.{key}": value for key, value in asked.items()}):
        found = sojourn.sweep(small, VARY, tmp_path / "out", control="cubic", cluster=system)
    assert_same(found, sojourn.sweep(small, VARY, tmp_path / "here", control="cubic", jobs=1))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server that speaks S3."""
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

        # Without its cache of instances, which would keep the address of an earlier server.
        s3fs.S3FileSystem.clear_instance_cache()
        name = f"bucket-{uuid.uuid4().hex}"
        s3fs.S3FileSystem().mkdir(name)
        yield f"s3://{name}"
    finally:
        server.stop()


def command(small: Path, out: str, runs: int, *more: str) -> list[str]:
    """Return the command of the sweep `VARY`."""
    line = [sys.executable, "-m", "sojourn", "sweep", str(small), "--runs", str(runs)]
    for key, values in VARY.items():
        listed = values if isinstance(values, str) else ",".join(values)
        line += ["--vary", f"{key}={listed}"]
    return [*line, "--out", out, *more]


def test_a_dataset_on_s3_resumes(small: Path, tmp_path: Path, bucket: str) -> None:
    part = {**VARY, "link.back.delay": "1ms..50ms:log:2"}
    sojourn.sweep(small, part, f"{bucket}/sweep", control="cubic", runs=2)
    # The command starts worker processes, which write by themselves.
    line = command(small, f"{bucket}/sweep", 2, "--control", "cubic")
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    whole = sojourn.sweep(small, VARY, tmp_path / "here", control="cubic", runs=2)
    assert_same(sojourn.Dataset(f"{bucket}/sweep"), whole)


def test_workers_of_a_killed_command_write_no_run_twice(
    small: Path, tmp_path: Path, bucket: str
) -> None:
    distributed = pytest.importorskip("distributed")
    import s3fs

    def raw(table: str) -> pl.DataFrame:
        fs = s3fs.S3FileSystem(skip_instance_cache=True)
        files = fs.glob(f"{bucket}/sweep/{table}/*.parquet")
        return pl.concat(pl.read_parquet(io.BytesIO(fs.cat_file(file))) for file in files)

    whole = sojourn.sweep(small, VARY, tmp_path / "here", control=["cubic", "reno"], runs=20)
    # The workers inherit the address of the server.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        more = ("--control", "cubic,reno", "--cluster", cluster.scheduler_address)
        line = command(small, f"{bucket}/sweep", 20, *more)
        fs = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
        for _ in range(2):
            with subprocess.Popen(line, stdout=subprocess.DEVNULL) as process:
                try:
                    held = len(fs.glob(f"{bucket}/sweep/runs/*.parquet"))
                    deadline = time.monotonic() + 60
                    while len(fs.glob(f"{bucket}/sweep/runs/*.parquet")) < held + 2:
                        assert process.poll() is None, "the command ended before its signal"
                        assert time.monotonic() < deadline, "the command writes no batches"
                        time.sleep(0.01)
                finally:
                    process.kill()
        # It begins while workers still execute batches of the killed commands.
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        assert_same(sojourn.Dataset(f"{bucket}/sweep"), whole)
    # No worker is left, so a further command removes what they repeated.
    subprocess.run(command(small, f"{bucket}/sweep", 20, *more[:2]), check=True, stdout=-3)
    assert_same(sojourn.Dataset(f"{bucket}/sweep"), whole)
    assert raw("runs")["run"].is_unique().all()
    assert raw("flows").height == whole.flows.height


def test_workers_of_a_cluster_get_the_users_controllers(
    cluster: Any, small: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "helper.py").write_text("WINDOW = 15000\n", "utf-8")
    (own / "mine.py").write_text(
        "import sojourn\nfrom helper import WINDOW\nclass Mine:\n"
        "    def __init__(self, setup): pass\n"
        "    def on_feedback(self, now_ns, feedback): pass\n"
        "    def limits(self): return sojourn.Limits(cwnd_bytes=WINDOW)\n",
        "utf-8",
    )
    controllers = load_controllers([f"{own}/mine.py:Mine"])
    core = sojourn.Scenario.load(small).compile()
    core.use_controllers(controllers.catalogue)
    core.set_controls(["mine"])
    core.check()
    study = plans.study(core, vary=["link.back.delay=10ms,20ms"], runs=2)
    found = plans.plan(core, str(small), study)
    # As on another machine, which has no such files.
    shutil.rmtree(own)
    setup = sweeps.Setup(str(tmp_path), controllers=controllers, cluster=cluster.scheduler_address)
    ended = sweeps.execute(found, setup, str(tmp_path / "out"))
    assert (ended.tally.done, ended.tally.failures) == (4, 0)
    assert (sojourn.Dataset(tmp_path / "out").flows["goodput_bps"] > 1e6).all()


def test_workers_in_kubernetes_execute_a_sweep(
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("dask_kubernetes")
    import dask

    asked = {
        "kubernetes.image": "registry/sojourn",
        "kubernetes.scheduler-service-type": "LoadBalancer",
    }
    with kubernetes(tmp_path) as (server, config), dask.config.set(asked):
        monkeypatch.setenv("KUBECONFIG", str(config))
        found = sojourn.sweep(
            small, VARY, tmp_path / "out", control="cubic", cluster="kubernetes", jobs=2
        )
        # The command deletes what it created.
        assert server.cluster is None
        assert server.created is not None
        worker = server.created["spec"]["worker"]
        assert worker["replicas"] == 2
        assert worker["spec"]["containers"][0]["image"] == "registry/sojourn"
    is_served = find_spec("bokeh") is not None
    assert ("Dask dashboard: http://" in capsys.readouterr().err) == is_served
    assert_same(found, sojourn.sweep(small, VARY, tmp_path / "here", control="cubic", jobs=1))


def test_a_missing_kubernetes_is_named(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_kubernetes")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    with pytest.raises(UsageError, match="no cluster started"):
        sojourn.sweep(small, VARY, tmp_path / "out", cluster="kubernetes")
