"""The page and the picture: what they say, that all is escaped, and that both are well-formed."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from pbgnet import ChangeDetector, Monitor, certify
from pbgnet.monitoring import render_monitor, write_monitor_page, write_monitor_picture


@pytest.fixture
def alarmed(by_class, stream):
    rng = np.random.default_rng(0)
    change = ChangeDetector(rng.normal(size=(100, 3)), rng.normal(size=(300, 3)))
    monitor = Monitor(by_class, change=change)
    for rate, shift in ((0.02, 0.0), (0.2, 2.0)):
        monitor.update(*stream(500, rate))
        change.update(rng.normal(np.array([shift, 0.0, 0.0]), size=(500, 3)))
    return monitor


def test_the_page_says_what_was_found(alarmed, tmp_path):
    page = write_monitor_page(tmp_path / "page.html", alarmed).read_text()
    assert f"alarm after {alarmed.claims[0].alarm_row} labelled rows" in page
    assert page.count("<svg") == 7  # all rows and two classes, rate and e-value each; the test of change
    assert f"detected after {alarmed.change.alarm_row} rows, in column &#39;x0&#39;" in page
    assert re.search(r'<th scope="row">x0</th>.*<td class="number">changed</td></tr>', page)
    assert page.count('<td class="number">changed</td>') == 1
    assert "tests for change, not for errors" in page
    assert "drawn at random" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "nan" not in page.lower()


def test_classes_without_rows_are_listed_and_not_drawn(by_class):
    monitor = Monitor(by_class)
    known = by_class.classes[0]
    monitor.update([known] * 5, [known] * 5)
    page = render_monitor(monitor)
    assert page.count("<svg") == 4
    assert "<h2>Other bounds</h2>" in page
    assert "0 of 0" in page


def test_the_picture_is_a_file_of_its_own(alarmed, tmp_path):
    root = ElementTree.fromstring(write_monitor_picture(tmp_path / "picture.svg", alarmed).read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Error rate of the latest rows" in texts
    assert "alarm at 200" in texts
    assert "certified: at most 3.2 %" in texts
    assert any(text.startswith("alarm, row") for text in texts)


def test_nothing_is_drawn_before_the_first_row(predictions):
    page = render_monitor(Monitor(predictions))
    assert "No labelled rows yet." in page
    assert "<polyline" not in page


def test_hostile_names_are_escaped():
    hostile = "<script>alert(1)</script>"
    rows = np.arange(100)[:, None]
    labels = np.where(rows[:, 0] % 2, hostile, "b")
    made = certify(lambda X: labels[X[:, 0]], rows, labels, classes=[hostile, "b"], class_conditional=True)
    monitor = Monitor(made)
    monitor.update([hostile], ["b"])
    assert "<script" not in render_monitor(monitor)
