"""The page of a certificate with groups: a bar for each, its rows, and who pays for what."""

import numpy as np
import pandas as pd
import pytest

from pbgnet.certificates import certify, round_down, round_up
from pbgnet.report import render_report
from pbgnet.report.group_chart import group_chart, group_numbers, group_rows

N = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=N), "town": rng.choice(["<a>", "b", "c"], N, p=[0.5, 0.47, 0.03])})
    return X, np.where((X["x"] > 0) == (rng.random(N) > 0.1), "yes", "no")


def answer(X):
    return np.where(np.asarray(X["x"]) > 0, "yes", "no")


def test_each_bar_goes_from_the_lower_to_the_upper_limit_around_what_was_measured(table):
    certificate = certify(answer, *table, groups="town").certificate
    drawn = group_chart(certificate).bars
    assert [(bar.start, bar.value) for bar in drawn] == [(g.lower, g.upper) for g in certificate.by_group]
    assert [bar.ticks for bar in drawn] == [(g.n_errors / g.n,) for g in certificate.by_group]
    for bar, group in zip(drawn, certificate.by_group, strict=True):
        assert bar.text == f"{round_down(group.lower)} to {round_up(group.upper)}"
        assert f"{group.n} rows" in bar.name


def test_numbers_name_small_groups_and_those_without_rows(table):
    X, y = table
    certificate = certify(answer, X, y, groups="town").certificate
    assert [row[0] for row in group_rows(certificate)] == ["'<a>'", "'b'", "'c', small"]
    assert [number[0] for number in group_numbers(certificate)] == ["worst-group", "group-difference"]
    assert "largest bound on the error rate in a group" in group_numbers(certificate)[0][2]
    assert group_chart(certify(answer, X, y).certificate) is None
    assert group_rows(certify(answer, X, y).certificate) == []


def test_the_page_has_groups_and_the_plan_of_delta(table):
    X, y = table
    page = render_report(certify(answer, X, y, groups="town"), X, y)
    assert 'id="groups"' in page
    assert "&#39;&lt;a&gt;&#39;" in page
    assert "<a>" not in page
    assert "6 limits of the error rate in groups" not in page  # six are told one by one
    assert "error rate in group &#39;b&#39;, lower limit" in page
    assert "groups other than those listed" in page
    plain = render_report(certify(answer, X, y), X, y)
    assert 'id="groups"' not in plain
    assert "risk of being wrong</a> is shared" in plain
    assert 'class="verdict good"' in page  # a small group is no reason to doubt the classifier
