"""`install-packages` waits for other calls and for other programs that hold apt's locks."""

import os
import subprocess
from pathlib import Path

from support import ROOT

# It fails like apt-get if another one updates at the same time, or while a file `held` exists.
APT_GET = """#!/bin/sh
cd "$(dirname "$0")"
for word; do
    [ "$word" = update ] && update=yes
done
if [ "${update-}" = yes ]; then
    [ -e held ] && rm held && echo "E: Unable to lock directory /var/lib/apt/lists/" && exit 100
    mkdir locked 2>/dev/null || { echo "E: Could not get lock /var/lib/apt/lists/lock"; exit 100; }
    sleep 0.1
    rmdir locked
else
    echo "$@" >> installed
fi
"""


def test_calls_wait_for_each_other_and_for_other_programs(tmp_path: Path) -> None:
    apt_get = tmp_path / "apt-get"
    apt_get.write_text(APT_GET)
    apt_get.chmod(0o755)
    (tmp_path / "held").touch()
    # The folder of this system may have the lock of a real call.
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "APT_FOLDER": str(tmp_path)}
    packages = ["alpha", "beta", "gamma"]
    calls = [
        subprocess.Popen([ROOT / "install-packages", one], env=environment, stderr=subprocess.PIPE)
        for one in packages
    ]
    for call in calls:
        assert (call.communicate()[1], call.returncode) == (b"", 0)
    installed = (tmp_path / "installed").read_text().splitlines()
    assert sorted(line.split()[-1] for line in installed) == packages
    assert not (tmp_path / "held").exists(), "one call found the lock of another program"
