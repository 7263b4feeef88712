"""Hosts: their listing, and the keys of their exceptions."""

import json
import re

import pytest
import sojourn as package
from sojourn.record import summary_table
from support import ROOT, Sojourn

ONE = """
duration = "1s"
[link.a]
rate = "10Mbit"
delay = "10ms"
[link.back]
delay = "10ms"
[flow.f]
control = "cubic"
path = ["a"]
back = ["back"]
"""


def test_hosts_are_listed_with_their_values_and_sources(sojourn: Sojourn) -> None:
    listed = sojourn("hosts").stdout
    for host in package.hosts():
        assert host["name"] in listed
        assert host["title"] in " ".join(listed.split())
    shown = sojourn("hosts", "linux-6.18").stdout
    for text in ("quick_acks", "16", "TCP_MAX_QUICKACKS", "cubic.arithmetic", "those of rfc"):
        assert text in shown
    (one,) = json.loads(sojourn("hosts", "quic", "--json").stdout)
    values = {each["name"]: each["value"] for each in one["settings"]}
    assert (values["mss"], values["ack_delay"]) == ("1420B", "25ms")
    refused = sojourn("hosts", "linux-6.81")
    assert refused.returncode != 0
    assert "did you mean `linux-6.1`" in refused.stderr


@pytest.mark.parametrize("host", [one["name"] for one in package.hosts()])
def test_a_table_names_the_host(host: str) -> None:
    """Readers of a result need one word for what sent the packets."""
    run = package.run(package.Scenario.parse(ONE), set={"host": host})
    (flow,) = run.runs[0]["flows"]
    assert flow["host"] == host
    assert f"host {host}" in summary_table.build(run.summary).caption


def test_every_key_of_a_host_is_set_somewhere() -> None:
    """A key that none of these sets belongs to the hosts' data."""
    places = [
        *(ROOT / "scenarios").rglob("*.toml"),
        *(ROOT / "papers").rglob("*.toml"),
        *(ROOT / "papers").rglob("*.py"),
        *(ROOT / "studies").rglob("*.toml"),
        *(ROOT / "studies").rglob("*.py"),
        *(ROOT / "docs" / "tutorials").rglob("*.md"),
        ROOT / "python" / "sojourn" / "live" / "real_time.py",
    ]
    text = "\n".join(place.read_text("utf-8") for place in places)
    keys = {one["name"] for host in package.hosts() for one in host["settings"] if one["is_key"]}
    assert len(keys) <= 18
    unused = [key for key in keys if not re.search(rf'\b{key}"?\s*[=:]', text)]
    assert unused == []
