"""Scenarios built and changed in Python, without text."""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sojourn import _core, inputs
from sojourn.errors import OutputExistsError

Quantity = str | int | float
"""A value with its unit as in `tc` ("60Mbit", "20ms", "150kB"), or a plain number."""


class Scenario(MutableMapping[str, Any]):
    """The document that `sojourn run` takes, as nested dicts and lists.

    The keys are those of the TOML file, so that what holds for one holds for the other:

        scenario = sojourn.Scenario.load("scenarios/capacity-drop.toml")
        scenario["link"]["bottleneck"]["rate"]["steps"][0]["rate"] = "10Mbit"

    or from nothing:

        scenario = (
            sojourn.Scenario(title="A drop", duration="20s", controls=["cubic"])
            .link("bottleneck", rate="20Mbit", delay="25ms", queue={"kind": "codel"})
            .link("back", delay="25ms")
            .flow("upload", path=["bottleneck"], back=["back"], source="bulk")
        )

    Files that a scenario names (traces) are looked for in `base_dir`.
    """

    def __init__(
        self,
        document: Mapping[str, Any] | None = None,
        /,
        *,
        base_dir: str | PathLike[str] = ".",
        **keys: Any,
    ) -> None:
        self._document: dict[str, Any] = copy.deepcopy({**(document or {}), **keys})
        self._base_dir = str(base_dir)
        self._origin = "<scenario>"
        # Text as read, and what it said: while unchanged, errors point into the text.
        self._text: tuple[str, dict[str, Any]] | None = None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Scenario":
        """Reads a TOML file."""
        file = Path(path)
        return cls.parse(inputs.text(path), origin=str(path), base_dir=file.parent)

    @classmethod
    def parse(
        cls, text: str, *, origin: str = "<text>", base_dir: str | PathLike[str] = "."
    ) -> "Scenario":
        """Reads TOML text; errors name `origin`."""
        core = _core.Scenario.from_toml(origin, text, str(base_dir))
        scenario = cls(json.loads(core.to_json()), base_dir=base_dir)
        scenario._origin = origin
        scenario._text = (text, copy.deepcopy(scenario._document))
        return scenario

    def link(
        self,
        name: str,
        *,
        rate: Quantity | Mapping[str, Any] | None = None,
        delay: Quantity | Mapping[str, Any] | None = None,
        queue: str | Mapping[str, Any] | None = None,
        buffer: Quantity | Mapping[str, Any] | None = None,
        loss: float | Mapping[str, Any] | None = None,
        jitter: Quantity | Mapping[str, Any] | None = None,
        reorder: float | Mapping[str, Any] | None = None,
        duplicate: float | Mapping[str, Any] | None = None,
        overhead: Quantity | None = None,
    ) -> "Scenario":
        """Adds a link, or replaces the one of this name; returns the scenario."""
        given = {
            "rate": rate,
            "delay": delay,
            "queue": queue,
            "buffer": buffer,
            "loss": loss,
            "jitter": jitter,
            "reorder": reorder,
            "duplicate": duplicate,
            "overhead": overhead,
        }
        return self._put("link", name, given)

    def flow(
        self,
        name: str,
        *,
        path: Sequence[str],
        back: Sequence[str] | None = None,
        control: str | Mapping[str, Any] | None = None,
        source: str | Mapping[str, Any] | None = None,
        start: Quantity | None = None,
        stop: Quantity | None = None,
        count: int | None = None,
        stagger: Quantity | None = None,
        transport: str | Mapping[str, Any] | None = None,
    ) -> "Scenario":
        """Adds a flow, or replaces the one of this name; returns the scenario."""
        given = {
            "path": list(path),
            "back": None if back is None else list(back),
            "control": control,
            "source": source,
            "start": start,
            "stop": stop,
            "count": count,
            "stagger": stagger,
            "transport": transport,
        }
        return self._put("flow", name, given)

    def set(self, assignment: str) -> "Scenario":
        """Changes one value as `sojourn run --set` does; returns the scenario."""
        core = self.compile()
        core.set(assignment)
        self._document = json.loads(core.to_json())
        return self

    def check(self) -> "Scenario":
        """Raises `sojourn.ScenarioError` where something is wrong; returns the scenario."""
        self.compile().check()
        return self

    def copy(self) -> "Scenario":
        """A scenario of its own, equal to this one."""
        return copy.deepcopy(self)

    def to_toml(self) -> str:
        """The scenario as a TOML document."""
        return self.compile().to_toml()

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the scenario as TOML, and the files that it names beside it where it moves."""
        target = Path(path)
        files: Iterable[tuple[str, str]] = ()
        if target.parent.resolve() == Path(self._base_dir).resolve():
            toml = self.to_toml()
        else:
            toml, files = self.compile().portable()
        for name, text in files:
            _write_new(target.with_name(name), text)
        target.write_text(toml, "utf-8")
        return target

    def compile(self) -> _core.Scenario:
        """The scenario as the simulator takes it, not checked yet."""
        if self._text is not None and self._text[1] == self._document:
            return _core.Scenario.from_toml(self._origin, self._text[0], self._base_dir)
        return _core.Scenario.from_json(self._origin, json.dumps(self._document), self._base_dir)

    @property
    def origin(self) -> str:
        """The file that it was read from, or a name for text and dicts."""
        return self._origin

    def _put(self, table: str, name: str, given: Mapping[str, Any]) -> "Scenario":
        entry = {key: copy.deepcopy(value) for key, value in given.items() if value is not None}
        self._document.setdefault(table, {})[name] = entry
        return self

    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._document[key] = value

    def __delitem__(self, key: str) -> None:
        del self._document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    def __repr__(self) -> str:
        title = self._document.get("title", "untitled")
        return f"<sojourn.Scenario {title!r} from {self._origin}>"


def _write_new(file: Path, text: str) -> None:
    """Writes a file, unless something else is there."""
    if file.exists() and file.read_text("utf-8") != text:
        raise OutputExistsError(f"{file} holds something else already")
    file.write_text(text, "utf-8")
