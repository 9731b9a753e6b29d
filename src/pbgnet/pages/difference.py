"""Where a page differs from the one that would be written now."""

import difflib
import itertools
import re
from html import unescape

NUMBER = re.compile(r"[\u2212-]?\d+(?:\.\d+)?")
LONGEST = 60
"""How much of a difference is shown."""

CONTEXT = 20
"""How much of the equal text before it is shown."""


def page_difference(found: str, expected: str, approximate: str = "") -> str:
    """Say where a page differs from another; "" if it does not.

    Parameters
    ----------
    found, expected : str
        HTML pages.
    approximate : str, optional
        The id of a section whose numbers may differ in their last digit, because they were computed in single
        precision, which another machine may round differently.

    Examples
    --------
    >>> from pbgnet.pages import page_difference
    >>> page_difference("<p>at most 1.1 %</p>", "<p>at most 31.1 %</p>")
    "it says 'at most 1.1 %' instead of 'at most 31.1 %'"
    """
    if found == expected:
        return ""
    pairs = itertools.zip_longest(_divided(found, approximate), _divided(expected, approximate), fillvalue="")
    for k, (ours, theirs) in enumerate(pairs):
        if ours != theirs and not (k == 1 and _nearly(ours, theirs)):
            return _first(ours, theirs)
    return ""


def _divided(page: str, name: str) -> list[str]:
    """Return a page before, in and after a section; all of it if there is no such section."""
    start = page.find(f'<section id="{name}">') if name else -1
    end = page.find("</section>", start)
    return [page] if start < 0 or end < 0 else [page[:start], page[start:end], page[end:]]


def _nearly(found: str, expected: str) -> bool:
    """Whether texts are equal except for the last digits of numbers."""
    if NUMBER.sub("0", found) != NUMBER.sub("0", expected):
        return False
    return all(
        len(ours.partition(".")[2]) == len(theirs.partition(".")[2])
        and abs(_whole(ours) - _whole(theirs)) <= 1
        for ours, theirs in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True)
    )


def _whole(number: str) -> int:
    return int(number.replace("\N{MINUS SIGN}", "-").replace(".", ""))


def _first(found: str, expected: str) -> str:
    """Show the first lines that differ, as a reader sees them."""
    read, wanted = _read(found), _read(expected)
    for kind, a, b, c, d in difflib.SequenceMatcher(None, read, wanted, autojunk=False).get_opcodes():
        if kind != "equal":
            ours, theirs = _excerpts(" ".join(read[a:b]), " ".join(wanted[c:d]))
            if not theirs:
                return f"it also says {ours!r}"
            return f"it says {ours!r} instead of {theirs!r}" if ours else f"{theirs!r} is missing"
    return "its markup differs, not its words"


def _excerpts(found: str, expected: str) -> tuple[str, str]:
    """Return both texts, starting shortly before they differ."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(found, expected, strict=False))
    begin = max(0, len(list(same)) - CONTEXT)
    return found[begin : begin + LONGEST], expected[begin : begin + LONGEST]


def _read(page: str) -> list[str]:
    words = re.split(r"<[^>]*>|\n", page)
    return [unescape(line.strip()) for line in words if line.strip()]
