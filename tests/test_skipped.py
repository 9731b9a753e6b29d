"""The last line of a run of the tests says what was skipped and how to run it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
TESTS = """
import pytest

@pytest.mark.parametrize("k", range(3))
def test_gpu(k):
    pytest.skip("no CUDA device")

@pytest.mark.skipif(True, reason="needs a GPU or TRITON_INTERPRET=1")
def test_another_gpu():
    pass

@pytest.fixture
def browser():
    pytest.skip("no chromium: apt-get install chromium runs this test")

@pytest.mark.parametrize("k", range(2))
def test_page(browser, k):
    pass

def test_data():
    pytest.skip("the paper's data sets are not here: set PBGNET_DATA to their folder")

def test_package():
    pytest.importorskip("a_package_that_nobody_has")

def test_system():
    pytest.skip("there is no fork here")

def test_passes():
    pass
"""


def run(folder, *options):
    shutil.copy(CONFTEST, folder)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(folder)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they take seconds to import
    process = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout.splitlines()


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "two workers"])
def test_the_last_line_says_what_was_skipped_and_how_to_run_it(tmp_path, options):
    (tmp_path / "test_some.py").write_text(TESTS)
    assert run(tmp_path, *options)[-1] == (
        "Skipped: 4 tests that need a GPU (run them on a CUDA machine), "
        "2 that need Chromium (apt-get install chromium), "
        "1 that needs the paper's data (set PBGNET_DATA to its folder), "
        "1 that needs optional packages (pip install 'pbgnet[test]'), "
        "1 because there is no fork here."
    )


def test_nothing_is_said_where_nothing_is_skipped(tmp_path):
    (tmp_path / "test_some.py").write_text("def test_passes():\n    pass\n")
    assert "1 passed" in run(tmp_path)[-1]
