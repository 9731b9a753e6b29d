"""A declaration as an HTML page, or as a file of either kind."""

import os
from pathlib import Path

from pbgnet.declaration.blocks import Declaration
from pbgnet.declaration.markdown import to_markdown
from pbgnet.exceptions import OptionError
from pbgnet.files import as_path, write_new
from pbgnet.pages import render_page
from pbgnet.validation import check_kind


def to_html(declaration: Declaration) -> str:
    """Return a declaration as one HTML page, without external resources or scripts."""
    check_kind("declaration", declaration, Declaration, advice="Make one with declare.")
    return render_page(
        __file__,
        title=declaration.title,
        heading=declaration.title,
        lead=declaration.lead,
        version=declaration.version,
        sections=declaration.sections,
    )


FORMATS = {".md": to_markdown, ".markdown": to_markdown, ".html": to_html, ".htm": to_html}
"""Writers by file extension."""


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the file extension that decides how a declaration is written."""
    suffix = as_path(path).suffix.lower()
    if suffix not in FORMATS:
        raise OptionError(
            f"A declaration is written as .md or .html; {str(path)!r:.80} has another extension."
        )
    return suffix


def write_declaration(
    path: str | os.PathLike[str], declaration: Declaration, *, overwrite: bool = False
) -> Path:
    """Write a declaration as Markdown or HTML, depending on the file extension, completely or not at all."""
    return write_new(path, FORMATS[check_suffix(path)](declaration), overwrite=overwrite)
