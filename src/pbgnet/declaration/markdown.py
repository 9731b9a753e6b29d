"""A declaration as Markdown. Whatever users named or wrote stays plain text and never becomes markup."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from pbgnet.declaration.blocks import Declaration
from pbgnet.validation import check_kind

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
"""Characters with a meaning anywhere in a line of CommonMark, or of GitHub's variant."""

OPENING = re.compile(r"^(?:([-+=#])|(\d{1,9})([.)])(?=\s|$))")
"""Characters that only have a meaning at the beginning of a line."""

LINK = re.compile(r"(?i)(?<=www)\.|:(?=//)|@")
"""Texts that turn a bare address into a link."""


def to_markdown(declaration: Declaration) -> str:
    """Return a declaration as Markdown, with one line per paragraph."""
    check_kind("declaration", declaration, Declaration, advice="Make one with declare.")
    parts = [f"# {escape(declaration.title)}", escape(declaration.lead)]
    for section in declaration.sections:
        parts.append(f"## {escape(section.title)}")
        parts += [WRITERS[block.kind](block) for block in section.blocks]
    parts.append(f"Made by pbgnet {escape(declaration.version)}.")
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    r"""Return a text so that Markdown shows it literally, on one line.

    Examples
    --------
    >>> from pbgnet.declaration.markdown import escape
    >>> print(escape("<b>*x*</b>\n# [a](http://b)"))
    \<b\>\*x\*\</b\> # \[a\](http\://b)
    """
    escaped = LINK.sub(r"\\\g<0>", SPECIAL.sub(r"\\\1", flat(text)))
    return OPENING.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", escaped)


def flat(text: str) -> str:
    """Return a text on one line, with a mark in place of unprintable characters."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def fenced(text: str) -> str:
    """Return lines literally, inside a fence that none of them can close."""
    lines = [flat(line) for line in text.split("\n")]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *lines, fence])


def code(text: str) -> str:
    """Return a fingerprint or a key as code; neither contains backticks."""
    return f"`{flat(text).replace('`', ' ')}`"


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {escape(sentence)}" for sentence in sentences)


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = [escape(column) for column in columns]
    lines = [head, ["---"] * len(head), *([*cells] for cells in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _answer(block: Any) -> str:
    first, *others = block.paragraphs
    return "\n\n".join([f"**{escape(block.title)}:** {escape(first)}", *map(escape, others)])


def _facts(block: Any) -> str:
    write = code if block.code else escape
    return _table(("", ""), ((escape(name), write(value)) for name, value in block.rows))


WRITERS: dict[str, Callable[[Any], str]] = {
    "paragraph": lambda block: escape(block.text),
    "statement": lambda block: f"> {escape(block.text)}",
    "shortcoming": lambda block: f"**Note well:** {escape(block.text)}",
    "bullets": lambda block: _bullets(block.sentences),
    "facts": _facts,
    "table": lambda block: _table(block.columns, (map(escape, row) for row in block.rows)),
    "commands": lambda block: fenced(block.text),
    "answer": _answer,
    "open": lambda block: f"**To be filled in:** {escape(block.question)} ({code(block.key)})",
}
"""A writer for each kind of block."""
