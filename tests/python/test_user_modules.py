"""Modules beside a controller's file replace no others, and its errors do not end the command."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from sojourn.errors import UsageError, UserCodeError
from sojourn.user import loading
from support import Sojourn, command, environment

MINE = """\
import html
import sojourn
import helper
import package.deep as deep
from package import other
from helper import Kept

assert Kept(3).size == 3 and deep.VALUE == 7 and helper.mine.__name__ == __name__
assert html.escape("<") == "&lt;"


class Mine:
    def __init__(self, setup):
        self.calls = 0
        import late
        self.cwnd = late.PACKETS * setup.mss_bytes

    def on_feedback(self, now_ns, feedback):
        self.calls += 1

    def limits(self):
        return sojourn.Limits(self.cwnd)
"""

FIXED = """\
import sojourn


class Mine:
    def __init__(self, setup):
        pass

    def on_feedback(self, now_ns, feedback):
        pass

    def limits(self):
        return sojourn.Limits(15_000)
"""

# Modules that Sojourn, its libraries or Python import, or try to import.
_TAKEN = ("html", "polars", "json", "numpy", "typing", "rich", "pandas", "zlib", "traceback")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a controller and helpers, and with files that have names of known modules."""
    folder = tmp_path / "own"
    (folder / "package").mkdir(parents=True)
    files = {
        "mine.py": MINE,
        "helper.py": "import dataclasses, mine\n"
        "@dataclasses.dataclass\nclass Kept:\n    size: int\n",
        "late.py": "PACKETS = 10\n",
        "package/__init__.py": "",
        "package/deep.py": "import package.other as it\nfrom . import other\nVALUE = 7\n"
        "assert it is other\n",
        "package/other.py": "import late\n",
        **{f"{name}.py": "raise SystemExit(0)\n" for name in _TAKEN},
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_files_beside_a_controller_shadow_no_module(
    sojourn: Sojourn, small: Path, own: Path
) -> None:
    asked = ("--controller", f"{own / 'mine.py'}:Mine", "--control", "mine", "--out", "out")
    done = sojourn("run", small, *asked)
    assert done.returncode == 0, done.stderr
    assert "● mine" in done.stdout
    assert (small.parent / "out" / "report.html").is_file()
    assert "mine.py" in (small.parent / "out" / "summary.json").read_text()


def test_a_folder_without_init_is_a_namespace_package(
    sojourn: Sojourn, small: Path, tmp_path: Path
) -> None:
    holding_python = ("lib/helpers.py", "wide/package/__init__.py")
    # Neither replaces an installed module.
    others = ("json/dumps.py", "polars/frame.py")
    for name in (*holding_python, *others):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("PACKETS = 10\n")
    imports = """\
import json, polars
import lib.helpers
from lib import helpers
from wide.package import PACKETS
assert lib.helpers is helpers and json.dumps(PACKETS) == "10" and polars.DataFrame
"""
    (tmp_path / "mine.py").write_text(imports + FIXED)
    asked = ("--controller", "mine.py:Mine", "--control", "mine", "--json")
    done = sojourn("run", small, *asked)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "named"),
    [("polars.py", "file"), ("sojourn.py", "file"), ("pygments/__init__.py", "folder")],
)
def test_a_module_that_a_library_hides_is_refused(
    sojourn: Sojourn, small: Path, tmp_path: Path, name: str, named: str
) -> None:
    module = name.removesuffix(".py").partition("/")[0]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(f"import {module}\n{FIXED}")
    (tmp_path / "own" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "own" / name).write_text("PACKETS = 10\n")
    done = sojourn("run", small, "--controller", "own/mine.py:Mine", "--control", "mine")
    assert done.returncode == 2
    hidden = f"{name}: `import {module}` finds another module of this name; rename the {named}"
    assert hidden in done.stderr


def test_a_module_that_another_folder_hides_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper.py").write_text(f"VALUE = {name!r}\n")
        (tmp_path / name / "mine.py").write_text("from helper import VALUE\n")
        (tmp_path / name / "apart.py").write_text("from .helper import VALUE\n")
    loader = loading.Loader()
    assert loader.load(str(tmp_path / "one" / "mine.py"), "VALUE")[0] == "one"
    with pytest.raises(UsageError, match=r"two/helper\.py: `import helper` finds another"):
        loader.load(str(tmp_path / "two" / "mine.py"), "VALUE")
    # Relative imports find the file's own folder alone.
    for name in ("one", "two"):
        found, source = loader.load(str(tmp_path / name / "apart.py"), "VALUE")
        assert (found, source.modules) == (name, {"helper.py": f"VALUE = {name!r}\n"})


def test_an_edit_within_the_second_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached bytecode is that of the second and the size of a file."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "mine.py").write_text("import helper\nVALUE = helper.VALUE\n")
    for number in range(4):
        (tmp_path / "helper.py").write_text(f"VALUE = {number}\n")
        found, source = loading.Loader().load(str(tmp_path / "mine.py"), "VALUE")
        assert (found, source.modules) == (number, {"helper.py": f"VALUE = {number}\n"})
    assert not (tmp_path / "__pycache__").exists()


def test_modules_of_a_folder_are_forgotten(tmp_path: Path) -> None:
    loading.Loader()
    before = list(sys.path)
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "mine.py").write_text("import helper\nVALUE = 1\n")
    loading.Loader().load(str(tmp_path / "mine.py"), "VALUE")
    assert sys.path == [*before, str(tmp_path)]
    loading.Loader()
    assert sys.path == before
    assert importlib.util.find_spec("helper") is None


