"""What would be published holds what it should: the package in the wheel, the whole tree in the sdist."""

import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
from checks.release import PROJECT, sdist_problems, tag_problems, wheel_problems

import pbgnet

pytest.importorskip("hatchling", reason="hatchling is not installed")


def build(kind, folder):
    """Build with the tools that are installed: no network, no environment."""
    code = f"import sys; from hatchling.build import build_{kind} as build; print(build(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return folder / done.stdout.split()[-1]


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    wheel = build("wheel", tmp_path)
    assert wheel.name == f"pbgnet-{pbgnet.__version__}-py3-none-any.whl"
    assert wheel_problems(wheel) == []
    metadata = zipfile.ZipFile(wheel).read(f"pbgnet-{pbgnet.__version__}.dist-info/METADATA").decode()
    assert "\nLicense-Expression: BSD-3-Clause\n" in metadata
    assert "\nDescription-Content-Type: text/markdown\n" in metadata
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tests/test_stray.py", "")
    assert wheel_problems(wheel) == ["should not hold tests/test_stray.py"]


def test_an_unpacked_sdist_can_run_its_own_tests(tmp_path):
    if not (PROJECT / ".git").exists() or not shutil.which("git"):
        pytest.skip("the sdist is compared with what git tracks")
    sdist = build("sdist", tmp_path)
    assert sdist.name == f"pbgnet-{pbgnet.__version__}.tar.gz"
    assert sdist_problems(sdist) == []


def test_the_version_is_stated_once():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/pbgnet/__init__.py"


def test_a_tag_must_name_the_version_and_a_section_of_the_changelog():
    told = f"The tag is v9.9.9, and the version is {pbgnet.__version__}."
    assert tag_problems("v9.9.9") == [told, "CHANGELOG.md has no section with the day of v9.9.9."]
    assert told not in tag_problems(f"v{pbgnet.__version__}")
