"""The page says what the certificate says, safely."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from pbgnet.certificates import round_up
from pbgnet.exceptions import DomainError
from pbgnet.report import render_report, write_report
from pbgnet.report.comparison import verdict

HOSTILE = "\"><img src=http://evil.invalid/x onerror=alert(1)><script>alert(2)</script>&amp;'\x00\x1b"


class Elements(HTMLParser):
    """Collects the elements, attributes and visible text of a page; every element must be closed."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.text, self.by_id = [], [], [], {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if any(name == "style" for name, _ in self.open):
            return
        self.text.append(data)
        for _, name in self.open:
            if name:
                self.by_id[name] = self.by_id.get(name, "") + data


def test_it_says_what_the_certificate_says(subject):
    found, certificate = Elements(subject.render()), subject.model.certificate
    assert found.by_id["statement"] == certificate.statement
    assert found.by_id["bound"] == round_up(certificate.linear_loss.value)
    assert found.by_id["error-rate"] == round_up(certificate.error_rate.value)
    assert found.by_id["risk"] == f"{certificate.network.empirical_risk:.4f}"
    assert found.by_id["certified-rows"] == found.by_id["prior-rows"] == "150"
    text = " ".join(found.text)
    for part in (
        *certificate.assumptions,
        certificate.fingerprints.data,
        certificate.network.posterior_weights,
        certificate.issued_at,
        "pbgnet verify MODEL DATA",
    ):
        assert part in text
    for part in certificate.predictors:
        assert part in text
    assert f"probability at most {certificate.delta:g}" in text


def test_the_first_screen_has_no_jargon(make):
    page = make(certificate="held-out").render()
    first = page[page.index("<main>") : page.index("</section>")]
    for word in ("prior's", "posterior", "linear loss", "nats", "delta", "divergence", "aggregate", "Gibbs"):
        assert word not in first
    assert Elements(page).by_id["summary"].startswith("Wrong at most ")
    assert page.index('id="summary"') < page.index('id="statement"')


def test_both_losses_are_kept_apart(subject):
    found, certificate = Elements(subject.render()), subject.model.certificate
    loss, errors = found.by_id["chart-loss"], found.by_id["chart-errors"]
    for claim in (*certificate.claims, *certificate.alternatives):
        assert round_up(claim.value) in (loss if claim.quantity == "linear loss" else errors)
    assert round_up(certificate.error_rate.value) not in loss
    for words in (
        "Certified: kl bound",
        "For comparison: held-out bound, prior alone",
        "Always the most frequent class",
    ):
        assert words in loss
    for words in ("Certified: twice the kl bound", "For comparison: vote of ", "held-out count, prior alone"):
        assert words in errors


def test_a_test_set_is_shown_beside_the_bounds(subject):
    page = render_report(subject.model, subject.X, subject.y, tested=(3, 96))
    assert "Measured on 96 test rows: 0.0312" in Elements(page).by_id["chart-errors"]
    assert "test rows" not in Elements(subject.render()).by_id["chart-errors"]


def test_rows_of_the_training_table_in_a_test_set_are_told(subject):
    page = render_report(subject.model, subject.X, subject.y, tested=(3, 96, 40))
    told = "Measured on 96 test rows, 40 of them in the training table: 0.0312"
    assert told in Elements(page).by_id["chart-errors"]
    for wrong in ((3, 96, 97), (97, 96, 0), (3, 96, -1)):
        with pytest.raises(DomainError):
            render_report(subject.model, subject.X, subject.y, tested=wrong)


def test_the_majority_answer_stands_beside_the_bound(make):
    subject = make(certificate="held-out")
    found, certificate = Elements(subject.render()), subject.model.certificate
    majority = certificate.majority
    assert found.by_id["majority"] == f"{majority.error_rate:.4f}"
    assert found.by_id["yardstick"] == certificate.yardstick
    assert f"of always answering {majority.answer}: {majority.n_errors} of 150" in " ".join(found.text)
    boxes = [attributes["class"] for _, attributes in found.elements if "class" in attributes]
    assert "verdict good" in boxes or "verdict warn" in boxes
    assert not [box for box in boxes if "bad" in box]