def test_libraries_in_an_environment_below_the_folder_stay(tmp_path: Path) -> None:
    library = tmp_path / ".venv" / "library_below.py"
    library.parent.mkdir()
    library.write_text("")
    (tmp_path / "mine.py").write_text("VALUE = 1\n")
    spec = importlib.util.spec_from_file_location("library_below", library)
    assert spec is not None
    kept = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    loading.Loader().load(str(tmp_path / "mine.py"), "VALUE")
    assert sys.modules.pop(spec.name) is kept


def test_controllers_of_one_file_share_its_module(
    sojourn: Sojourn, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "two.py").write_text("""\
import dataclasses, pickle
import sojourn

print("loaded")

@dataclasses.dataclass
class State:
    calls: int = 0

class A:
    def __init__(self, setup):
        self.state = State()
    def on_feedback(self, now_ns, feedback):
        self.state = pickle.loads(pickle.dumps(self.state))
    def limits(self):
        return sojourn.Limits(15_000)

class B(A):
    pass
""")
    asked = ("--controller", "two.py:A", "--controller", "./two.py:B", "--control", "a,b")
    done = sojourn("run", small, *asked, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("loaded") == 1


def test_a_module_that_failed_is_loaded_anew(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import other\n")
    (tmp_path / "other.py").write_text("VALUE = 1\nimport mine\nassert mine.VALUE == 2\n")
    loader = loading.Loader()
    for text in ("VALUE = 1\n1 / 0\n", "VALUE = 1\nfail(\n"):
        file.write_text(text)
        with pytest.raises(UserCodeError):
            loader.load(str(file), "VALUE")
    file.write_text("VALUE = 2\n")
    assert loader.load(str(tmp_path / "other.py"), "VALUE")[0] == 1


@pytest.mark.parametrize(
    "ending",
    [
        "raise SystemExit",
        "import sys; sys.exit(0)",
        "raise KeyboardInterrupt",
        "raise GeneratorExit",
        'raise type("Ending", (BaseException,), {})("over")',
    ],
)
@pytest.mark.parametrize(
    "where", ["the module", "__getattr__", "__init__", "on_feedback", "limits"]
)
def test_code_that_ends_the_program_is_a_fault(
    sojourn: Sojourn, small: Path, tmp_path: Path, ending: str, where: str
) -> None:
    text = f"""\
import sojourn

def end(where):
    if where == {where!r}:
        {ending}

end("the module")

def __getattr__(name):
    end("__getattr__")
    raise AttributeError(name)

class {"Nine" if where == "__getattr__" else "Mine"}:
    def __init__(self, setup):
        end("__init__")
    def on_feedback(self, now_ns, feedback):
        end("on_feedback")
    def limits(self):
        end("limits")
        return sojourn.Limits(15_000)
"""
    (tmp_path / "ends.py").write_text(text)
    done = sojourn("run", small, "--controller", "ends.py:Mine", "--control", "mine")
    assert done.returncode in (1, 2), done.stderr
    assert "internal error" not in done.stderr
    before = where in ("the module", "__getattr__")
    assert ("ends.py cannot be loaded" if before else f"failed in {where}") in done.stderr
    assert "nothing was written" in done.stderr or "no simulation ran" in done.stderr
    assert not (tmp_path / "runs").exists()


PRINTS = """\
import sojourn
print("at import")

class Mine:
    def __init__(self, setup):
        print("at start")
    def __getattr__(self, name):
        print("asked for")
        raise AttributeError(name)
    def on_feedback(self, now_ns, feedback):
        print("on feedback \\x1b[2J")
    def limits(self):
        return sojourn.Limits(15_000)
"""


@pytest.mark.parametrize(
    "args",
    [
        ("run", "small.toml", "--control", "mine", "--json"),
        ("run", "small.toml", "--control", "mine", "--json", "--out", "out"),
        (*("matrix", "--controls", "mine", "--queues", "droptail"), "--duration", "2s", "--json"),
        ("schema",),
        ("controllers", "--json"),
    ],
    ids=lambda args: " ".join(args[::5]),
)
def test_what_a_controller_prints_is_not_output(small: Path, args: tuple[str, ...]) -> None:
    (small.parent / "prints.py").write_text(PRINTS)
    # In a process, because Python's buffered text files lose data of several threads (gh-119506).
    line = command(*args, "--controller", "prints.py:Mine")
    place = small.parent
    done = subprocess.run(line, cwd=place, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert "at import" in done.stderr
    if args[0] in ("run", "matrix"):
        assert "at start" in done.stderr
        assert r"on feedback \x1b[2J" in done.stderr


def test_check_prints_its_own_findings_alone(sojourn: Sojourn, small: Path) -> None:
    (small.parent / "prints.py").write_text(PRINTS)
    done = sojourn("check", small, "--controller", "prints.py:Mine")
    assert done.stdout == f"{small}: ok (A small drop, 6 s, for each of cubic, dctcp)\n"
    assert "at import" in done.stderr


def test_bench_runs_nothing_of_the_current_folder(sojourn: Sojourn, tmp_path: Path) -> None:
    # Sojourn's own name, and modules that its worker and its start-up import.
    (tmp_path / "sojourn").mkdir()
    for name in ("sojourn/__init__", "resource", "json", "polars", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w'); raise SystemExit(0)\n")
    code = """\
import sys
sys.path.remove("")
from sojourn_bench import wall_clock
from sojourn.cli import main
wall_clock.startup(1)
sys.path.insert(0, "")
sys.exit(main(["bench", "--quick", "--case", "A", "--json"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cases"]["A"]["pps"] > 0
    assert not (tmp_path / "ran").exists()
