"""Debug and release builds give identical results."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import sojourn
from sojourn import _core
from support import ROOT


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs what Sojourn is built with")
def test_debug_and_release_give_the_same_bytes(tmp_path: Path) -> None:
    done = subprocess.run([built(), tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    debug = {path.name: digest(path.read_bytes()) for path in tmp_path.iterdir()}
    release: dict[str, str] = {}
    for file in sorted((ROOT / "scenarios").glob("*.toml")):
        release |= installed(file)
    assert len(release) >= 3 * 8, "eight scenarios ship, with three results a run"
    assert debug == release


def built() -> Path:
    """Build the example like `cargo test --workspace`.

    Without `--workspace`, its dependencies would have other features and be built again.
    """
    command = ["cargo", "build", "--workspace", "--example", "outcomes", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    (program,) = [message["executable"] for message in messages if message.get("executable")]
    return Path(program)


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
