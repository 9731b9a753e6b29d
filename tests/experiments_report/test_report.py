"""The report: complete in itself, safe, the same every time, and its numbers are those of the tables."""

import json
import os
import re
import sys
from html import escape
from html.parser import HTMLParser

import pytest

from pbgnet.exceptions import MissingPlotterError, StoreError
from pbgnet.experiments.report.findings import (
    agreement_sentences,
    bound_sentences,
    claim_sentences,
    departures,
)
from pbgnet.experiments.report.study_report import kind_of, write_study_report
from pbgnet.experiments.studies import StudyResults
from pbgnet.experiments.studies.results import read_results
from pbgnet.experiments.studies.study import load_study, study_names
from pbgnet.experiments.tables import StudyTable, main_results_table, variance_table
from pbgnet.experiments.tables.cells import ERROR, Cell
from pbgnet.files import write_whole

pytest.importorskip("matplotlib")

VOID = {"meta"}


class Page(HTMLParser):
    """Elements, text and table cells of a page; every element must be closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text = [], [], []
        self.tables, self.cell = {}, None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.elements.append((tag, attrs))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.rows = self.tables[attrs["id"]] = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = []

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.rows[-1].append("".join(self.cell))
            self.cell = None

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)
        if self.cell is not None:
            self.cell.append(data)


@pytest.fixture
def small(fill):
    """Two studies, one of them with gaps and failures."""

    def keep(k, spec):
        main = spec.split_seed == 0 and spec.dataset in ("ads", "mnist17") and spec.hidden_size == 10
        return spec.dataset == "breast" or main

    return fill("smoke", "exact", keep=keep, failed=lambda k, spec: k % 100 == 3)


def test_everything_is_written_and_nothing_else(small, tmp_path):
    report = write_study_report(small, tmp_path / "out", ["smoke", "exact"], illustrations=False)
    written = {path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert written == set(report.files)
    names = {path.relative_to(tmp_path / "out").as_posix() for path in written}
    assert names == {
        "report.html",
        "figures/exact-results.png",
        "figures/exact-results.svg",
        "figures/smoke-results.png",
        "figures/smoke-results.svg",
        "tables/exact-epochs.md",
        "tables/exact-epochs.tex",
        "tables/exact-main-results.md",
        "tables/exact-main-results.tex",
        "tables/exact-selected-models.md",
        "tables/exact-selected-models.tex",
        "tables/run-summary.md",
        "tables/run-summary.tex",
        "tables/smoke-variance.md",
        "tables/smoke-variance.tex",
    }


def test_the_page_is_complete_in_itself(small, tmp_path):
    text = write_study_report(small, tmp_path, ["smoke", "exact"]).page.read_text(encoding="utf-8")
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint(
        {"script", "link", "iframe", "object", "embed", "form", "base", "audio", "video", "img"}
    )
    assert not re.search(r"https?:|@import|javascript:", text)
    sources = [
        value
        for _, attrs in page.elements
        for name, value in attrs.items()
        if name in ("src", "href", "xlink:href")
    ]
    assert sources
    assert all(source.startswith(("#", "data:image/png;base64,")) for source in sources)
    assert all(address.startswith("#") for address in re.findall(r"url\(([^)]*)\)", text))
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    wanted = set(re.findall(r"url\(#([^)]*)\)", text)) | {s[1:] for s in sources if s.startswith("#")}
    assert wanted <= set(ids)
    assert "prefers-color-scheme: dark" in text
    assert "default-src 'none'" in text
    charts = [attrs for tag, attrs in page.elements if tag == "svg"]
    assert len(charts) == 5
    assert all(chart["role"] == "img" and len(chart["aria-label"]) > 20 for chart in charts)


def test_numbers_of_the_page_are_those_of_the_tables(small, tmp_path):
    page = Page(write_study_report(small, tmp_path, ["exact"], illustrations=False).page.read_text("utf-8"))
    (results,) = read_results(small, ["exact"])
    table = main_results_table(results)
    shown = page.tables["table-exact-main-results"][1:]
    assert len(shown) == len(table.rows) == 30
    for cells, row in zip(shown, table.rows, strict=True):
        for text, cell in zip(cells[-4:], row[-4:], strict=True):
            parts = [cell.text]
            parts += [f"paper {cell.paper_text}"] if cell.paper_text else []
            parts += [cell.difference_text] if cell.difference_text else []
            assert [part for part in parts if part not in text] == []
            assert text.startswith(cell.text)
    assert any("…" in text for cells in shown for text in cells)
    assert any("0." in text for cells in shown for text in cells)


def test_the_markdown_file_has_the_numbers_too(small, tmp_path):
    write_study_report(small, tmp_path, ["smoke"], illustrations=False)
    text = (tmp_path / "tables" / "smoke-variance.md").read_text(encoding="utf-8")
    (results,) = read_results(small, ["smoke"])
    for row in variance_table(results).rows:
        for cell in row[2:]:
            assert cell.text in text


def test_failures_and_machines_are_told(small, tmp_path):
    page = Page(write_study_report(small, tmp_path, ["exact"], illustrations=False).page.read_text("utf-8"))
    text = " ".join(page.text)
    assert "RuntimeError: boom" in text
    assert "x86_64, 2 cores" in text
    assert "2026-03-01" in text
    assert "these numbers are preliminary" in text


def test_the_report_is_the_same_every_time(small, tmp_path):
    reports = [write_study_report(small, tmp_path / name, ["exact"], illustrations=False) for name in "ab"]
    for one, two in zip(*(report.files for report in reports), strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_stores_are_not_changed(small, tmp_path):
    before = small.read_bytes()
    write_study_report(small, tmp_path / "out", ["exact"], illustrations=False)
    assert small.read_bytes() == before


def test_a_store_without_a_known_study_is_a_typed_error(put, tmp_path):
    with pytest.raises(StoreError, match="no finished run"):
        write_study_report(put([]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_the_library_nothing_is_written(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPlotterError, match="pip install matplotlib"):
        write_study_report(small, tmp_path / "out", ["exact"])
    assert not (tmp_path / "out").exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = write_whole(tmp_path / "a.txt", "old")

    def fail(source, target):
        raise OSError("no room")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no room"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_findings_by_hand():
    row = (Cell("ads"), Cell(0.05, 0.03, form=ERROR), Cell(0.031, 0.03, form=ERROR))
    other = (Cell("adult"), Cell(0.10, 0.15, form=ERROR), Cell(0.2, 0.15, form=ERROR))
    table = StudyTable("t", "T", ("Data set", "Train error", "Test error"), (row, other))
    assert agreement_sentences(table) == [
        "Train error: of 2 numbers 0 agree with the paper, 1 are better and 1 are worse.",
        "Test error: of 2 numbers 1 agree with the paper, 0 are better and 1 are worse.",
    ]
    assert departures(table)[-1] == "ads, train error: 0.050 against the paper's 0.030, worse"
    assert len(departures(table)) == 3


def test_claims_name_the_data_sets_against_them(fill):
    (results,) = read_results(fill("exact", keep=lambda k, spec: spec.hidden_size == 10), ["exact"])
    claims = claim_sentences(results)
    assert len(claims) == 4
    assert "smallest bound: so here on 6 of 6 data sets." in claims[0]
    for key in [key for key in results.selected if key[:2] == ("ads", "pbgnet_pre")]:
        results.selected[key].candidate.numbers["bound"] = 0.99
    assert "so here on 5 of 6 data sets; not on ads." in claim_sentences(results)[0]


def test_broken_bounds_are_told(fill):
    (results,) = read_results(fill("exact", keep=lambda k, spec: spec.hidden_size == 10), ["exact"])
    assert "in 24 of 24" in bound_sentences(results)[0]
    results.selected["ads", "pbgnet", 0, None].candidate.numbers["test_loss"] = 0.9
    assert "in 23 of 24" in bound_sentences(results)[0]


@pytest.mark.parametrize("wide", [True, False])
def test_findings_say_which_architectures_were_selected_among(fill, tmp_path, wide):
    store = fill("training-size", keep=lambda k, spec: wide or spec.architecture == "1x10")
    report = write_study_report(store, tmp_path / "out", ["training-size"], illustrations=False)
    text = "".join(Page(report.page.read_text("utf-8")).text)
    found = re.findall(r"mnistLH, (\S+?)(?:, ([^:]+))?: mean test error against train error", text)
    name = "PBGNet\N{SCRIPT SMALL L}"
    first = [(name, "all architectures")] if wide else []
    assert found == [*first, (name, "1x10"), ("PBGNet", "")]
    assert ("The choice among all architectures is shown for sizes" in text) == wide


def test_in_a_browser_all_pictures_are_there_and_nothing_is_fetched(browser, small, tmp_path):
    text = write_study_report(small, tmp_path / "out", ["smoke", "exact"]).page.read_text(encoding="utf-8")
    process = browser.open(text, "--dump-dom")
    assert process.stdout.count("<table") == text.count("<table") > 2
    assert browser.console_lines(process) == []
    assert browser.foreign_urls() == set()
    widths = "".join(
        f'<iframe srcdoc="{escape(text)}" width="{width}" height="900"></iframe>' for width in (390, 1280)
    )
    measure = """<script>onload = () => { document.body.dataset.found = JSON.stringify(
        [...document.querySelectorAll("iframe")].map(f => f.contentDocument).map(page => [
            page.documentElement.scrollWidth - page.documentElement.clientWidth,
            [...page.querySelectorAll("img, svg")].filter(p => p.getBoundingClientRect().width < 50).length,
            page.querySelectorAll("img, svg").length])); };</script>"""
    page = f"<!doctype html><body>{widths}{measure}</body>"
    dom = browser.open(page, "--dump-dom", "--virtual-time-budget=5000").stdout
    found = json.loads(re.search(r'data-found="([^"]*)"', dom).group(1))
    for overflow, missing, pictures in found:
        assert overflow <= 0
        assert missing == 0 < pictures


def test_the_grid_tells_what_a_study_is_about():
    assert {name: kind_of(StudyResults(load_study(name), ())) for name in study_names("grid")} == {
        "exact": "main",
        "paper": "main",
        "sample-size": "sample-size",
        "smoke": "variance",
        "training-size": "training-size",
        "variance": "variance",
        "variance-exact": "variance",
    }
