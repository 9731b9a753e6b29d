"""Every block of code in README and docs runs, and prints what is shown below it."""

import contextlib
import doctest
import io
import linecache
import re

import pytest
from tests.documents.blocks import PROJECT, SHELL, blocks_of, pages, read_blocks, steps_of
from tests.documents.setups import SETUPS

BLOCKS = {page: blocks_of(page) for page in pages()}

FIRST_HOUR = {"README.md", "docs/index.md", *(page for page in BLOCKS if page.startswith("docs/start/"))}
"""Pages whose commands are all run. On others only those are that show output."""

IN_FULL = {"docs/start/first-certificate.md"}
"""Pages whose output depends on the default classifier, which is trained in full there, and only there."""

MOST_NOT_RUN = 10
"""How many blocks may be marked as not run. Fewer are better."""

CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def is_run(block):
    if block.not_run is not None:
        return False
    if block.language in SHELL:
        return block.page in FIRST_HOUR or any(step.printed.strip() for step in steps_of(block))
    return block.language == "python"


RUN = [page for page, blocks in BLOCKS.items() if any(map(is_run, blocks))]


def run_python(block, names):
    """Run it, and return what it prints; numbers in comments beside a print are compared with it."""
    place, text = str(block), block.text
    if re.match(r'"\w+": ', text):  # lines of a table
        text = f"{{{text}}}"
    linecache.cache[place] = (len(block.text), None, block.text.splitlines(True), place)  # for tracebacks
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, place, "exec"), names)
    for number in re.findall(r"^print\(.*\)  # (\d+\.?\d*)$", block.text, re.MULTILINE):
        digits = len(number.partition(".")[2])
        found = re.findall(r"\d+\.?\d*", printed.getvalue())
        assert float(number) in [round(float(each), digits) for each in found], f"{place}: {number}"
    return printed.getvalue()


def run_commands(block, perform):
    """Run them, compare what they print with what is shown, and return all of it."""
    printed = []
    for step in steps_of(block):
        printed.append(perform(step))
        if step.printed.strip():
            assert CHECKER.check_output(step.printed, printed[-1], FLAGS), (
                f"{block}: {step.command}\nshown:\n{step.printed}\nprinted:\n{printed[-1]}"
            )
    return "".join(printed)


def one_line(text):
    return " ".join(text.split())


@pytest.mark.parametrize("page", RUN)
def test_page(page, perform, short_training, tmp_path, monkeypatch, request):
    """Blocks of a page run in its order, share their names and a folder, and print what it says they do."""
    if page not in IN_FULL:
        short_training()
    if page == "docs/reference/datasets.md":
        monkeypatch.setenv("PBGNET_DATA", str(request.getfixturevalue("data_dir")))
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page", **SETUPS.get(page, dict)()}
    elsewhere = [block.text for full in IN_FULL - {page} for block in BLOCKS[full]]
    printed = "\n".join(elsewhere)
    for block in BLOCKS[page]:
        if is_run(block):
            printed += (
                run_python(block, names) if block.language == "python" else run_commands(block, perform)
            )
        elif block.language == "text" and block.not_run is None:
            assert one_line(block.text) in one_line(printed), f"{block}: no block above prints this"


def test_few_blocks_are_not_run_each_for_a_reason():
    marked = [block for blocks in BLOCKS.values() for block in blocks if block.not_run is not None]
    assert 0 < len(marked) <= MOST_NOT_RUN, "\n".join(f"{block}: {block.not_run}" for block in marked)
    for block in marked:
        assert len(block.not_run.split()) > 2, f"{block}: say why"


def test_marks_stand_above_a_block():
    for page, blocks in BLOCKS.items():
        marks = re.findall(r"^ *<!-- not run", (PROJECT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert len(marks) == sum(block.not_run is not None for block in blocks), page


def test_blocks_are_found():
    text = (
        "Words.\n\n```python\nprint(1)\n```\n\n"
        "1. A list:\n\n   ```console\n   $ pbgnet plan \\\n       --error 0.1\n   out\n   ```\n\n"
        "<!-- not run: it needs a GPU -->\n```{code-block} python\nprint(2)\n```\n\n"
        "Commands:\n\n    pbgnet demo  # seconds\n    make test\n\n"
        "A formula:\n\n    a = b\n\n```\nplain\n```\n"
    )
    python, console, marked, indented, plain = read_blocks("page.md", text)
    assert (python.line, python.language, python.text) == (3, "python", "print(1)\n")
    (step,) = steps_of(console)
    assert list(step.own_commands()) == [["plan", "--error", "0.1"]]
    assert step.printed == "out\n"
    assert (marked.language, marked.not_run) == ("python", "it needs a GPU")
    assert [list(step.own_commands()) for step in steps_of(indented)] == [[["demo"]], []]
    assert plain.language == ""
    assert [block.not_run for block in (python, console, indented, plain)] == [None] * 4
