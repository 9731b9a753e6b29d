"""Numbers as people write them: with a decimal comma, thousands separators, a currency or a percent sign."""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing.cell_texts import CellTexts
from pbgnet.preprocessing.packed_words import PackedWords
from pbgnet.preprocessing.shapes import Shapes
from pbgnet.preprocessing.words import Words

STYLES = ("plain", "point", "comma")
"""How a column writes its numbers: as programs do (1234.5, 1e3), or as people do, with a decimal point
(1,234.50) or a decimal comma (1.234,50), possibly with thousands separators and a unit.
"""

DECIMALS = {"auto": STYLES, ".": ("plain", "point"), ",": ("comma",)}
"""The styles to choose from, depending on the decimal sign."""

UNITS = (
    *["", "%", "‰", "$", "US$", "R$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₫", "₴", "₪", "฿", "₦", "₱", "zł"],
    *["kr", "Kč", "Ft", "Fr.", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK"],
    *["NOK", "DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "TRY", "KRW", "SGD", "HKD", "ILS", "RUB"],
)
"""Units that may precede or follow a number in the styles "point" and "comma"; "" is none."""

# A longer text is not a number as people write them, and is not searched for one.
LONGEST = 64

# Python's float also reads "1_000", "nan" and "infinity", which are not numbers in a table.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PLAIN = b"0123456789+-.eE"

_APART = "'\N{RIGHT SINGLE QUOTATION MARK} \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
_SIGN = "[+\\-\N{MINUS SIGN}]?"
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True) if unit)


def _style_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """A sign, perhaps a unit before or behind, and digits; thousands apart by one mark throughout."""
    apart = rf"[1-9][0-9]{{0,2}}(?P<mark>[{thousands}{_APART}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    digits = rf"(?:{apart}|[0-9]+)(?:{decimal}[0-9]*)?|{decimal}[0-9]+"
    return re.compile(
        rf"(?P<sign>{_SIGN})\s*(?P<before>{_UNIT})?\s*(?P<inner>{_SIGN})"
        rf"(?P<digits>{digits})(?P<power>[eE][+-]?[0-9]+)?\s*(?P<behind>{_UNIT})?"
    )


_PATTERNS = {"point": _style_pattern(r"\.", ","), "comma": _style_pattern(",", r"\.")}
_TO_FLOAT = {
    "point": str.maketrans("\N{MINUS SIGN}", "-", f",{_APART}"),
    "comma": str.maketrans(",\N{MINUS SIGN}", ".-", f".{_APART}"),
}


def parse_number(text: str) -> float | None:
    """Return the finite number that a text spells as programs do, or None if it is not one."""
    stripped = text.strip()
    return _finite(stripped) if NUMBER.fullmatch(stripped) else None


def parse_styled(text: str, style: str) -> tuple[float, str] | None:
    """Return the finite number and the unit that a text spells in a style, or None if it is not one.

    Examples
    --------
    >>> from pbgnet.preprocessing.numerals import parse_styled
    >>> parse_styled("1.234,50 €", "comma"), parse_styled("-$1,234", "point"), parse_styled("1,5", "point")
    ((1234.5, '€'), (-1234.0, '$'), None)
    """
    if style == "plain":
        number = parse_number(text)
        return None if number is None else (number, "")
    stripped = text.strip()
    found = _PATTERNS[style].fullmatch(stripped) if len(stripped) <= LONGEST else None
    if found is None:
        return None
    sign, before, inner, digits, power, behind = found.group(
        "sign", "before", "inner", "digits", "power", "behind"
    )
    if (before and behind) or (sign and inner):
        return None
    number = _finite((sign + inner + digits).translate(_TO_FLOAT[style]) + (power or ""))
    return None if number is None else (number, before or behind or "")


def read_numbers(texts: Sequence[str | None], style: str = "plain", unit: str = "") -> NDArray[np.float64]:
    """Return the number each text writes out, with this unit or none; NaN where it writes out none."""
    if isinstance(texts, CellTexts):
        if style == "plain" and texts.numbers is not None:
            return texts.numbers
        texts = texts.one_by_one()
    read = Words.of(texts)
    return np.asarray(np.append(word_numbers(read, style, unit), math.nan)[read.places])


def word_numbers(read: Words, style: str = "plain", unit: str = "") -> NDArray[np.float64]:
    """Return the number that each distinct word spells; see `read_numbers`."""
    if style == "plain":
        known = read.written if read.written is not None else _read_quickly(read)
        if known is not None:
            return known
    values = np.full(read.n_words, math.nan)
    for place in _may_be_numbers(Shapes.of(read), style).tolist():
        found = parse_styled(read.words[place], style)
        if found is not None and found[1] in ("", unit):
            values[place] = found[0]
    return values


def choose_style(texts: Words, decimal: str) -> tuple[str, str, int]:
    """Return the style and the unit in which most cells are numbers, and how many of them are.

    If styles read equally many cells, plain comes before a decimal point, and that before a comma: so a
    column of only ``1,234`` is read as thousands, unless `decimal` says otherwise.

    Parameters
    ----------
    texts : Words
        Without words that occur nowhere.
    decimal : {"auto", ".", ","}
    """
    counts, total, shapes = texts.counts[:-1], texts.n_present, None
    best = ("plain", "", 0)
    for style in DECIMALS[decimal]:
        if best[2] == total:
            break
        read = _read_quickly(texts) if style == "plain" else None
        if read is not None:
            best = ("plain", "", int(counts[~np.isnan(read)].sum()))
            continue
        shapes = shapes or Shapes.of(texts)
        by_unit: dict[str, int] = {}
        for place in _may_be_numbers(shapes, style).tolist():
            if (found := parse_styled(texts.words[place], style)) is not None:
                by_unit[found[1]] = by_unit.get(found[1], 0) + int(counts[place])
        bare = by_unit.pop("", 0)
        # Two currencies are not one kind of number; the commoner one is the column's.
        unit = min(by_unit, key=lambda name: (-by_unit[name], name), default="")
        if bare + by_unit.get(unit, 0) > best[2]:
            best = (style, unit, bare + by_unit.get(unit, 0))
    return best


def _may_be_numbers(found: Shapes, style: str) -> NDArray[np.int64]:
    """Return the indices of texts with the shape of a number in a style; no other text can be one."""
    pattern, longest = (NUMBER, math.inf) if style == "plain" else (_PATTERNS[style], LONGEST)
    stripped = [shape.strip() for shape in found.shapes]
    fits = [len(shape) <= longest and pattern.fullmatch(shape) is not None for shape in stripped]
    return np.flatnonzero(np.array(fits, dtype=bool)[found.places])


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _read_quickly(words: Words) -> NDArray[np.float64] | None:
    """Return plain numbers if no text holds anything else; None if some text has to be looked at."""
    # Deleting bytes by a table is several times faster than a search for others.
    if isinstance(words, PackedWords) and (
        words.content[:LONGEST].tobytes().translate(None, _PLAIN)  # the first ones tell, as a rule
        or words.content.tobytes().translate(None, _PLAIN)
    ):
        return None
    written = words.words
    if "".join(written).encode("utf-8", "surrogatepass").translate(None, _PLAIN):
        return None
    try:
        values = np.fromiter(map(float, written), dtype=np.float64, count=len(written))
    except ValueError:  # such as "1-2" or ""
        return None
    values[np.isinf(values)] = math.nan
    return values
