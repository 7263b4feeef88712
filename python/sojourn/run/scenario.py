"""Scenarios as Python objects: built, changed and saved without editing text."""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from sojourn import _core, inputs
from sojourn.arguments import checked, require_plain, require_text
from sojourn.errors import OutputExistsError
from sojourn.run import shipped
from sojourn.run.builders import Builders

_Own = TypeVar("_Own", bound="Scenario")


class Scenario(Builders, MutableMapping[str, Any]):
    """The document that `sojourn run` takes, as nested dicts and lists.

    The keys are those of the TOML file:

        scenario = sojourn.Scenario.load("scenarios/capacity-drop.toml")
        scenario["link"]["bottleneck"]["rate"]["steps"][0]["rate"] = "10Mbit"

    A scenario can also be built from scratch:

        scenario = (
            sojourn.Scenario(title="A drop", duration="20s", controls=["cubic"])
            .link("bottleneck", rate="20Mbit", delay="25ms", queue={"kind": "codel"})
            .link("back", delay="25ms")
            .flow("upload", path=["bottleneck"], back=["back"], source="bulk")
        )

    Relative paths of files that a scenario names (traces) start at `base_dir`.
    """

    @checked
    def __init__(
        self,
        document: Mapping[str, Any] | None = None,
        /,
        *,
        base_dir: str | PathLike[str] = ".",
        **keys: Any,
    ) -> None:
        given = {**(document or {}), **keys}
        try:
            self._document: dict[str, Any] = copy.deepcopy(given)
        except RecursionError:
            require_plain(given, "<scenario>")
            raise
        self._base_dir = str(base_dir)
        self._origin = "<scenario>"
        # The source text and its parsed document; while unchanged, errors point into the text.
        self._text: tuple[str, dict[str, Any]] | None = None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Scenario":
        """Read a TOML file, or the scenario of the package with this name (`sojourn scenarios`)."""
        file = shipped.located(path)
        return cls.parse(inputs.text(file), origin=str(path), base_dir=Path(file).parent)

    @classmethod
    @checked
    def parse(
        cls, text: str, *, origin: str = "<text>", base_dir: str | PathLike[str] = "."
    ) -> "Scenario":
        """Read TOML text; errors name `origin`."""
        core = _core.Scenario.from_toml(origin, require_text(text, origin), str(base_dir))
        scenario = cls(json.loads(core.to_json()), base_dir=base_dir)
        scenario._origin = origin
        scenario._text = (text, copy.deepcopy(scenario._document))
        return scenario

    @checked
    def set(self, assignment: str) -> "Scenario":
        """Change one value as `sojourn run --set` does; return the scenario."""
        core = self.compile()
        core.set(require_text(assignment, "the assignment"))
        self._document = json.loads(core.to_json())
        return self

    def check(self) -> "Scenario":
        """Raise `sojourn.ScenarioError` if the scenario has an error; return the scenario."""
        self.compile().check()
        return self

    def copy(self) -> "Scenario":
        """Return an independent copy."""
        return copy.deepcopy(self)

    def to_toml(self) -> str:
        """Return the scenario as a TOML document."""
        return self.compile().to_toml()

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the scenario as TOML; if the folder changes, also write the files that it names."""
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
        """Convert the scenario to the simulator's form, without checking it."""
        if self._text is not None and self._text[1] == self._document:
            return _core.Scenario.from_toml(self._origin, self._text[0], self._base_dir)
        try:
            text = json.dumps(self._document, allow_nan=False)
            return _core.Scenario.from_json(self._origin, text, self._base_dir)
        except _core.ScenarioError:
            raise
        except (TypeError, ValueError, RecursionError):
            require_plain(self._document, self._origin)
            raise

    @property
    def origin(self) -> str:
        """The file that the scenario was read from, or a placeholder for text and dicts."""
        return self._origin

    def _put(self: _Own, table: str, arguments: Mapping[str, Any]) -> _Own:
        """Add a table whose keys are the arguments of a builder, without those left out."""
        # `from` is a word of Python, so its argument ends with an underscore.
        given = {key.rstrip("_"): value for key, value in arguments.items() if value is not None}
        del given["self"], given["name"]
        given = {key: _listed(value) for key, value in given.items()}
        self._document.setdefault(table, {})[arguments["name"]] = copy.deepcopy(given)
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

    def _repr_html_(self) -> str:
        from sojourn.record import notebook

        return notebook.of_scenario(self, self.to_toml)


def _listed(value: Any) -> Any:
    """Return a sequence, such as a tuple, as a list; other values as they are."""
    is_sequence = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    return list(value) if is_sequence else value


def _write_new(file: Path, text: str) -> None:
    """Write a file; refuse to overwrite different content."""
    if file.exists() and inputs.whole_text(file) != text:
        raise OutputExistsError(f"{file} holds something else already")
    file.write_text(text, "utf-8")
