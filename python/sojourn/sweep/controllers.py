"""The user's own controllers at the workers of an engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn.errors import UsageError
from sojourn.user.controllers import UserControllers
from sojourn.user.loading import Loader


def packed(controllers: UserControllers) -> list[dict[str, Any]]:
    """Describe controllers that were loaded from files, as JSON."""
    return [
        {
            "name": name,
            "class": source.qualname,
            "path": source.path,
            "text": source.text,
            "modules": dict(source.modules),
            "identity": source.identity,
        }
        for name, source in controllers.sources.items()
    ]


def here(given: Sequence[dict[str, Any]]) -> UserControllers:
    """Load controllers on the machine that has their files.

    Raise `UsageError` if the modules that they import have changed since the command began, whose
    runs would then be those of another controller.
    """
    loaded = _loaded(given, [one["path"] for one in given])
    for one in given:
        if loaded.sources[one["name"]].identity != one["identity"]:
            raise UsageError(
                f"{one['path']}: a module that it imports has changed since the command began; "
                "repeat the command, which then repeats the runs of this controller"
            )
    return loaded


def elsewhere(given: Sequence[dict[str, Any]], folder: Path) -> UserControllers:
    """Write the files of controllers to a new folder, and load them from there."""
    parents = list(dict.fromkeys(Path(one["path"]).resolve().parent for one in given))
    paths = []
    for one in given:
        # Controllers of one folder share the modules in it.
        place = folder / f"controllers-{parents.index(Path(one['path']).resolve().parent)}"
        file = place / Path(one["path"]).with_suffix(".py").name
        for name, text in {**one["modules"], file.name: one["text"]}.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, "utf-8")
        paths.append(str(file))
    return _loaded(given, paths)


def _loaded(given: Sequence[dict[str, Any]], paths: Sequence[str]) -> UserControllers:
    loader = Loader()
    found = {
        one["name"]: loader.load(path, one["class"], one["text"])
        for one, path in zip(given, paths, strict=True)
    }
    factories = {name: factory for name, (factory, _) in found.items()}
    return UserControllers(factories, [source for _, source in found.values()])
