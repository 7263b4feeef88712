"""Sojourn's controllers in the Linux kernel (docs/guide/kernel.md)."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, cast

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.extras import require_live
from sojourn.run.experiment import toml_value


class Registered(TypedDict):
    """A controller that is registered in the kernel."""

    name: str
    """Its name in scenarios."""
    kernel_name: str
    """Its name for sysctl and setsockopt."""
    sockets: int
    """Sockets that use it."""
    pinned: bool
    """Whether it stays registered without a process."""
    params: dict[str, str]


_FLOW = "flow.kernel"
# The file system of BPF, where programs stay without a process.
_PINS = Path("/sys/fs/bpf")
# The parameters of a controller are checked by the schema of scenarios. The link is a placeholder.
_DOCUMENT = {
    "duration": "1s",
    "host": "rfc",
    "link": {"path": {"delay": "1ms"}},
    "flow": {"kernel": {"path": ["path"], "back": ["path"], "control": {"kind": "cubic"}}},
}


def names() -> list[str]:
    """Return the names of the controllers that can be loaded."""
    require_live("a kernel's controller")
    return _core.kernel_names()


# Another system than Linux lacks this class, so the annotation is text.
def load(name: str, assignments: Sequence[str]) -> "_core.KernelController":
    """Register a controller for as long as the returned object exists."""
    known = names()
    if name not in known:
        raise UsageError(
            f"there is no controller `{name}` for the kernel; there are: {', '.join(known)}"
        )
    core = _core.Scenario.from_json("the controller", json.dumps(_DOCUMENT), ".")
    core.set(f"{_FLOW}.control.kind={toml_value(name)}")
    try:
        for assignment in assignments:
            core.set(f"{_FLOW}.control.{assignment}")
        core.check()
    except _core.ScenarioError as error:
        raise UsageError("; ".join(_fault(name, item) for item in error.items)) from None
    return core.kernel_load()


def pin(controller: "_core.KernelController", name: str) -> None:
    """Keep a controller registered without this process. Raise `UsageError` if its pin exists."""
    place = _PINS / f"sojourn_{name}"
    if os.path.lexists(place):
        raise UsageError(
            f"{place} exists, and is the pin of no loaded controller; remove it, and load again"
        )
    controller.pin()


def _fault(name: str, item: "_core.ErrorItem") -> str:
    """Describe a fault of a parameter, without the scenario that checks it."""
    message = item["message"].replace(f"`{_FLOW}.control.", "`").replace(f"`{_FLOW}.control`", name)
    text = f"--set: {message}; {item['help']}" if item["help"] else f"--set: {message}"
    return f"{text} (sojourn controllers {name} lists the parameters with their units)"


def registered() -> list[Registered]:
    """Return the registered controllers."""
    require_live("a kernel's controller")
    return cast(list[Registered], json.loads(_core.kernel_registered()))


def unload(name: str, force: bool) -> None:
    """Unregister a controller, also if another process has loaded it."""
    require_live("a kernel's controller")
    _core.kernel_unload(name, force)
