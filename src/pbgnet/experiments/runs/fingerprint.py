"""The version of the code that decides what a run computes."""

import functools
import hashlib
import io
import itertools
import tokenize
from pathlib import Path

import pbgnet

# Subpackages and a file. Tables and figures are not among them.
CODE_THAT_COUNTS = (
    "aggregation",
    "autograd.py",
    "bounds",
    "datasets",
    "experiments/runs",
    "kernels",
    "networks",
    "training",
)

_NO_TEXT = (tokenize.INDENT, tokenize.DEDENT)  # the next token's line shows them as well
_LINE_END = (tokenize.NEWLINE, tokenize.NL)  # of a statement, or of a line within one


@functools.cache
def code_version(places: tuple[str, ...] = CODE_THAT_COUNTS) -> str:
    """Return version and fingerprint of the code that decides what a run computes.

    Comments, docstrings and empty lines do not count: mending one must not part a store from its code.
    """
    root = Path(pbgnet.__file__).parent
    digest = hashlib.sha256()
    for name in places:
        place = root / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place] * place.is_file():
            code = without_words(path.read_text(encoding="utf-8"))
            digest.update(f"{path.relative_to(root).as_posix()}\0{code}\0".encode())
    return f"{pbgnet.__version__}+{digest.hexdigest()[:12]}"


def without_words(source: str) -> str:
    """Return source without comments, docstrings and empty lines.

    Text is cut, not printed from a syntax tree: trees and their printing differ between versions of Python.
    """
    lines = [0, *itertools.accumulate(map(len, io.StringIO(source)))]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    kept, position, line_begun, statement_begun = [], 0, False, False
    for token, following in itertools.pairwise(t for t in tokens if t.type not in _NO_TEXT):
        end = lines[token.end[0] - 1] + token.end[1]
        is_docstring = (
            token.type == tokenize.STRING
            and not statement_begun
            and following.type in (tokenize.NEWLINE, tokenize.COMMENT)
        )
        if token.type in _LINE_END:
            kept.append("\n" * line_begun)
            line_begun = False
            statement_begun &= token.type == tokenize.NL
        elif token.type != tokenize.COMMENT and not is_docstring:
            kept.append(source[position:end])
            line_begun = statement_begun = True
        position = end
    return "".join(kept)
