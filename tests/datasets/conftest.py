"""No test of this folder sees the user's own data folder or cache, or the network."""

from pathlib import Path
from urllib.error import URLError

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache, no PBGNET_DATA, and an OpenML out of reach."""

    def unreachable(**options):
        raise URLError("no route to host")

    monkeypatch.setenv("PBGNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PBGNET_DATA", raising=False)
    monkeypatch.setattr("pbgnet.datasets.openml.fetch_openml", unreachable)
    return tmp_path / "cache"
