"""Small pieces of HTML, and names with subscripts in plain text, HTML and LaTeX."""

import html
import re

__all__ = ["escape", "latex_text", "plain_text", "rich_text", "tag"]

SUBSCRIPT = re.compile(r"_\{([^{}]*)\}")

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\N{SCRIPT SMALL L}": r"$\ell$",
    "±": r"$\pm$",
    "\N{MINUS SIGN}": r"$-$",
    "\N{EN DASH}": "--",
    "…": r"\ldots{}",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "▼": r"$\downarrow$",
    "▲": r"$\uparrow$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
}


def escape(value: object) -> str:
    """Return text that HTML shows as it is, whatever it holds."""
    # Control characters other than line ends are not allowed in HTML, escaped or not.
    text = "".join(c if c.isprintable() or c in "\n\t " else "\N{REPLACEMENT CHARACTER}" for c in str(value))
    return html.escape(text, quote=True)


def tag(name: str, content: str = "", **attributes: object) -> str:
    """Return an element; attribute values are escaped, `content` is markup.

    Examples
    --------
    >>> from pbgnet.experiments.markup import tag
    >>> tag("td", "0.1", class_="number", rowspan=2)
    '<td class="number" rowspan="2">0.1</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{content}</{name}>"


def plain_text(text: str) -> str:
    r"""Return a text as it is read aloud, its subscripts in line.

    Examples
    --------
    >>> from pbgnet.experiments.markup import latex_text, plain_text, rich_text
    >>> plain_text("PBGNet_{ℓ-bnd}"), rich_text("PBGNet_{ℓ-bnd}")
    ('PBGNet_ℓ-bnd', 'PBGNet<sub>ℓ-bnd</sub>')
    >>> print(latex_text("PBGNet_{ℓ-bnd} & 5 %"))
    PBGNet\textsubscript{$\ell$-bnd} \& 5 \%
    """
    return SUBSCRIPT.sub(r"_\1", text)


def rich_text(text: str) -> str:
    """Return a text as HTML."""
    return SUBSCRIPT.sub(r"<sub>\1</sub>", escape(text))


def latex_text(text: str) -> str:
    """Return a text as LaTeX, every special character escaped."""
    parts = SUBSCRIPT.split(text)  # text and subscripts by turns
    return "".join(
        rf"\textsubscript{{{_escape_latex(part)}}}" if k % 2 else _escape_latex(part)
        for k, part in enumerate(parts)
    )


def _escape_latex(text: str) -> str:
    return "".join(LATEX.get(character, character if character.isprintable() else " ") for character in text)
