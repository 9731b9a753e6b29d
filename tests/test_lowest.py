"""The lowest versions that are stated are those that are tested."""

import os
import runpy
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pbgnet.export.dependency import OLDEST_RUNTIME

PROJECT = Path(__file__).parent.parent
LOWEST = runpy.run_path(str(PROJECT / "tests" / "lowest.py"))


def numbers(text):
    return tuple(int(part) for part in text.split("+")[0].split(".") if part.isdigit())


def test_every_library_has_a_lowest_version():
    stated, tested = LOWEST["stated_bounds"](), LOWEST["lowest_versions"]()
    assert {"torch", "numpy", "typer", "onnxruntime", "ray", "pytest"} <= set(stated)
    different = {name for name in stated if tested[name] != stated[name]}
    assert different == {"torch"}
    assert numbers(tested["torch"]) >= numbers(stated["torch"])


def test_what_the_program_says_of_the_runtime_is_what_is_stated():
    assert numbers(LOWEST["stated_bounds"]()["onnxruntime"]) == OLDEST_RUNTIME


def test_the_command_line_is_not_offered_with_versions_that_let_it_lie():
    # typer before 0.18 with click 8.3 takes missing arguments for None; 0.12.4 made every command a no-op.
    assert numbers(LOWEST["stated_bounds"]()["typer"]) >= (0, 18)


def test_nothing_older_is_installed_and_nothing_newer_where_the_lowest_are_tested():
    exactly = "PBGNET_LOWEST" in os.environ  # set by `make test-lowest`
    for name, lowest in LOWEST["lowest_versions"]().items():
        try:
            found = numbers(version(name))
        except PackageNotFoundError:  # extras need not be there
            assert not exactly, name
            continue
        assert found >= numbers(lowest), name
        if exactly:
            assert found[: len(numbers(lowest))] == numbers(lowest), name
