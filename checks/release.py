"""``python -m checks.release``: build what would be published, and use it in an environment of its own.

The source distribution is built from this tree, and the wheel from the source distribution. Both are checked:
what they contain, and how a package index would read them. The wheel is then installed into a new
environment, where the demo has to run. Nothing is uploaded.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path, PurePosixPath

import pbgnet

PROJECT = Path(__file__).resolve().parent.parent
NEEDED_IN_WHEEL = (
    "pbgnet/py.typed",
    "pbgnet/certificates/format/certificate-1.schema.json",
    "pbgnet/pages/style.css",
    "pbgnet/report/page.html",
    "pbgnet/experiments/studies/paper.toml",
)


def wheel_problems(wheel: Path) -> list[str]:
    """Compare a wheel with the package in this tree, and return what is wrong with it."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = PROJECT / "src"
    expected = {
        path.relative_to(package).as_posix()
        for path in (package / "pbgnet").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in names if ".dist-info/" not in name}
    problems = [f"lacks {name}" for name in sorted((expected | set(NEEDED_IN_WHEEL)) - inside)]
    return problems + [f"should not hold {name}" for name in sorted(inside - expected)]


def sdist_problems(sdist: Path) -> list[str]:
    """Compare a source distribution with what is tracked here, and return what is wrong with it."""
    with tarfile.open(sdist) as archive:
        names = {PurePosixPath(*PurePosixPath(name).parts[1:]).as_posix() for name in archive.getnames()}
    wanted = {name for name in tracked_files() if not name.endswith(".sqlite")}
    problems = [f"lacks {name}" for name in sorted(wanted - names)]
    return problems + [f"should not hold {name}" for name in sorted(names - wanted - {"PKG-INFO"})]


def tag_problems(tag: str) -> list[str]:
    """Return why a tag does not name what would be released from this tree."""
    problems = []
    if tag != f"v{pbgnet.__version__}":
        problems.append(f"The tag is {tag}, and the version is {pbgnet.__version__}.")
    changes = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"\n## [{tag.removeprefix('v')}] - 2" not in changes:
        problems.append(f"CHANGELOG.md has no section with the day of {tag}.")
    return problems


def tracked_files() -> list[str]:
    """Return the files of this tree that belong to the project: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (PROJECT / name).exists()]


def build(folder: Path) -> tuple[Path, Path]:
    """Build into a folder, with the build tools in an environment of their own; return sdist and wheel."""
    _run(sys.executable, "-m", "build", "--outdir", folder, PROJECT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def use(wheel: Path) -> dict[str, float]:
    """Install a wheel into a new environment and run the demo there; return the seconds of each step."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="pbgnet-release-") as name:
        folder = Path(name)
        python, pbgnet = folder / "env" / "bin" / "python", folder / "env" / "bin" / "pbgnet"
        _run(sys.executable, "-m", "venv", folder / "env")
        install = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        for step, command in {
            "install": (*install, "--constraint", PROJECT / "constraints.txt", f"{wheel}[cli]"),
            "version": (pbgnet, "--version"),
            "demo": (pbgnet, "demo", "--out", "demo"),  # trains, certifies, verifies, writes a report
        }.items():
            start = time.perf_counter()
            _run(*command, cwd=folder)
            seconds[step] = time.perf_counter() - start
        if "<svg" not in (folder / "demo" / "model" / "report.html").read_text(encoding="utf-8"):
            raise SystemExit("The installed package wrote a report without charts.")
    return seconds


def _run(*command: object, cwd: Path = PROJECT) -> None:
    """Run a command without this tree in its path, and stop with it where it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    print("$", *(getattr(part, "name", part) for part in command), flush=True)
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def main() -> None:
    """Check a release from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=PROJECT / "dist", help="where the distributions are put")
    parser.add_argument("--tag", help="what is released, such as v0.1.0: compared with the version")
    given = parser.parse_args()
    if given.tag is not None and (problems := tag_problems(given.tag)):
        raise SystemExit("\n".join(problems))
    folder = given.out.resolve()
    for old in [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]:
        old.unlink()
    sdist, wheel = build(folder)
    problems = [f"{sdist.name} {problem}" for problem in sdist_problems(sdist)]
    problems += [f"{wheel.name} {problem}" for problem in wheel_problems(wheel)]
    if problems:
        raise SystemExit("\n".join(problems))
    _run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    for step, taken in use(wheel).items():
        print(f"{step:8} {taken:6.1f} s")
    print(f"{wheel.name} and {sdist.name} are ready in {folder.name}.")


if __name__ == "__main__":
    main()
