"""What the documents claim can be run."""

import re
import runpy
from pathlib import Path

import pytest

import pbgnet

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_readme_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert "95 % confidence" in capsys.readouterr().out
    assert (tmp_path / "model" / "certificate.json").exists()


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert re.search("With 95 ?% confidence", capsys.readouterr().out)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_what_is_generated_is_as_the_program_makes_it():
    """Run ``python docs/generated.py`` where this fails: a route or a record was changed."""
    generated = runpy.run_path(str(ROOT / "docs" / "generated.py"))["generated"]()
    assert len(generated) == 3
    for path, text in generated.items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_the_pictures_of_the_readme_are_as_the_records_say():
    """Run ``python docs/images/readme.py`` where this fails: what it draws was changed."""
    for path, text in runpy.run_path(str(ROOT / "docs" / "images" / "readme.py"))["drawings"]().items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_versions_agree():
    assert f"version: {pbgnet.__version__}\n" in (ROOT / "CITATION.cff").read_text()
