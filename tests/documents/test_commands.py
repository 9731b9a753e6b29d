"""Commands and options that pages name exist: in blocks, and in the middle of a sentence."""

import importlib.util
import re

import pytest
import typer
from tests.documents.blocks import PROJECT, SHELL, blocks_of, pages, steps_of

from pbgnet.cli.app import app

GROUP = typer.main.get_command(app)
TARGETS = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))

# What a shell, typer or another project brings.
FOREIGN = {".", "cd", "echo", "git", "grep", "pip", "pytest", "sed", "tail", "torchrun", "wc"}
COMPLETION = {"--install-completion", "--show-completion"}
FOREIGN_OPTIONS = {"--index-url", "--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint"}

STEPS = [
    pytest.param(step, id=f"{block}: {step.command[:60]}")
    for page in pages()
    for block in blocks_of(page)
    if block.language in SHELL
    for step in steps_of(block)
]


def options_of(command):
    """Return all names of its options, short ones too."""
    own = {name for item in command.params for name in (*item.opts, *item.secondary_opts) if name[0] == "-"}
    return own | {"-h", "--help"} | (COMPLETION if command is GROUP else set())


def parse(arguments):
    """Raise an error where `pbgnet` does not take these words; nothing is run."""
    if not arguments or arguments[0].startswith("-"):
        assert set(arguments) <= options_of(GROUP), arguments
        return
    assert arguments[0] in GROUP.commands, f"there is no pbgnet {arguments[0]}"
    GROUP.commands[arguments[0]].make_context(arguments[0], list(arguments[1:]))


@pytest.mark.parametrize("step", STEPS)
def test_a_typed_line(step):
    for arguments in step.own_commands():
        parse(arguments)
    for program, *arguments in step.simple_commands():
        if program == "make":
            assert [word for word in arguments if "=" not in word and word not in TARGETS] == []
        elif program in ("python", "python3") and arguments[0] == "-m":
            module = arguments[1].partition(".")[0]
            assert importlib.util.find_spec(module) or (PROJECT / module).is_dir(), module
        elif program in ("python", "python3"):
            assert (PROJECT / arguments[0]).exists(), arguments[0]
        else:
            assert program in FOREIGN | {"pbgnet"}, program


@pytest.mark.parametrize("page", pages())
def test_inline_code(page):
    """In sentences a call may be abbreviated: its command and options are checked, not what it needs."""
    whole = (PROJECT / page).read_text(encoding="utf-8")
    text = re.sub(r"^( *)(`{3,}).*?^\1\2$", "", whole, flags=re.MULTILINE | re.DOTALL)
    everywhere = set().union(*map(options_of, GROUP.commands.values()), options_of(GROUP), FOREIGN_OPTIONS)
    for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
        words = code.split()
        options = {word.partition("=")[0].strip("[]") for word in words if re.match(r"\[?--[a-z]", word)}
        if words and words[0] == "pbgnet" and len(words) > 1 and re.fullmatch(r"[a-z-]+", words[1]):
            known = options_of(GROUP)
            if not words[1].startswith("-"):
                assert words[1] in GROUP.commands, code
                known = options_of(GROUP.commands[words[1]])
            assert options <= known, code
        elif words and words[0].startswith("--"):
            assert options <= everywhere, code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trains", "data.csv"], "there is no pbgnet trains"),
        (["verify", "model", "data.csv", "--loud"], "loud"),
        (["train", "data.csv", "--out", "model"], "target"),
        (["plan", "--error", "small", "--claim", "0.1"], "valid"),
        (["show", "model", "another"], "another"),
        (["--versions"], "--versions"),
    ],
)
def test_a_wrong_line_is_noticed(arguments, message):
    with pytest.raises(Exception, match=message):  # of click, or of the copy of it that typer has
        parse(arguments)
