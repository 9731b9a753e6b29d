"""Cards: what a notebook shows of one result. Whatever is put on them stays text."""

import re
from html.parser import HTMLParser

from pbgnet.pages import Bar, Card, Check, Checks, render_card
from pbgnet.pages.palette import DARK, LIGHT

HOSTILE = "\"><script>alert(1)</script>&'{{ 7 * 7 }}\x00\x1b"
SHOWN = "&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#39;{{ 7 * 7 }}\ufffd\ufffd"
TAGS = {"div", "style", "p", "span", "dl", "dt", "dd", "details", "summary", "ul", "li"}
FULL = Card(
    headline=HOSTILE,
    tone="warn",
    lead=HOSTILE,
    warnings=(HOSTILE,),
    bars=(Bar(HOSTILE, 0.1, HOSTILE, "certified"), Bar("other", 0.4, "40 %", "trivial")),
    facts=((HOSTILE, HOSTILE),),
    lists=(Checks(HOSTILE, (Check("failed", HOSTILE, HOSTILE), Check("ok", "fine")), unfolded=False),),
    notes_heading=HOSTILE,
    notes=(HOSTILE,),
)


class Tags(HTMLParser):
    """Collects open tags, and fails where they are not closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_everything_is_escaped():
    page = render_card(FULL)
    assert page.count(SHOWN) == 12
    assert "<script" not in page
    assert "\x00" not in page


def test_tags_are_closed_and_nothing_is_loaded_or_run():
    page = render_card(FULL)
    tags = Tags(page)
    assert tags.open == []
    assert {tag for tag, _ in tags.seen} <= TAGS
    allowed = {"class", "style", "open", "role", "aria-label", "aria-hidden"}
    assert all(attributes.keys() <= allowed for _, attributes in tags.seen)
    assert "url(" not in page
    assert "@import" not in page
    assert "http" not in page


def test_bars_are_measured_by_the_longest():
    assert re.findall(r"width: ([\d.]+)%; background", render_card(FULL)) == ["25.0", "100.0"]
    empty = Card(headline="h", tone="good", bars=(Bar("none", 0.0, "0 %", "measured"),))
    assert "width: 0.0%" in render_card(empty)


def test_both_schemes_are_in_the_card_and_every_rule_is_its_own():
    page = render_card(Card(headline="h", tone="good"))
    for scheme in (LIGHT, DARK):
        assert page.count(f"--pbgnet-paper: {scheme['paper']};") == 2
    style = re.sub(r"@media[^{]*\{", "", page.split("<style>")[1].split("</style>")[0])
    selectors = [part.strip() for rule in re.findall(r"([^{}]+)\{", style) for part in rule.split(",")]
    assert len(selectors) > 20
    assert all(".pbgnet-card" in selector for selector in selectors)


def test_a_card_without_more_shows_its_headline_only():
    page = render_card(Card(headline="Verified.", tone="good"))
    assert [tag for tag, _ in Tags(page).seen] == ["div", "style", "p"]
