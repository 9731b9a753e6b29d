"""Colours that can be told apart and read."""

import pytest

from pbgnet.pages.palette import DARK, LIGHT


def test_both_schemes_have_the_same_colours():
    assert LIGHT.keys() == DARK.keys()


def luminance(colour):
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_sufficient(colours):
    """WCAG 2.1: 4.5 for text, 3 for the parts of a chart."""
    for text in ("ink", "soft", "certified", "better", "worse"):
        for ground in ("paper", "ground", "band"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for kind in ("good", "warn"):
        assert contrast(colours[kind], colours[f"{kind}-ground"]) >= 4.5
    for part in ("certified", "measured", "held-out", "trivial", "wrong"):
        assert contrast(colours[part], colours["paper"]) >= 3, part