def test_a_bound_that_does_not_beat_the_majority_has_a_red_box(make):
    subject = make(certificate="held-out")
    certificate = subject.model.certificate
    worse = dataclasses.replace(certificate.majority, n_errors=1, error_rate=1 / 150)
    inputs = dataclasses.replace(certificate.inputs, never_answered=("'yes'",))
    lost = dataclasses.replace(certificate, majority=worse, inputs=inputs)
    page = render_report(dataclasses.replace(subject.model, certificate=lost), subject.X, subject.y)
    found = Elements(page)
    boxes = [attributes.get("class", "") for _, attributes in found.elements]
    assert boxes.count("verdict bad shortcoming") == 2
    assert boxes.count("verdict bad") == 1
    assert "verdict good" not in boxes
    text = " ".join(found.text)
    for sentence in lost.shortcomings:
        assert text.count(sentence) == 2, "under the statement, and in the verdict"
    assert "is no better than always answering" in text
    assert "never given as an answer on them: 'yes'" in text


def test_the_balanced_error_rate_is_among_the_numbers(make):
    subject = make(certificate="held-out", class_conditional=True)
    value = subject.model.certificate.balanced_error_rate
    assert Elements(subject.render()).by_id["balanced"] == round_up(value)


@pytest.mark.parametrize("certificate", ["auto", "vote", "held-out", "mixture"])
def test_every_route_has_its_page(make, certificate):
    subject = make(certificate=certificate, class_conditional=certificate == "vote")
    found, issued = Elements(subject.render()), subject.model.certificate
    assert found.by_id["error-rate"] == round_up(issued.error_rate.value)
    assert issued.statement in " ".join(found.text)
    for k, claim in enumerate(issued.class_conditional):
        assert found.by_id[f"class-{k}"] == round_up(claim.value)
    if certificate in ("auto", "held-out"):
        assert found.by_id["route"] in ("held-out count, prior alone", "vote of 1 networks")


def test_it_says_that_the_bounds_do_not_hold_jointly(subject):
    text = " ".join(" ".join(Elements(subject.render()).text).split())
    assert "do not hold jointly" in text
    assert "choose the smallest after looking at them costs confidence" in text


def test_nothing_is_loaded_or_run(subject):
    page = subject.render()
    tags = {tag for tag, _ in Elements(page).elements}
    assert tags.isdisjoint(
        {"script", "link", "img", "iframe", "object", "embed", "form", "base", "audio", "video"}
    )
    assert not re.search(r"https?:|//|url\(|@import|javascript:", page)
    assert "default-src 'none'" in page


def test_hostile_names_stay_text(make):
    subject = make(classes=(HOSTILE, "ok"), names=("a", HOSTILE, "<!--"))
    page = subject.render()
    found = Elements(page)
    assert {tag for tag, _ in found.elements}.isdisjoint({"script", "img"})
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in page
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "<!--" not in page


def test_every_chart_has_a_title_and_a_description(subject):
    found = Elements(subject.render())
    charts = [attributes for tag, attributes in found.elements if tag == "svg"]
    assert len(charts) == 8
    for chart in charts:
        title, description = chart["aria-labelledby"].split()
        assert chart["role"] == "img"
        assert len(found.by_id[title]) > 3
        assert len(found.by_id[description]) > 20
    names = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("rate", "other", "words"),
    [
        (0.2, 0.4, "No other route gives a smaller bound"),
        (0.2, 0.2, "No other route gives a smaller bound"),
        (0.2, 0.15, "would have given the smaller bound 0.1500 on the error rate"),
        (1.0, 0.9, "would have given the smaller bound 0.9001"),
        (1.0, 1.0, "The bound is trivial: nothing is proved"),
    ],
)
def test_the_verdict_is_honest(subject, rate, other, words):
    certificate = subject.model.certificate
    loss, doubled = certificate.claims
    changed = dataclasses.replace(
        certificate,
        claims=(loss, dataclasses.replace(doubled, value=rate)),
        alternatives=tuple(dataclasses.replace(claim, value=other) for claim in certificate.alternatives),
    )
    assert words in verdict(changed)[1]


def test_without_history_it_says_so(subject, make):
    bare = render_report(subject.model, subject.X, subject.y)
    assert "How training went was not recorded" in bare
    assert "curve-" not in bare
    assert "curve-loss" in subject.render()


def test_shared_confidence_is_told(make):
    assert "confidence, shared between 7 priors" in make(n_priors=7).render()


def test_written_whole_or_not_at_all(subject, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    assert write_report(path, subject.model, subject.X, subject.y, history=subject.history) == path
    assert path.read_text(encoding="utf-8") == subject.render()
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_report(path, subject.model, subject.X, subject.y, history=subject.history)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
