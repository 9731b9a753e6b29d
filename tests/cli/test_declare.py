"""``pbgnet declare``: files, answers, what is still open, and what is refused."""

from html import unescape

from pbgnet.declaration import FIELDS


def test_a_declaration_of_a_model(run, run_json, made, tmp_path):
    out = tmp_path / "declaration.md"
    told = run("declare", made / "model", "--out", out, "--purpose", "To try it out.")
    assert told.exit_code == 0, told.output
    assert f"{len(FIELDS) - 1} of {len(FIELDS)} fields are still to be filled in: name, owner" in told.stdout
    text = out.read_text(encoding="utf-8")
    assert "**Purpose:** To try it out." in text
    assert "pbgnet verify model DATA\n" in text
    assert "| Column of the labels | label |" in text
    page = run_json("declare", made / "model", "--out", tmp_path / "declaration.html")
    assert page["exit_code"] == 0
    assert page["open"] == list(FIELDS)
    assert page["statement"] in unescape((tmp_path / "declaration.html").read_text(encoding="utf-8"))


def test_a_declaration_stands_until_it_is_overwritten(run, made, tmp_path):
    out = tmp_path / "declaration.md"
    out.write_text("mine")
    again = run("declare", made / "model", "--out", out)
    assert (again.exit_code, out.read_text()) == (3, "mine")
    assert run("declare", made / "model", "--out", out, "--overwrite").exit_code == 0
    assert run("declare", made / "model", "--out", tmp_path / "none" / "d.md").exit_code == 3


def test_answers_of_a_file(run, made, tmp_path):
    answers, out = tmp_path / "answers.toml", tmp_path / "d.md"
    answers.write_text("\n".join(f'{key} = "Said of {key}"' for key in FIELDS))
    given = ("declare", made / "model", "--out", out, "--answers", answers)
    result = run(*given)
    assert "All fields are filled in." in result.stdout
    assert "To be filled in" not in out.read_text(encoding="utf-8")
    twice = run(*given, "--purpose", "Another", "--overwrite")
    assert twice.exit_code == 2
    assert "given twice" in twice.stderr
    answers.write_text('porpoise = "x"')
    unknown = run(*given, "--overwrite")
    assert unknown.exit_code == 2
    assert "Did you mean 'purpose'" in unknown.stderr
    answers.write_text("purpose")
    assert run(*given, "--overwrite").exit_code == 3


def test_bad_places(run, made, tmp_path):
    result = run("declare", made / "model", "--out", tmp_path / "d.pdf")
    assert result.exit_code == 2
    assert ".md or .html" in result.stderr
    assert run("declare", tmp_path / "nothing", "--out", tmp_path / "d.md").exit_code == 3
