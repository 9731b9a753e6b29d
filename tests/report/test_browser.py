"""The report in a real browser: what it shows, that it fetches nothing, that it fits a telephone."""

import json
import re
import shutil
import subprocess
from html import escape
from urllib.parse import urlsplit

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium: apt-get install chromium runs this test"
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)

# What the browser itself asks for, whatever page it shows.
OWN_HOSTS = (".google.com", ".googleapis.com", ".gvt1.com")


def browse(folder, page, *options):
    """Open a page and return the finished process; the network log is in net.json."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    places = [f"--user-data-dir={folder / 'profile'}", f"--log-net-log={folder / 'net.json'}"]
    command = [BROWSER, *FLAGS, *places, *options, (folder / "page.html").as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)


def console_lines(process):
    return [line for line in process.stderr.splitlines() if ":CONSOLE" in line]


def foreign_urls(folder):
    """Addresses asked for that are neither the page nor the browser's own business."""
    urls = set(re.findall(r'"url":"((?:https?|wss?|ftp)[^"]*)"', (folder / "net.json").read_text()))
    return {url for url in urls if not (urlsplit(url).hostname or "").endswith(OWN_HOSTS)}


def test_key_numbers_are_in_the_page_and_nothing_is_fetched(subject, tmp_path):
    process = browse(tmp_path, subject.render(), "--dump-dom")
    dom, certificate = process.stdout, subject.model.certificate
    assert certificate.statement in dom
    assert re.search(rf'id="bound">{-(-certificate.linear_loss.value * 10**4 // 1) / 10**4:.4f}</dd>', dom)
    assert dom.count("<svg") == 7
    assert all(sentence in dom for sentence in certificate.assumptions)
    assert console_lines(process) == []
    assert foreign_urls(tmp_path) == set()


def test_the_checks_above_can_fail(tmp_path):
    page = "<!doctype html><script>console.error('boom')</script><img src='http://example.invalid/x.png'>"
    process = browse(tmp_path, page, "--dump-dom")
    assert "boom" in console_lines(process)[0]
    assert foreign_urls(tmp_path) == {"http://example.invalid/x.png"}


def test_hostile_names_run_nothing(make, tmp_path):
    hostile = "<img src=http://evil.invalid/x onerror=console.error(1)><script>console.error(2)</script>"
    process = browse(
        tmp_path, make(classes=(hostile, "ok"), names=(hostile, "b", "c")).render(), "--dump-dom"
    )
    assert "&lt;script&gt;" in process.stdout
    assert "<script" not in process.stdout
    assert console_lines(process) == []
    assert foreign_urls(tmp_path) == set()


MEASURE = """
<!doctype html><body style="margin:0">{frames}<script>
const measure = frame => {{
  const page = frame.contentDocument, root = page.documentElement;
  const texts = [...page.querySelectorAll("svg text")].map(text => text.getBoundingClientRect());
  const charts = [...page.querySelectorAll("svg.chart")];
  const scale = charts.map(c => c.getBoundingClientRect().width / c.viewBox.baseVal.width);
  return {{overflow: root.scrollWidth - root.clientWidth, height: root.scrollHeight,
          left: Math.min(...texts.map(t => t.left)), right: Math.max(...texts.map(t => t.right)),
          width: root.clientWidth, scale: Math.min(...scale), largest: Math.max(...scale),
          colour: getComputedStyle(page.querySelector(".bar.certified")).fill}};
}};
onload = () => {{
  const frames = [...document.querySelectorAll("iframe")];
  document.body.dataset.found = JSON.stringify(frames.map(measure));
}};
</script></body>
"""


def read_measures(dom):
    return json.loads(re.search(r'data-found="([^"]*)"', dom).group(1).replace("&quot;", '"'))


def test_it_fits_telephones_and_desktops(make, tmp_path):
    """Nothing sticks out sideways, all words in charts are inside the page and large enough to read."""
    page = escape(make(names=("a", "b" * 300, "c")).render())
    widths = (320, 390, 768, 1280)
    frames = "".join(
        f'<iframe srcdoc="{page}" width="{width}" height="900" frameborder="0"></iframe>' for width in widths
    )
    dom = browse(tmp_path, MEASURE.format(frames=frames), "--dump-dom", "--virtual-time-budget=4000").stdout
    found = read_measures(dom)
    assert [layout["width"] for layout in found] == list(widths)
    for layout in found:
        assert layout["overflow"] <= 0, layout
        assert layout["left"] >= 0
        assert layout["right"] <= layout["width"]
        assert layout["height"] > 1500
        assert 0.6 <= layout["scale"] <= layout["largest"] <= 1.5, layout


@pytest.mark.parametrize(
    ("scheme", "colour"), [(1, "rgb(26, 86, 184)"), (0, "rgb(110, 168, 255)")], ids=["light", "dark"]
)
def test_the_charts_follow_the_readers_scheme(subject, tmp_path, scheme, colour):
    picture = tmp_path / "page.png"
    frame = f'<iframe srcdoc="{escape(subject.render())}" width="600" height="900" frameborder="0"></iframe>'
    options = (f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=4000")
    dom = browse(tmp_path, MEASURE.format(frames=frame), "--dump-dom", *options).stdout
    (found,) = read_measures(dom)
    assert found["colour"] == colour
    browse(tmp_path, subject.render(), f"--screenshot={picture}", "--window-size=600,900", *options)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000  # an empty page is smaller
