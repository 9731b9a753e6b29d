"""What pytest has to know before it looks for tests, and what it says below all else."""

import importlib.util
import re
from collections import Counter
from collections.abc import Iterable

import pytest

# Doctests are collected from the sources; these need Triton, which only machines with a GPU have.
collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["src/pbgnet/kernels/*_triton.py"]

# What skipped tests need: how their reasons read, what to call it, how to get it.
NEEDS = (
    ("CUDA|GPU|triton", "a GPU", "run them on a CUDA machine"),
    ("chromium", "Chromium", "apt-get install chromium"),
    ("PBGNET_DATA", "the paper's data", "set PBGNET_DATA to its folder"),
    (r"could not import|pbgnet\[|not installed", "optional packages", "pip install 'pbgnet[test]'"),
)


def skipped_sentence(reasons: Iterable[str]) -> str:
    """Say how many tests were skipped for want of what, and how to run them; the most first."""
    counts = Counter(
        next((entry for entry in NEEDS if re.search(entry[0], reason, re.IGNORECASE)), reason)
        for reason in reasons
    )
    parts = []
    for want, count in sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))):
        tests = f"{count} test{'s' * (count > 1)}" if not parts else str(count)
        if isinstance(want, str):
            parts.append(f"{tests} because {want}")
        else:
            parts.append(f"{tests} that need{'s' * (count == 1)} {want[1]} ({want[2]})")
    return f"Skipped: {', '.join(parts)}."


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close with what was skipped: later than pytest's own summary, of which it would be a middle line."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []  # workers of pytest-xdist report nothing
    if skipped:
        reasons = (report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
        reporter.write_line(skipped_sentence(reasons))
