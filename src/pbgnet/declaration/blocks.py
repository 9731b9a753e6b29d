"""The structure of a declaration: sections of blocks, as data from which Markdown and HTML are written."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Paragraph:
    """One or more sentences."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True)
class Statement:
    """What is proved."""

    kind: ClassVar[str] = "statement"
    text: str


@dataclass(frozen=True)
class Shortcoming:
    """Where the classifier falls short."""

    kind: ClassVar[str] = "shortcoming"
    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Names and values; fingerprints as code."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]
    code: bool = False


@dataclass(frozen=True)
class Table:
    """Columns and rows of texts."""

    kind: ClassVar[str] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Commands:
    """Lines to type."""

    kind: ClassVar[str] = "commands"
    text: str


@dataclass(frozen=True)
class Answer:
    """What the user says; empty lines separate paragraphs."""

    kind: ClassVar[str] = "answer"
    title: str
    text: str

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The paragraphs, each on one line."""
        parts = self.text.replace("\r\n", "\n").split("\n\n")
        return tuple(" ".join(part.split()) for part in parts if part.strip())


@dataclass(frozen=True)
class OpenField:
    """A question that the user has not answered yet."""

    kind: ClassVar[str] = "open"
    key: str
    question: str


Block = Paragraph | Statement | Shortcoming | Bullets | Facts | Table | Commands | Answer | OpenField


@dataclass(frozen=True)
class Section:
    """A part of a declaration under its heading."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Declaration:
    """A whole declaration; `pbgnet.declaration.declare` makes one."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    version: str

    @property
    def open_fields(self) -> tuple[str, ...]:
        """The keys of unanswered questions, in order."""
        return tuple(
            block.key for section in self.sections for block in section.blocks if isinstance(block, OpenField)
        )
