"""The lowest versions of libraries that `pyproject.toml` allows, as constraints for pip: `make test-lowest`.

They are read off the bounds, so that what is stated and what is tested cannot drift apart.
"""

import itertools
import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent
BOUND = re.compile(r"([A-Za-z0-9_.-]+)(\[[a-z,]*\])?(?:>=([0-9.]+))?")
OWN_EXTRAS = {"docs", "lint", "release"}  # tools of developers, which users never run
# The builds of older versions bring gigabytes for GPUs along: torch is tested as `constraints.txt` has it.
TESTED_AS_PINNED = {"torch"}


def stated_bounds() -> dict[str, str]:
    """Return the lowest version of each library that the package or an extra of it states."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = itertools.chain(project["dependencies"], *(extras[name] for name in set(extras) - OWN_EXTRAS))
    bounds = {}
    for line in lines:
        found = BOUND.fullmatch(line)
        if found is None:
            raise ValueError(f"pyproject.toml: {line!r} is not of the form name>=version.")
        name, own, version = found.groups()
        if own is None:
            if version is None:
                raise ValueError(f"pyproject.toml states no lowest version of {name}.")
            bounds[name] = version
    return dict(sorted(bounds.items()))


def pinned_versions() -> dict[str, str]:
    """Return what `constraints.txt` pins."""
    lines = (PROJECT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def lowest_versions() -> dict[str, str]:
    """Return the versions to test with: the stated bounds, but for what only a pinned build is at hand."""
    pinned = pinned_versions()
    return {
        name: pinned[name] if name in TESTED_AS_PINNED else version
        for name, version in stated_bounds().items()
    }


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in lowest_versions().items()))
