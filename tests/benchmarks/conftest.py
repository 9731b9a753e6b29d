"""The benchmarks are no part of the package: they are found beside it, as their results are."""

import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))


@pytest.fixture(scope="session")
def said() -> str:
    """What the results say, in one line: sentences do not depend on where lines break."""
    return " ".join((PROJECT / "results" / "README.md").read_text(encoding="utf-8").split())
