"""The shape of the source: who may import whom and through which door, and how large things may grow."""

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import pbgnet

PACKAGE = Path(pbgnet.__file__).parent
PROJECT = PACKAGE.parent.parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each room may import from the rooms before it, and everybody from the foundations.
ROOMS = [
    "pages",
    "preprocessing",
    "sources",
    "datasets",
    "bounds",
    "kernels",
    "aggregation",
    "networks",
    "certificates",
    "export",
    "training",
    "estimators",
    "planning",
    "monitoring",
    "experiments",
    "report",
    "declaration",
    "cli",
]
ROOMS_OF = {
    "certificates": [
        "data",
        "routes",
        "format",
        "network",
        "classifier",
        "tensors",
        "store",
        "prepared_files",
        "verification",
    ],
    "training": ["steps", "solvers", "algorithms"],
    "experiments": ["runs", "studies", "comparisons", "tables", "figures", "report", "certificates"],
}
"""Rooms within a room, and modules that stand beside them, in the order of their imports."""
FOUNDATIONS = {
    "autograd",
    "choices",
    "exceptions",
    "files",
    "memory",
    "records",
    "stages",
    "table_files",
    "validation",
    "workers",
}

LONGEST_MODULE = 400
LONGEST_FUNCTION = 60
MOST_MODULES = 16
DEEPEST_CHAIN = 9

# Upwards on purpose: methods that save, for which the report is loaded when they are called.
UPWARD_ROOMS = {("certificates.classifier.predictions", "report"), ("estimators.predictor", "report")}


