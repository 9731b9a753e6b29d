"""What the documents claim can be run."""

import re
from pathlib import Path

import pytest

import pbgnet

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_readme_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert 0 < float(capsys.readouterr().out) < 1


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_versions_agree():
    assert f"version: {pbgnet.__version__}\n" in (ROOT / "CITATION.cff").read_text()
