"""Whatever is put into a template stays text."""

import pytest
from jinja2 import UndefinedError

from pbgnet.pages import Chart, Drawing, label, mark, render_page

HOSTILE = "\"><script>alert(1)</script>&'\x00\x1b"
LAYOUT = {"title": "t", "heading": "h", "lead": "l", "version": "0"}


@pytest.fixture
def render(tmp_path):
    """Return a function that renders a page with this content."""

    def make(content, **values):
        text = '{% extends "layout.html" %}{% block content %}' + content + "{% endblock %}"
        (tmp_path / "some_page.html").write_text(text, encoding="utf-8")
        return render_page(str(tmp_path / "some_page.py"), **LAYOUT | values)

    return make


def test_values_are_escaped_and_control_characters_replaced(render):
    page = render('<p title="{{ value }}">{{ value }}</p>\n', value=HOSTILE, lead=HOSTILE)
    assert "<script" not in page
    assert page.count("&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#39;\ufffd\ufffd") == 3
    assert "\x00" not in page
    assert "\x1b" not in page


def test_a_value_that_was_forgotten_is_an_error(render):
    with pytest.raises(UndefinedError, match="'forgotten' is undefined"):
        render("{{ forgotten }}")


def test_subscripts_are_written_and_the_rest_is_escaped(render):
    page = render("{{ name|rich }} {{ name|plain }}", name="<b>_{1}")
    assert "&lt;b&gt;<sub>1</sub> &lt;b&gt;_1" in page


def test_every_page_has_the_policy_and_both_schemes(render):
    page = render("")
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';" in page
    assert "--paper: #ffffff;" in page
    assert page.index("prefers-color-scheme: dark") < page.index("--paper: #181d26;")


def test_a_chart_writes_itself(render):
    marks = [mark("rect", x=1 / 3, class_="bar", rx=2), label(1, 2.5, HOSTILE, "tick"), mark("g", id='"<')]
    page = render("{{ chart }}", chart=Chart("c", HOSTILE, "words", 300, 40.5, marks))
    assert (
        '<svg id="c" class="chart" role="img" viewBox="0 0 300 40.5" aria-labelledby="c-title c-desc">'
        in page
    )
    assert '<rect x="0.33" class="bar" rx="2"></rect>' in page
    assert '<g id="&#34;&lt;"></g>' in page
    assert '<text x="1" y="2.5" class="tick" text-anchor="start">&#34;&gt;&lt;script' in page
    assert "<script" not in page


def test_a_drawing_has_names_of_its_own_and_the_colours_of_the_page(render):
    svg = (
        '<?xml version="1.0"?><!-- made --><svg xmlns="http://a" width="9pt" viewBox="0 0 9 8">'
        '<style>*{x:y}</style><g id="a" fill="#1b2330"/><use xlink:href="#a" clip-path="url(#b)"/></svg>'
    )
    page = render("{{ drawing }}", drawing=Drawing("one", "As_{pre} <it> is", svg, narrow=True))
    assert 'viewBox="0 0 9 8" role="img" aria-label="As_pre &lt;it&gt; is">' in page
    assert '<g id="one-a" fill="var(--ink)"/><use href="#one-a" clip-path="url(#one-b)"/></svg>' in page
    assert "<figcaption>As<sub>pre</sub> &lt;it&gt; is</figcaption>" in page
    assert "http:" not in page
    assert "*{x:y}" not in page
