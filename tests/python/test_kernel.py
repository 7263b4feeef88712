"""Controllers in the kernel from the command line, where this machine allows them."""

import fcntl
import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import Sojourn, command, environment

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@pytest.fixture(autouse=True)
def _kernel(sojourn: Sojourn) -> Iterator[None]:
    # A controller belongs to the whole machine, so these tests run one at a time.
    with (Path(tempfile.gettempdir()) / "sojourn-kernel-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _require_kernel(sojourn)
        yield


def _require_kernel(sojourn: Sojourn) -> None:
    status = sojourn("kernel", "status", "--json")
    if status.returncode != 0:
        pytest.skip(f"no controllers in the kernel here: {status.stderr.strip()}")
    if json.loads(status.stdout):
        pytest.skip("a controller of Sojourn is loaded on this machine")


@contextmanager
def loaded(*options: str) -> Iterator["subprocess.Popen[str]"]:
    """Load LoLa until the end of the context."""
    args = command("kernel", "load", "lola", *options)
    pipe = subprocess.PIPE
    with subprocess.Popen(args, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                assert process.stderr is not None
                pytest.skip(f"the kernel loads no controller: {process.stderr.read().strip()}")
            assert "sojourn_lola" in line
            yield process
        finally:
            process.kill()


def gone() -> bool:
    """Wait until the kernel has no LoLa."""
    for _ in range(300):
        if "sojourn_lola" not in AVAILABLE.read_text().split():
            return True
        time.sleep(0.1)
    return False


def test_a_controller_is_loaded_shown_and_unloaded(sojourn: Sojourn) -> None:
    with loaded("--set", "q_target=2ms") as process:
        (one,) = json.loads(sojourn("kernel", "status", "--json").stdout)
        assert (one["name"], one["kernel_name"]) == ("lola", "sojourn_lola")
        assert (one["pinned"], one["params"]["q_target"]) == (False, "2ms")
        second = sojourn("kernel", "load", "lola")
        assert second.returncode == 2
        assert "sojourn kernel unload lola" in second.stderr
        assert sojourn("kernel", "unload", "lola").returncode == 0
        # The loader notices, and ends.
        assert process.wait(timeout=60) == 0
        assert gone()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_loader_unregisters(number: signal.Signals) -> None:
    with loaded() as process:
        process.send_signal(number)
        process.wait(timeout=60)
        assert gone()


def test_wrong_names_and_values_are_refused(sojourn: Sojourn) -> None:
    unknown = sojourn("kernel", "load", "reno")
    assert unknown.returncode == 2
    assert "there is no controller `reno` for the kernel" in unknown.stderr
    outside = sojourn("kernel", "load", "lola", "--set", "q_target=99s")
    assert outside.returncode == 2
    assert "it must be 1us to 10s" in outside.stderr
    absent = sojourn("kernel", "unload", "lola")
    assert absent.returncode == 2
    assert "`lola` is not loaded" in absent.stderr


def test_live_runs_load_what_they_need(sojourn: Sojourn, tmp_path: Path) -> None:
    scenario = tmp_path / "marks.toml"
    scenario.write_text(
        'duration = "2s"\n[link.there]\nrate = "20Mbit"\ndelay = "2ms"\n'
        'queue = { kind = "step", k = 10 }\n[link.back]\ndelay = "2ms"\n'
        '[flow.bulk]\npath = ["there"]\nback = ["back"]\n'
    )
    done = sojourn("live", scenario, "--control", "dctcp,lola", "--json")
    if done.returncode == 2 and "namespace" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    dctcp, lola = json.loads(done.stdout)["runs"]
    assert dctcp["links"][0]["marked_packets"] > 0
    assert all(run["flows"][0]["goodput_bps"] > 0 for run in (dctcp, lola))
    assert json.loads(sojourn("kernel", "status", "--json").stdout) == []