def name_of(path: Path) -> str:
    parts = ("pbgnet", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {name_of(path): path for path in MODULES}


def is_room(module: str) -> bool:
    return PATHS[module].name == "__init__.py"


def room_of(module: str) -> str:
    """The folder a module lies in; a room is in itself."""
    return module if is_room(module) else module.rpartition(".")[0]


def top_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything that is run: not what is imported for annotations alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from nodes(node)


@functools.cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, wherever in it."""
    found = set()
    for node in nodes(ast.parse(PATHS[module].read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in PATHS else node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(name for name in found if name in PATHS and name not in (module, "pbgnet"))


def tops_of(module: str) -> set[str]:
    return {top_of(name) for name in imports_of(module)} - FOUNDATIONS


by_module = pytest.mark.parametrize("module", sorted(PATHS))


@by_module
def test_imports_point_one_way(module):
    room = top_of(module)
    if room in FOUNDATIONS:
        assert not tops_of(module)
    elif room in ROOMS:
        upward = {other for name, other in UPWARD_ROOMS if module == f"pbgnet.{name}"}
        assert tops_of(module) - upward <= set(ROOMS[: ROOMS.index(room) + 1])


@by_module
def test_imports_within_a_room_point_one_way(module):
    room, *rest = module.split(".")[1:] or [""]
    if room not in ROOMS_OF or not rest:
        return
    order = ROOMS_OF[room]
    for name in imports_of(module):
        other = name.split(".")[1:]
        if other[0] == room and len(other) > 1:
            assert order.index(other[1]) <= order.index(rest[0]), f"{module} imports {name}"


@by_module
def test_rooms_are_entered_by_their_door(module):
    """No module of another room is imported past its `__init__`, but for what the door itself shows."""
    ours = room_of(module)
    shown = {"pbgnet.bounds.differentiable"}  # a second door, with the same formulas inside autograd
    for name in imports_of(module) - shown:
        beside = ours == room_of(name) or ours.startswith(f"{room_of(name)}.")
        assert is_room(name) or beside or top_of(name) in FOUNDATIONS, f"{module} imports {name}"


@pytest.mark.parametrize("room", sorted(name for name in PATHS if is_room(name)))
def test_no_room_is_a_warren(room):
    inside = [name for name in PATHS if room_of(name) == room and not is_room(name)]
    registry = f"{room}.registry"
    listed = imports_of(registry) if registry in PATHS else set()  # one more method must always fit
    assert room == "pbgnet.cli" or len(set(inside) - listed) <= MOST_MODULES

    @functools.cache
    def depth(module: str) -> int:
        return 1 + max((depth(name) for name in imports_of(module) if name in inside), default=0)

    assert max(map(depth, inside), default=0) <= DEEPEST_CHAIN


@pytest.mark.parametrize("room", ROOMS)
def test_no_name_of_a_file_occurs_twice_in_a_room(room):
    stems = Counter(PATHS[name].stem for name in PATHS if top_of(name) == room and not is_room(name))
    assert [stem for stem, count in stems.items() if count > 1] == []


def exported(room: str) -> list[str]:
    for node in ast.parse(PATHS[room].read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


@pytest.mark.parametrize("room", sorted(n for n in PATHS if is_room(n) and n != "pbgnet"))
def test_rooms_export_what_others_use(room):
    """Other rooms, or users: whoever reads documents, examples, benchmarks, checks or tests."""
    folder = PATHS[room].parent
    outside = [path for path in MODULES if folder not in path.parents]
    words = set().union(words_for_users(), *map(words_of, outside))
    assert [name for name in exported(room) if name not in words] == []


@functools.cache
def words_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", path.read_text()))


@functools.cache
def words_for_users() -> frozenset[str]:
    places = ("tests", "benchmarks", "checks", "examples")
    paths = [path for place in places for path in (PROJECT / place).rglob("*.py")]
    paths += [PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")]
    return frozenset().union(*(words_of(path) for path in paths if path.exists()))


@by_module
def test_only_rooms_list_their_names(module):
    if not is_room(module):
        assert "__all__" not in PATHS[module].read_text()


def test_exported_files_are_a_room_at_the_edge():
    """Nothing that learns or proves depends on a file format, nor the format on what learns."""
    seen = {"aggregation", "certificates", "export", "kernels", "networks", "preprocessing"}
    for module in PATHS:
        if top_of(module) == "export":
            assert tops_of(module) <= seen, module
        elif "export" in tops_of(module):
            assert top_of(module) in ("estimators", "experiments", "cli"), module


def test_monitoring_stands_apart():
    """It needs certificates and pages, nothing that learns, and only commands need it."""
    for module in PATHS:
        if top_of(module) == "monitoring":
            seen = {"bounds", "certificates", "monitoring", "pages", "preprocessing"}
            assert tops_of(module) <= seen, module
        elif "monitoring" in tops_of(module):
            assert top_of(module) == "cli", module


def test_pages_know_nothing_of_what_they_show():
    for module in PATHS:
        if top_of(module) == "pages":
            assert tops_of(module) <= {"pages"}, module


@by_module
def test_nothing_grows_into_a_drawer(module):
    text = PATHS[module].read_text()
    assert text.count("\n") <= LONGEST_MODULE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = ast.get_docstring(node, clean=False) or ""
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring.count("\n")
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def test_every_room_is_known():
    doors = {"pbgnet", "pbgnet.__main__"}
    assert {top_of(module) for module in PATHS if module not in doors} <= {*ROOMS, *FOUNDATIONS}


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_importing_the_package_needs_no_test_tools():
    assert run("import sys, pbgnet.networks; print({'pytest', 'hypothesis'} & set(sys.modules))") == "set()"


def test_the_front_door_opens_at_once():
    """The names users need are in `pbgnet` itself, and nothing heavy is loaded before one is used."""
    code = (
        "import time; start = time.process_time(); import pbgnet, sys; "
        "print(time.process_time() - start, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    timings = [run(code).split() for _ in range(3)]
    assert min(float(seconds) for seconds, *_ in timings) < 0.1
    assert all(loaded == ["False", "False"] for _, *loaded in timings)
    for name in dir(pbgnet):
        assert getattr(pbgnet, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'PBGNet'"):
        pbgnet.PBGNet  # noqa: B018
