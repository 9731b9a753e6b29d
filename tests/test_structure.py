"""The shape of the source: who may import whom, and how long things may grow."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pbgnet

PACKAGE = Path(pbgnet.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each room may import from the rooms before it, and everybody from the foundations.
ROOMS = [
    "preprocessing",
    "datasets",
    "bounds",
    "kernels",
    "aggregation",
    "networks",
    "certificates",
    "export",
    "training",
    "estimators",
    "experiments",
    "report",
    "cli",
]
FOUNDATIONS = {"autograd", "exceptions", "files", "validation"}

LONGEST_MODULE = 400
LONGEST_FUNCTION = 60


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "pbgnet":
                names = [f"pbgnet.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("pbgnet.")}
    return rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    room, imported = room_of(path), imported_rooms(path)
    if room in FOUNDATIONS:
        assert imported <= FOUNDATIONS
    elif room in ROOMS:
        assert imported - FOUNDATIONS <= set(ROOMS[: ROOMS.index(room) + 1])


def test_exported_files_are_a_room_at_the_edge():
    """Nothing that learns or proves depends on a file format, nor the format on what learns."""
    seen = {"aggregation", "certificates", "export", "kernels", "networks", "preprocessing"}
    for path in MODULES:
        room, imported = room_of(path), imported_rooms(path)
        if room == "export":
            assert imported - FOUNDATIONS <= seen, path
        elif "export" in imported:
            assert room in ("estimators", "experiments", "cli"), path


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_grows_into_a_drawer(path):
    text = path.read_text()
    assert text.count("\n") <= LONGEST_MODULE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = ast.get_docstring(node, clean=False) or ""
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring.count("\n")
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def test_every_room_is_known():
    rooms = {room_of(path) for path in MODULES} - FOUNDATIONS - {"__init__"}
    assert rooms <= set(ROOMS)


def test_importing_the_package_needs_no_test_tools():
    code = "import sys, pbgnet.networks; sys.exit(bool({'pytest', 'hypothesis'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
