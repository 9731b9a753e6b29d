"""The fingerprint changes with what decides what a run computes, and with nothing else."""

import ast
import tokenize
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest

import pbgnet
from pbgnet.experiments.runs import CODE_THAT_COUNTS, code_version
from pbgnet.experiments.runs import fingerprint as module
from pbgnet.experiments.runs.fingerprint import without_words

ROOT = Path(pbgnet.__file__).parent


@pytest.fixture
def copied_code(tmp_path, monkeypatch):
    """A copy of a few files of the package, taken for the package."""
    for room in ("training", "estimators"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "loop.py").write_text("x = 1\n")
    monkeypatch.setattr(module.pbgnet, "__file__", str(tmp_path / "__init__.py"))
    code_version.cache_clear()
    yield tmp_path
    code_version.cache_clear()


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda root: (root / "training" / "loop.py").write_text("x = 2\n"), True),
        (lambda root: (root / "training" / "loop.py").rename(root / "training" / "other.py"), True),
        (lambda root: (root / "training" / "more.py").write_text(""), True),
        (lambda root: (root / "estimators" / "loop.py").write_text("x = 2\n"), False),
        (lambda root: (root / "training" / "notes.txt").write_text("x"), False),
        (lambda root: (root / "training" / "loop.py").write_text("'Words.'\n\nx = 1  # more\n"), False),
    ],
    ids=["edited", "renamed", "added", "elsewhere", "no-code", "words"],
)
def test_the_version_changes_with_code_that_decides_what_a_run_computes(copied_code, change, counts):
    before = code_version()
    change(copied_code)
    assert code_version() == before  # a process has one version
    code_version.cache_clear()
    assert (code_version() != before) == counts


def test_the_version_begins_with_that_of_the_package(copied_code, monkeypatch):
    version, _, fingerprint = code_version().partition("+")
    assert version == pbgnet.__version__
    monkeypatch.setattr(module.pbgnet, "__version__", "99.0")
    code_version.cache_clear()
    assert code_version() == f"99.0+{fingerprint}"


def test_all_code_that_counts_exists():
    for name in CODE_THAT_COUNTS:
        place = ROOT / name
        assert place.is_file() if name.endswith(".py") else list(place.glob("*.py")), name


CODE = """\
def f(x):
    y = ["# no comment", '''two

    lines''']  \n\
    return f"{x:#x}" + "a" "b"
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def f", '"""What the module does."""\n\ndef f'),
        ("def f", "# why\ndef f"),
        ("(x):", "(x):  # why"),
        ("(x):\n", '(x):\n    """What it does.\n\n    Höher: *x*.\n    """\n'),
        ("(x):\n", "(x):\n    'What it does.'  # why\n"),
        ("    return", "\n\n    return"),
        ("''']  ", "''']"),
    ],
)
def test_words_and_empty_lines_do_not_count(old, new):
    assert old in CODE
    assert without_words(CODE.replace(old, new)) == without_words(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# no comment", "# a comment"),
        ("two\n\n", "two\n"),
        ("two\n", "two  \n"),
        ("{x:#x}", "{x:#o}"),
        ('"b"', '"c"'),
        ("    return", "return"),
    ],
)
def test_code_and_what_looks_like_words_within_strings_count(old, new):
    assert old in CODE
    assert without_words(CODE.replace(old, new)) != without_words(CODE)


def test_within_brackets_a_comment_does_not_count_and_a_string_does():
    commented = 'x = [\n    # first\n    "1"  # second\n]\n'
    assert without_words(commented) == 'x = [\n    "1"\n]\n'


@pytest.mark.parametrize("name", CODE_THAT_COUNTS)
def test_nothing_but_docstrings_is_lost(name):
    place = ROOT / name
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        source = path.read_text(encoding="utf-8")
        before, after = words_of(source), words_of(without_words(source))
        lost = before - after
        assert not after - before, path
        assert sum(lost.values()) == sum(map(says_something, ast.walk(ast.parse(source)))), path
        assert all(isinstance(ast.literal_eval(text), str) for text in lost), path


def words_of(source: str) -> Counter[str]:
    """Count the tokens that say something."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    return Counter(token.string for token in tokens if token.type not in layout)


def says_something(node: ast.AST) -> bool:
    """Return whether node is a statement that is only a text, as docstrings of attributes are too."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
