"""Which class is taken for which: counts and bounds on the page, for two classes and for many."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix as counted
from sklearn.neighbors import KNeighborsClassifier

from pbgnet.certificates import Classes, certify, percent_up, round_up
from pbgnet.report import render_report
from pbgnet.report.class_facts import class_numbers, listed, title
from pbgnet.report.confusion import confusion_matrix


def told(claim):
    return f"{percent_up(claim.value)} %"


def matrix_of(subject):
    answers = subject.model.answers
    return confusion_matrix(
        subject.model.certificate, subject.model.inputs.classes, answers.truth, answers.answered
    )


def test_counts_are_those_of_scikit_learn(make_classes):
    subject = make_classes(5)
    rows = subject.model.certified_rows
    truth = np.array(subject.y)[rows]
    expected = counted(truth, subject.model.predict(subject.X[rows]), labels=list(subject.model.classes))
    matrix = matrix_of(subject)
    assert [[cell.count for cell in line.cells] for line in matrix.lines] == expected.tolist()
    assert sum(line.n_errors for line in matrix.lines) == subject.model.certificate.inputs.n_errors > 0
    assert not matrix.bounded
    assert not matrix.by_class


def test_every_wrong_cell_has_its_certified_bound(make_classes):
    subject = make_classes(4, confusion=True)
    certificate, names = subject.model.certificate, subject.model.inputs.classes.names
    lines = dict(zip(names, matrix_of(subject).lines, strict=True))
    assert len(certificate.confusion) == 12
    for claim in certificate.confusion:
        cell = lines[claim.given_class].cells[names.index(claim.answered)]
        assert cell.bound == told(claim)
        assert cell.count == round(claim.empirical_risk * claim.evidence.n)
    for k, claim in enumerate(certificate.class_conditional):
        assert lines[claim.given_class].bound == told(claim)
        assert lines[claim.given_class].cells[k].bound == ""


def test_of_two_classes_the_wrong_answer_is_the_error(make):
    subject = make(certificate="held-out", class_conditional=True)
    for line, claim in zip(
        matrix_of(subject).lines, subject.model.certificate.class_conditional, strict=True
    ):
        assert sorted(cell.bound for cell in line.cells) == ["", told(claim)]
        assert line.bound == told(claim)


def test_the_page_shows_the_matrix_as_a_table(make_classes):
    page = make_classes(4, confusion=True).render()
    table = page[page.index('<table class="confusion">') : page.index("</table>", page.index("confusion"))]
    assert table.count('scope="row"') == 4
    assert table.count('scope="col"') == 6
    assert table.count("<caption>") == 1
    assert len(re.findall(r'<td class="right', table)) == 4
    assert len(re.findall(r'<td class="wrong', table)) == 12
    strengths = [float(text) for text in re.findall(r"--strength: ([\d.]+)", table)]
    assert len(strengths) == 16
    assert 0 <= min(strengths) < max(strengths) <= 0.55
    assert "hold together" in page
    assert "No single class has a bound." not in page


def test_without_bounds_it_says_that_these_are_counts(make_classes):
    page = make_classes(3).render()
    assert "These are counts. No single class has a bound." in page
    assert "<small>" not in page


def test_of_many_classes_the_largest_confusions_are_listed(make_classes):
    subject = make_classes(40, n=2400, noise=4.0, confusion=True)
    page, matrix = subject.render(), matrix_of(subject)
    assert '<table class="confusion">' not in page
    assert "The most frequent confusions" in page
    assert "The worst classes" in page
    counts = [int(text.split()[0]) for _, _, text, _ in matrix.largest]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == len(matrix.worst) == 20
    every = [cell.count for line in matrix.lines for cell in line.cells if not cell.right]
    assert counts == sorted(every, reverse=True)[:20]
    rates = [float(rate.removesuffix(" %")) for _, _, rate, _ in matrix.worst]
    assert rates == sorted(rates, reverse=True)
    claim = max(subject.model.certificate.class_conditional, key=lambda claim: claim.value)
    assert f'id="worst-class">{round_up(claim.value)}' in page
    assert 'id="class-0"' not in page


def test_many_classes_without_an_error_are_told_so(make_classes):
    page = make_classes(40, n=800, noise=0.1).render()
    assert "No row is answered wrong." in page
    assert "The most frequent confusions" not in page


def test_a_classifier_known_by_its_answers_has_a_matrix_too():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 400)
    X = (
        rng.normal(size=(400, 2))
        + 2.0 * np.array([[0, 0], [1, 0], [0, 1]])[np.unique(y, return_inverse=True)[1]]
    )
    neighbours = KNeighborsClassifier().fit(X[:200], y[:200])
    certified = certify(neighbours, X[200:], y[200:], confusion=True)
    page = render_report(certified, X[200:], y[200:])
    expected = counted(y[200:], neighbours.predict(X[200:]))
    found = re.findall(r"<span>(\d+)", page[page.index('<table class="confusion">') :])
    assert list(map(int, found)) == expected.ravel().tolist()
    for claim in certified.certificate.confusion:
        assert f"{told(claim)}</small>" in page
    assert "<h1>Certified classifier: a, b or c</h1>" in page


@pytest.mark.parametrize("n_classes", [3, 10])
def test_the_page_of_several_classes_says_so(make_classes, n_classes):
    subject = make_classes(n_classes, class_conditional=True)
    page = subject.render()
    r = subject.model.network.architecture.n_outputs
    told_apart = "kind 0, kind 1 or kind 2" if n_classes == 3 else "10 classes"
    assert f"<title>Certificate: {told_apart}</title>" in page
    assert f"{r}-{r}</td>" in page
    assert "hadamard: any two classes differ in " in page
    assert "margin: score of the true class" in page
    assert "share of the answer" in page
    assert "label times aggregate" not in page
    assert "Each chart shows the class that the column moves most." in page
    assert "times the kl bound" in page
    assert "twice the kl bound" not in page
    assert subject.model.certificate.statement.replace("'", "&#39;") in page


def test_classes_are_named_and_the_first_of_many():
    assert listed(["a"]) == "'a'"
    assert listed([1, 2, 3]) == "1, 2 and 3"
    assert listed(list(range(99))).endswith(", 9 and 89 more")
    assert (title([False, True]), title(["a"]), title(["a", "b", "c"])) == ("False or True", "a", "a, b or c")
    assert title(["a", "b"], several_labels=True) == "a and b"


def test_key_numbers_are_few_however_many_the_classes(make_classes):
    names = [name for name, *_ in class_numbers(make_classes(3, class_conditional=True).model.certificate)]
    assert names == ["class-0", "class-1", "class-2", "balanced"]
    names = [name for name, *_ in class_numbers(make_classes(10, class_conditional=True).model.certificate)]
    assert names == ["worst-class", "balanced"]
    assert class_numbers(make_classes(3).model.certificate) == ()


def test_blank_labels_have_a_name():
    classes = Classes(("", "b"))
    certificate = SimpleNamespace(class_conditional=(), confusion=(), confidence=0.95)
    matrix = confusion_matrix(certificate, classes, np.array([0, 1]), np.array([1, 1]))
    assert [line.name for line in matrix.lines] == ["''", "b"]
    assert [line.error_rate for line in matrix.lines] == ["100.0 %", "0.0 %"]
