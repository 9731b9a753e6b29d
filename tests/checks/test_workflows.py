"""Files for hosting services call what exists, and publish without a stored password."""

import os
import re
import tomllib

import pytest
from checks.release import PROJECT

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")

WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((PROJECT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
GITLAB = PROJECT / ".gitlab-ci.yml"
ACTION = re.compile(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)|\./\.github/workflows/\w+\.yml")
KEYWORDS = {"stages", "default", "variables", "workflow"}


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def job(name):
    """A job of the release, on GitHub."""
    return read(PROJECT / ".github" / "workflows" / "release.yml")["jobs"][name]


def gitlab_jobs():
    return {name: part for name, part in read(GITLAB).items() if name not in KEYWORDS}


def commands(path):
    """Every command line that a file runs."""
    if path == GITLAB:
        return [line for part in gitlab_jobs().values() for line in part["script"]]
    steps = [step for part in read(path)["jobs"].values() for step in part.get("steps", ())]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def supported_pythons():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return [line.rsplit(" ", 1)[1] for line in project["classifiers"] if "Python :: 3." in line]


@pytest.mark.parametrize("path", [*WORKFLOWS, GITLAB], ids=lambda path: path.name)
def test_commands_exist(path):
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    for command in commands(path):
        first, *rest = command.split()
        if first == "make":
            assert rest[0] in targets, command
        elif first.startswith("."):
            assert os.access(PROJECT / first, os.X_OK), command
        else:
            assert first in {"pip", "twine"}, command
    assert commands(path)


def test_everything_is_called_on_both_services():
    called = {"GitHub": [line for path in WORKFLOWS for line in commands(path)], "GitLab": commands(GITLAB)}
    for service, lines in called.items():
        for wanted in (".ci/run", "make test", "make docs", "make release-check"):
            assert any(line.startswith(wanted) for line in lines), (service, wanted)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_permissions_are_few(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for part in workflow["jobs"].values():
        for step in (part, *part.get("steps", ())):
            assert ACTION.fullmatch(step.get("uses", "actions/checkout@v5")), step["uses"]
    assert "secrets." not in path.read_text()


def test_releases_are_published_by_trust_and_after_the_tests():
    publish = job("publish")
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
    assert set(publish["needs"]) == {"test", "build"}
    assert publish["steps"][-1]["with"] == {"attestations": True}
    assert job("build")["steps"][2]["env"]["TAG"] == "${{ github.ref_name }}"
    on_gitlab = gitlab_jobs()["publish"]
    assert on_gitlab["id_tokens"] == {"PYPI_ID_TOKEN": {"aud": "pypi"}}
    assert on_gitlab["environment"] == "pypi"
    assert set(on_gitlab["needs"]) == {"distributions", "everything", "tests"} < set(gitlab_jobs())


def test_every_supported_python_is_tested():
    oldest, *others = supported_pythons()
    jobs = read(PROJECT / ".github" / "workflows" / "ci.yml")["jobs"]
    assert jobs["everything"]["steps"][1]["with"]["python-version"] == oldest
    assert jobs["tests"]["strategy"]["matrix"]["python"] == others
    assert read(GITLAB)["default"]["image"] == f"python:{oldest}"
    assert gitlab_jobs()["tests"]["parallel"]["matrix"] == [{"VERSION": others}]


@pytest.mark.parametrize(
    "path", [form for form in FORMS if form.stem != "config"], ids=lambda path: path.name
)
def test_forms_are_complete(path):
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    assert any(part.get("validations", {}).get("required") for part in form["body"])
    twin = PROJECT / ".gitlab" / "issue_templates" / f"{form['name']}.md"
    labels = [part["attributes"]["label"] for part in form["body"] if "label" in part["attributes"]]
    assert re.findall(r"^## (.*)", twin.read_text(), re.MULTILINE) == labels
