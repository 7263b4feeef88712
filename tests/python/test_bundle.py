"""The script of reports is bundled once, and a cache that fails costs no report."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from sojourn.report import bundle, render


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(render, "script", lambda snippet: f"bundled {snippet}\n")
    return tmp_path / "sojourn"


def test_the_second_is_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bundle.script("one")
    monkeypatch.setattr(render, "script", lambda _: pytest.fail("bundled again"))
    assert bundle.script("one") == first == "bundled one\n"
    assert len(list(cache.iterdir())) == 1


def test_another_version_replaces_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle.script("one")
    monkeypatch.setattr(bundle, "version", lambda _: "0.0")
    before = list(cache.iterdir())
    bundle.script("one")
    after = list(cache.iterdir())
    assert len(after) == 1
    assert after != before


@pytest.mark.parametrize("damage", [b"", b"\xff", b"bundled one\n", b"0\nbundled two\n"])
def test_a_damaged_one_is_replaced(damage: bytes, cache: Path) -> None:
    bundle.script("one")
    (kept,) = cache.iterdir()
    good = kept.read_bytes()
    kept.write_bytes(damage)
    assert bundle.script("one") == "bundled one\n"
    assert kept.read_bytes() == good


def test_an_unknown_version_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(bundle, "version", version)
    assert bundle.script("one") == "bundled one\n"
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_none(cache: Path) -> None:
    cache.write_text("a file where the folder belongs")
    assert bundle.script("one") == "bundled one\n"
