"""The release files agree: one version, allowed licences, known sources, listed packages."""

import json
import re
import runpy
import shutil
import subprocess
from typing import Any

import audit
import licences
import pytest
import sbom
import sojourn
from support import ROOT

tomllib = pytest.importorskip("tomllib")
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")


def toml(name: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / name).read_text("utf-8"))
    return found


def test_the_version_is_one() -> None:
    workspace = toml("Cargo.toml")["workspace"]
    version = workspace["package"]["version"]
    assert sojourn.__version__ == version
    named = {
        name: one["version"]
        for name, one in workspace["dependencies"].items()
        if name.startswith("sojourn-") and "version" in one
    }
    assert len(named) >= 6, "the public crates"
    assert set(named.values()) == {version}
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited is not None
    assert cited[1] == version


def packages() -> list[dict[str, Any]]:
    line = ["cargo", "metadata", "--format-version=1", "--locked", "--all-features"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return [one for one in found if one["source"] is not None]


def is_allowed(licence: str, allowed: set[str]) -> bool:
    """Whether one choice of an SPDX expression without nested choices is allowed."""
    plain = licence.replace("/", " OR ").replace("(", "").replace(")", "")
    return any(
        all(one.strip() in allowed for one in re.split(r"\s+AND\s+", choice))
        for choice in re.split(r"\s+OR\s+", plain)
    )


@needs_cargo
def test_crates_have_allowed_licences_and_sources() -> None:
    rules = toml("deny.toml")
    allowed = set(rules["licenses"]["allow"])
    excepted = {one["crate"]: set(one["allow"]) for one in rules["licenses"]["exceptions"]}
    banned = {one["crate"] for one in rules["bans"]["deny"]}
    found = packages()
    assert len(found) > 100
    for one in found:
        assert one["source"].startswith("registry+https://github.com/rust-lang/crates.io-index")
        assert one["name"] not in banned
        own = allowed | excepted.get(one["name"], set())
        assert is_allowed(one["license"] or "", own), f"{one['name']}: {one['license']}"
    assert not is_allowed("GPL-3.0-only", allowed)
    assert not is_allowed("MIT AND GPL-3.0-only", allowed)


@needs_cargo
def test_the_wheel_lists_its_parts_and_those_with_further_terms() -> None:
    crates = licences.crates()
    names = {one.name for one in crates}
    assert {"parquet", "rustls", "libbpf-sys", "pyo3"} <= names
    assert not {"proptest", "cc", "serde_derive"} & names, "tests, builds and macros do not ship"
    parts = [*crates, *licences.vendored(crates)]
    listed = licences.listed(parts)
    for part in parts:
        assert f"- {part.name} {part.version} " in listed
        assert part.texts or part.licence, f"{part.name} states no licence"
    # A part whose licence asks for more than its text has to be known: its source is in a crate.
    further = [one.name for one in parts if not licences.is_permissive(one.licence)]
    assert further == ["libelf of elfutils"]


@needs_cargo
def test_the_bill_of_materials_has_the_versions_that_ship() -> None:
    found = json.loads(sbom.FILE.read_text("utf-8"))["components"]
    listed: dict[str, dict[str, str]] = {"generic": {}, "npm": {}}
    for one in found:
        kind = one["purl"].removeprefix("pkg:").partition("/")[0]
        listed[kind][one["name"]] = one["version"]
    assert listed["generic"] == {one.name.split()[0]: one.version for one in sbom.libraries()}
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text("utf-8"))["packages"]
    assert "@codemirror/state" in listed["npm"]
    for name, version in listed["npm"].items():
        assert lock[f"node_modules/{name}"]["version"] == version


def test_an_audit_names_the_checks_that_could_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise audit.FaultError("one 1.0: an advisory")

    def refuse() -> None:
        raise audit.NotRunError("the list is out of reach")

    found = audit.outcomes([("a", lambda: None), ("b", fail), ("c", refuse)])
    assert found == ["passed", "FAILED", "not run"]
    said = capsys.readouterr().out
    assert "FAILED   b\n    one 1.0: an advisory\n" in said
    assert "not run  c\n    the list is out of reach\n" in said


def test_every_dependency_has_a_reason() -> None:
    study = runpy.run_path(str(ROOT / "studies" / "install" / "study.py"))
    project = toml("pyproject.toml")["project"]
    extras = {name: one for name, one in project["optional-dependencies"].items() if name != "test"}
    assert set(extras) == {one for one in study["EXTRAS"] if one}
    wanted = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    for requirement in wanted:
        name = re.split(r"[<>=\[ ]", requirement)[0]
        assert name in study["REASONS"], f"state a reason for {name}"


def test_public_crates_have_all_that_a_registry_shows() -> None:
    for crate in ("units", "cc", "queue", "transport", "theory", "quic"):
        package = toml(f"crates/{crate}/Cargo.toml")["package"]
        assert package.get("publish", True) is True
        for key in ("description", "documentation", "keywords", "categories", "readme"):
            assert package[key], f"{crate}: {key}"
        assert len(package["keywords"]) <= 5
        for name in ("README.md", "LICENSE-APACHE", "LICENSE-MIT"):
            assert (ROOT / "crates" / crate / name).is_file()
