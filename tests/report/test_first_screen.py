"""What a reader sees first: every number is the certificate's, and none is missing."""

import re

import numpy as np
import pytest
from scipy import stats

from pbgnet.certificates import certify, certify_selective, percent, percent_up
from pbgnet.report import About, render_report
from pbgnet.report.first_screen import first_screen
from pbgnet.report.more_rows import SPAN, more_rows


def certified(n=200, n_errors=9, share=0.7, **terms):
    """Certify answers with so many errors."""
    y = np.where(np.arange(n) < share * n, "no", "yes")
    answers = np.where(np.arange(n) < n_errors, np.where(y == "no", "yes", "no"), y)
    X = np.arange(n, dtype=float)[:, None]
    return certify(lambda rows: answers[rows[:, 0].astype(int)], X, y, **terms)


def numbers(text):
    """Return all numbers in a text, as they are printed."""
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text)


@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("n_errors", [0, 3, 17])
@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_every_number_is_the_certificates(n, n_errors, delta):
    certificate = certified(n, n_errors, confidence=1 - delta).certificate
    first = first_screen(certificate)
    bound = percent_up(certificate.error_rate.value)
    assert first.headline == ("Wrong at most", f"{bound} %", "of the time")
    told = {fact.name: numbers(f"{fact.answer} {fact.meaning}") for fact in first.facts}
    majority = certificate.majority
    assert told == {
        "sure": [percent(1 - delta), percent(delta), "100"],
        "rows": [f"{n:,}", str(n_errors), f"{100 * n_errors / n:.1f}"],
        "trivial": [f"{100 * majority.error_rate:.1f}", f"{majority.n_errors:,}"],
    }
    values = [(bar.colour, bar.value, *numbers(bar.text)) for bar in first.chart.bars]
    assert values == [
        ("certified", certificate.error_rate.value, bound),
        ("measured", n_errors / n, f"{100 * n_errors / n:.1f}"),
        ("trivial", majority.error_rate, f"{100 * majority.error_rate:.1f}"),
    ]


def test_a_trivial_bound_says_that_nothing_is_proved():
    certificate = certified(20, 20).certificate
    first = first_screen(certificate)
    assert first.headline[0] == "Nothing is proved"
    assert [bar.colour for bar in first.chart.bars] == ["measured", "trivial"]


@pytest.mark.parametrize("terms", [{"error": 0.1}, {"coverage": 0.8}])
def test_the_bound_on_answers_is_the_one_of_the_summary(terms):
    """0.1 is a little more than a tenth in binary; a target of 10 % is 10 % all the same."""
    y = np.arange(200) % 2

    def answer(rows):
        truth = rows[:, 0].astype(int) % 2
        return np.where(rows[:, 0] < 9, 1 - truth, truth)

    def place(_, rows):
        return rows[:, 0] / 200

    X = np.arange(200.0)[:, None]
    certificate = certify_selective(answer, X, y, scores=place, training_data=X + 0.5, **terms).certificate
    (selected,) = [fact for fact in first_screen(certificate).facts if fact.name == "selected"]
    assert selected.answer in certificate.summary
    if "error" in terms:
        assert selected.answer == "at most 10 %"


def test_it_says_what_would_break_the_bound(make):
    def heads(certificate):
        return [head for head, _ in first_screen(certificate).breaks]

    alone = certified().certificate
    assert "Training on the certified rows." in heads(alone)
    assert "A look at the certified rows." in heads(make(certificate="held-out").model.certificate)
    assert "A group that differs." in heads(alone)
    grouped = certified(groups=np.where(np.arange(200) % 2, "a", "b")).certificate
    assert "A group that is not listed." in heads(grouped)


def test_the_header_names_data_date_and_contact():
    result = certified()
    page = render_report(result, about=About(data="loans <1>.csv", contact="ask@bank.example"))
    header = page[page.index("<header>") : page.index("</header>")]
    for words in ("loans &lt;1&gt;.csv", "ask@bank.example", result.certificate.issued_at[:10]):
        assert words in header
    bare = render_report(result)
    assert 'id="data"' not in bare
    assert 'id="contact"' not in bare


def test_every_link_inside_a_page_leads_somewhere(make, make_classes):
    for page in (make().render(), make_classes(3).render(), render_report(certified())):
        ids = set(re.findall(r'\bid="([^"]+)"', page))
        links = set(re.findall(r'href="#([^"]+)"', page))
        assert links
        assert links <= ids


def test_more_rows_give_the_bound_of_clopper_and_pearson():
    certificate = certified(200, 10).certificate
    more = more_rows(certificate)
    for times, words in zip((2, 4, 16), more.words, strict=True):
        bound = stats.beta.ppf(0.95, 10 * times + 1, 190 * times)
        assert words.startswith(f"{percent_up(bound)} % with ")
        assert words.endswith(f" {200 * times:,}")
    assert SPAN == 16
    assert f"now {percent_up(certificate.error_rate.value)} %" in more.chart.__html__()


def test_only_a_count_of_errors_is_carried_on_to_more_rows(subject):
    assert more_rows(subject.model.certificate) is None
    assert more_rows(certified(1, 0).certificate) is not None
