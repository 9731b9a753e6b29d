"""Numbers in print: rounding may make a bound larger, never smaller."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def round_up(value: float, digits: int = 4) -> str:
    """Write a number with that many decimals, rounded up.

    Examples
    --------
    >>> from pbgnet.bounds import round_up
    >>> round_up(0.04001), round_up(0.04)
    ('0.0401', '0.0401')
    >>> round_up(0.25), round_up(3e-7, 8)
    ('0.2500', '0.00000030')
    """
    # Decimal(float) is exact: the double nearest to 0.04 is above it, hence 0.0401.
    return format(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING), "f")


def round_down(value: float, digits: int = 4) -> str:
    """Write a number with that many decimals, rounded down, as a lower limit is.

    Examples
    --------
    >>> from pbgnet.bounds import round_down
    >>> round_down(0.04009)
    '0.0400'
    """
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR))


def percent_up(value: float) -> str:
    """Write a share as a percentage with one decimal, rounded up; with two decimals below 1 %.

    Examples
    --------
    >>> from pbgnet.bounds import percent_up
    >>> percent_up(0.04561), percent_up(0.00321)
    ('4.6', '0.33')
    """
    digits = 1 if value >= 0.01 else 2
    exact = Decimal(value) * 100
    return str(exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))


def percent(confidence: float) -> str:
    """Write a probability as a percentage, without rounding: 99.9 for 0.999."""
    return format((Decimal(repr(confidence)) * 100).normalize(), "f")
