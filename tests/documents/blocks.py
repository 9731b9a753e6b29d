"""The blocks of code in a page: Python, commands, and what they are said to print.

A block that cannot run has ``<!-- not run: why -->`` on the line above it. Otherwise Python is executed, and
so are commands that show output and those of the landing pages; see test_blocks.py.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

FENCE = re.compile(r"( *)(`{3,})(?:\{code-block\} *)?([\w{}-]*).*")
NOT_RUN = re.compile(r" *<!-- not run: (.+) -->")
SHELL = ("console", "bash", "shell", "sh")
PROGRAMS = ("pbgnet", "make", "pip", "python", "python3", "torchrun", "pytest", "git", "$")
OPERATORS = re.compile(r"[;&|<>()]+")


@dataclass(frozen=True)
class Block:
    """A block of code, where it begins, and the reason why it is not run, if it is not."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Step:
    """A line typed into a terminal, and what the page shows below it."""

    command: str
    printed: str

    def simple_commands(self) -> list[list[str]]:
        """Return the words of each command of the line; files that it writes to are left out."""
        reader = shlex.shlex(self.command, posix=True, punctuation_chars=True)
        reader.whitespace_split = True
        commands: list[list[str]] = [[]]
        words = list(reader)
        for before, word in zip(["", *words], words, strict=False):
            if OPERATORS.fullmatch(word):
                commands.append([])
            elif not before.startswith(">"):
                commands[-1].append(word)
        return [words for words in commands if words]

    def own_commands(self) -> Iterator[list[str]]:
        """Return the arguments of each `pbgnet` on the line, also of those started as a module."""
        for words in self.simple_commands():
            if words[0] == "pbgnet":
                yield words[1:]
            elif "pbgnet" in words and words[words.index("pbgnet") - 1] == "-m":
                yield words[words.index("pbgnet") + 1 :]


def pages() -> list[str]:
    """Return the pages that somebody wrote, as paths in the repository."""
    found = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted(PROJECT.glob("docs/**/*.md"))]
    names = [path.relative_to(PROJECT).as_posix() for path in found]
    return [name for name in names if "/generated/" not in name and not name.startswith("docs/gallery/")]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page in their order."""
    return list(read_blocks(page, (PROJECT / page).read_text(encoding="utf-8")))


def read_blocks(page: str, text: str) -> Iterator[Block]:
    """Find the blocks of a text: those in fences, and those indented by four spaces that are commands."""
    lines = [*text.splitlines(), ""]
    reason, above, at = None, "", 0
    while at < len(lines):
        line, start = lines[at], at + 1
        if fence := FENCE.fullmatch(line):
            end = next(
                (k for k in range(start, len(lines)) if lines[k].strip() == fence[2]),
                len(lines),
            )
            inside = [inner.removeprefix(fence[1]) for inner in lines[start:end]]
            yield Block(page, start, fence[3], "\n".join(inside) + "\n", reason)
            at = end
        elif line.startswith("    ") and not above.strip() and line.split()[0] in PROGRAMS:
            end = next(
                (k for k in range(at, len(lines)) if lines[k].strip() and not lines[k].startswith("    ")),
                len(lines),
            )
            while not lines[end - 1].strip():
                end -= 1
            inside = [inner.removeprefix("    ") for inner in lines[at:end]]
            yield Block(page, start, "console", "\n".join(inside) + "\n", reason)
            at = end - 1
        mark = NOT_RUN.fullmatch(line)
        if mark or line.strip():
            reason = mark[1] if mark else None
        above = "" if mark else lines[at] if at < len(lines) else ""
        at += 1


def steps_of(block: Block) -> list[Step]:
    """Return what a block of commands has typed and shown; without prompts all of it is typed."""
    text = re.sub(r"\\\n\s*", "", block.text)
    if not re.search(r"^\$ ", text, re.MULTILINE):
        return [Step(line, "") for line in text.splitlines() if line.strip()]
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{block}: output above the first command"
    return [Step(command, printed) for command, printed in zip(parts[1::2], parts[2::2], strict=True)]
