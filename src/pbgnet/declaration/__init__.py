"""Describe a certified classifier for others: a model card as Markdown or HTML."""

from pbgnet.declaration.contents import declare
from pbgnet.declaration.declaration_page import check_suffix, to_html, write_declaration
from pbgnet.declaration.fields import FIELDS, read_answers
from pbgnet.declaration.markdown import to_markdown

__all__ = [
    "FIELDS",
    "check_suffix",
    "declare",
    "read_answers",
    "to_html",
    "to_markdown",
    "write_declaration",
]
