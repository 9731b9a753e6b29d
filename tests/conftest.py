"""Settings shared by all tests."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

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


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Give PyTorch two threads during a test."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def start_workers(tmp_path: Path):
    """Start a Python program in several processes that meet as workers; return them without waiting."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, size: int, *arguments: object) -> list[subprocess.Popen[str]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        path = tmp_path / "program.py"
        path.write_text(program, encoding="utf-8")
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(size)}
        own = [{"RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"} for rank in range(size)]
        processes = [
            subprocess.Popen(
                [sys.executable, str(path), *map(str, arguments)],
                env={**os.environ, **meeting, **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for environment in own
        ]
        started.extend(processes)
        return processes

    yield start
    for process in started:
        process.kill()
        process.communicate()


class Browser:
    """A real browser without a window, with a profile of its own in a folder."""

    FLAGS = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--enable-logging=stderr",
    )

    # What the browser itself asks for, whatever page it shows.
    OWN_HOSTS = (".google.com", ".googleapis.com", ".gvt1.com")

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder

    def open(self, page: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Open a page and return the finished process."""
        (self.folder / "page.html").write_text(page, encoding="utf-8")
        places = [f"--user-data-dir={self.folder / 'profile'}", f"--log-net-log={self.folder / 'net.json'}"]
        command = [self.program, *self.FLAGS, *places, *options, (self.folder / "page.html").as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)

    def console_lines(self, process: subprocess.CompletedProcess[str]) -> list[str]:
        """What the page wrote to its console, errors included."""
        return [line for line in process.stderr.splitlines() if ":CONSOLE" in line]

    def foreign_urls(self) -> set[str]:
        """Addresses asked for last that are neither the page nor the browser's own business."""
        log = (self.folder / "net.json").read_text()
        urls = set(re.findall(r'"url":"((?:https?|wss?|ftp)[^"]*)"', log))
        return {url for url in urls if not (urlsplit(url).hostname or "").endswith(self.OWN_HOSTS)}


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    """Chromium, for tests that look at pages."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no chromium: apt-get install chromium runs this test")
    folder = tmp_path / "browser"
    folder.mkdir()
    return Browser(program, folder)
