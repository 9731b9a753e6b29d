"""Settings shared by all tests."""

import importlib.util
import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

settings.register_profile("pbgnet", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("pbgnet")
torch.set_num_threads(1)


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but a machine without Numba is no failure."""
    if importlib.util.find_spec("numba") is None:
        config.addinivalue_line("filterwarnings", "ignore::pbgnet.exceptions.SlowKernelWarning")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the paper's data sets: PBGNET_DATA, or shared/data beside the checkout."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PBGNET_DATA", default))
    if not folder.is_dir():
        pytest.skip("the paper's data sets are not here: set PBGNET_DATA to their folder")
    return folder
