"""All builds give identical results."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import sojourn
from sojourn import _core
from support import ROOT

needs_cargo = pytest.mark.skipif(
    shutil.which("cargo") is None, reason="needs what Sojourn is built with"
)


@needs_cargo
def test_the_package_and_the_crates_give_the_same_bytes(tmp_path: Path) -> None:
    found: dict[str, str] = {}
    for file in sorted((ROOT / "scenarios").glob("*.toml")):
        found |= installed(file)
    assert len(found) >= 3 * 8, "eight scenarios ship, with three results a run"
    assert found == built("dev", tmp_path)


@pytest.mark.long
@needs_cargo
def test_debug_and_release_give_the_same_bytes(tmp_path: Path) -> None:
    for profile in ("dev", "release"):
        (tmp_path / profile).mkdir()
    debug = built("dev", tmp_path / "dev")
    assert debug
    assert debug == built("release", tmp_path / "release")


def built(profile: str, folder: Path) -> dict[str, str]:
    """Return digests of the results of an example, built like `cargo test --workspace`.

    Without `--workspace` and the features of `bpf/features`, its dependencies would be built again.
    """
    features = subprocess.run([ROOT / "bpf/features"], capture_output=True, text=True, check=True)
    line = ["cargo", "build", "--workspace", *features.stdout.split(), "--example", "outcomes"]
    line += ["--message-format=json", "--profile", profile]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    (program,) = [message["executable"] for message in messages if message.get("executable")]
    done = subprocess.run([program, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.name: digest(path.read_bytes()) for path in folder.iterdir()}


def installed(file: Path) -> dict[str, str]:
    """Return digests of the installed module's results for a scenario."""
    core = sojourn.Scenario.load(file).compile()
    found = {}
    for number in range(len(core.controls())):
        outcome = core.simulation(number, core.seed()).finish()
        results = {
            "summary.json": outcome.summary_json().encode(),
            "flows.parquet": _core.series_parquet([outcome], "flows"),
            "links.parquet": _core.series_parquet([outcome], "links"),
        }
        for name, content in results.items():
            found[f"{file.stem}.{number}.{name}"] = digest(content)
    return found


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
