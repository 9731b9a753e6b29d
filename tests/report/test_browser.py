"""The report in a real browser: what it shows, that it fetches nothing, that it fits a telephone."""

import json
import re
from html import escape

import pytest


def test_key_numbers_are_in_the_page_and_nothing_is_fetched(browser, subject, tmp_path):
    process = browser.open(subject.render(), "--dump-dom")
    dom, certificate = process.stdout, subject.model.certificate
    assert certificate.statement in dom
    assert re.search(rf'id="bound">{-(-certificate.linear_loss.value * 10**4 // 1) / 10**4:.4f}</dd>', dom)
    assert dom.count("<svg") == 8
    assert all(sentence in dom for sentence in certificate.assumptions)
    assert browser.console_lines(process) == []
    assert browser.foreign_urls() == set()


def test_the_checks_above_can_fail(browser, tmp_path):
    page = "<!doctype html><script>console.error('boom')</script><img src='http://example.invalid/x.png'>"
    process = browser.open(page, "--dump-dom")
    assert "boom" in browser.console_lines(process)[0]
    assert browser.foreign_urls() == {"http://example.invalid/x.png"}


def test_hostile_names_run_nothing(browser, make, tmp_path):
    hostile = "<img src=http://evil.invalid/x onerror=console.error(1)><script>console.error(2)</script>"
    process = browser.open(make(classes=(hostile, "ok"), names=(hostile, "b", "c")).render(), "--dump-dom")
    assert "&lt;script&gt;" in process.stdout
    assert "<script" not in process.stdout
    assert browser.console_lines(process) == []
    assert browser.foreign_urls() == set()


MEASURE = """
<!doctype html><body style="margin:0">{frames}<script>
const measure = frame => {{
  const page = frame.contentDocument, root = page.documentElement;
  const texts = [...page.querySelectorAll("svg text")].map(text => text.getBoundingClientRect());
  const charts = [...page.querySelectorAll("svg.chart")];
  const scale = charts.map(c => c.getBoundingClientRect().width / c.viewBox.baseVal.width);
  const at = element => element.getBoundingClientRect();
  const collisions = [...page.querySelectorAll(".bars li")].filter(
    li => at(li.querySelector(".name")).right > at(li.querySelector(".value")).left);
  const outside = [...page.querySelectorAll("section *")].filter(
    each => !each.closest(".scroll, .unseen, svg") && at(each).width
      && (at(each).right > root.clientWidth - 8 || at(each).left < 8));
  return {{collisions: collisions.length, outside: outside.map(each => each.outerHTML.slice(0, 80)),
          headline: at(page.querySelector("#headline") || root).bottom,
          overflow: root.scrollWidth - root.clientWidth, height: root.scrollHeight,
          left: Math.min(...texts.map(t => t.left)), right: Math.max(...texts.map(t => t.right)),
          width: root.clientWidth, scale: Math.min(...scale), largest: Math.max(...scale),
          colour: getComputedStyle(page.querySelector(".bars .certified")).backgroundColor}};
}};
onload = () => {{
  const frames = [...document.querySelectorAll("iframe")];
  document.body.dataset.found = JSON.stringify(frames.map(measure));
}};
</script></body>
"""


def read_measures(dom):
    return json.loads(re.search(r'data-found="([^"]*)"', dom).group(1).replace("&quot;", '"'))


def test_it_fits_telephones_and_desktops(browser, make, tmp_path):
    """Nothing sticks out sideways, all words in charts are inside the page and large enough to read."""
    page = escape(make(names=("a", "b" * 300, "c")).render())
    widths = (320, 390, 768, 1280)
    frames = "".join(
        f'<iframe srcdoc="{page}" width="{width}" height="900" frameborder="0"></iframe>' for width in widths
    )
    dom = browser.open(MEASURE.format(frames=frames), "--dump-dom", "--virtual-time-budget=4000").stdout
    found = read_measures(dom)
    assert [layout["width"] for layout in found] == list(widths)
    for layout in found:
        assert layout["overflow"] <= 0, layout
        assert layout["collisions"] == 0
        assert layout["outside"] == []
        assert layout["headline"] < 600, "on the first screen"
        assert layout["left"] >= 0
        assert layout["right"] <= layout["width"]
        assert layout["height"] > 1500
        assert 0.6 <= layout["scale"] <= layout["largest"] <= 1.5, layout


@pytest.mark.parametrize(
    ("scheme", "colour"), [(1, "rgb(26, 86, 184)"), (0, "rgb(110, 168, 255)")], ids=["light", "dark"]
)
def test_the_charts_follow_the_readers_scheme(browser, subject, tmp_path, scheme, colour):
    picture = tmp_path / "page.png"
    frame = f'<iframe srcdoc="{escape(subject.render())}" width="600" height="900" frameborder="0"></iframe>'
    options = (f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=4000")
    dom = browser.open(MEASURE.format(frames=frame), "--dump-dom", *options).stdout
    (found,) = read_measures(dom)
    assert found["colour"] == colour
    browser.open(subject.render(), f"--screenshot={picture}", "--window-size=600,900", *options)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000  # an empty page is smaller


def test_the_confusion_matrix_scrolls_inside_its_box(browser, make_classes):
    """On a telephone the page keeps its width, however many classes and however long their names."""
    page = escape(make_classes(12, n=900, confusion=True, label=lambda k: f"{k} {'long' * k}").render())
    widths = (390, 1280)
    frames = "".join(
        f'<iframe srcdoc="{page}" width="{width}" height="900" frameborder="0"></iframe>' for width in widths
    )
    script = MEASURE.replace(
        "{{collisions:",
        '{{box: page.querySelector(".scroll").clientWidth, '
        'inside: page.querySelector(".scroll").scrollWidth, '
        'small: parseFloat(getComputedStyle(page.querySelector(".confusion small")).fontSize), collisions:',
    )
    dom = browser.open(script.format(frames=frames), "--dump-dom", "--virtual-time-budget=4000").stdout
    narrow, wide = read_measures(dom)
    for layout in (narrow, wide):
        assert layout["overflow"] <= 0, layout
        assert layout["box"] < layout["width"]
        assert layout["small"] >= 10
    assert narrow["inside"] > narrow["box"]
