"""``pbgnet plan``: words, JSON, the page, and what it refuses."""

import re
import shlex
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "plan.md"


def test_the_commands_of_the_document_print_what_it_shows(run):
    steps = re.findall(r"^    \$ pbgnet (.*)\n((?:    [^$].*\n|\n(?=    [^$]))*)", DOCUMENT.read_text(), re.M)
    assert len(steps) == 2
    for line, expected in steps:
        result = run(*shlex.split(line))
        assert result.exit_code == 0, result.output
        assert result.stdout.strip() == re.sub("^    ", "", expected, flags=re.M).strip()


def test_json_has_the_plan(run_json):
    plan = run_json("plan", "--error", 0.02, "--claim", 0.03, "--rows", 5000)
    assert plan["exit_code"] == 0
    assert plan["parts"][0]["rows"] == 846
    assert plan["certified_rows"] == 1542
    assert len(plan["split"]) == 9
    assert plan["page"] is None


def test_the_page_is_written_and_not_replaced_by_accident(run, tmp_path):
    page = tmp_path / "plan.html"
    given = ("plan", "--error", 0.02, "--claim", 0.03, "--page", page)
    assert f"Page: {page}" in run(*given).stdout
    assert "846" in page.read_text(encoding="utf-8")
    page.write_text("mine")
    again = run(*given)
    assert (again.exit_code, page.read_text()) == (3, "mine")
    assert run(*given, "--overwrite").exit_code == 0
    assert run(*given[:-1], tmp_path / "none" / "plan.html").exit_code == 3


def test_classes_groups_and_answers(run_json):
    plan = run_json(
        *("plan", "--error", 0.02, "--claim", 0.03, "--class-shares", "ham=0.9, a=b=0.1"),
        *("--class-claim", 0.06, "--group-shares", "0.7,0.3", "--answered", 0.8),
    )
    assert plan["n_claims"] == 1 + 2 + 4 + 2
    names = [(part["kind"], part["name"], part["share"]) for part in plan["parts"][1:]]
    assert names == [
        ("class", "ham", 0.9),
        ("class", "a=b", 0.1),
        ("group", "1", 0.7),
        ("group", "2", 0.3),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--claim", 0.01), "cannot be reached"),
        (("--claim", 1), "1 needs no proof"),
        (("--claim", 0.03, "--class-shares", "0.9;0.1"), "such as 0.9,0.1"),
        (("--claim", 0.03, "--class-shares", "a=0.5,a=0.5"), "'a' twice"),
        (("--claim", 0.03, "--confidence", 95), "confidence must be between 0 and 1"),
    ],
)
def test_bad_options(run, options, words):
    result = run("plan", "--error", 0.02, *options)
    assert result.exit_code == 2
    assert words in result.stderr
