"""Text as LaTeX, every special character escaped."""

from pbgnet.pages import SUBSCRIPT

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


def latex_text(text: str) -> str:
    """Return a text as LaTeX, every special character escaped, subscripts set as such."""
    parts = SUBSCRIPT.split(text)  # text and subscripts alternate
    return "".join(
        rf"\textsubscript{{{_escape_latex(part)}}}" if k % 2 else _escape_latex(part)
        for k, part in enumerate(parts)
    )


def _escape_latex(text: str) -> str:
    return "".join(LATEX.get(character, character if character.isprintable() else " ") for character in text)
