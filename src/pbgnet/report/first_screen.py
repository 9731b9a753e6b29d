"""What a reader sees first: how often it is wrong, how sure that is, on how many rows, and a comparison."""

from dataclasses import dataclass
from typing import NamedTuple

from pbgnet.certificates import (
    Certificate,
    DisagreementSubject,
    FittedSubject,
    answered_percent,
    percent,
    percent_up,
)
from pbgnet.pages import Bar, Bars
from pbgnet.report.kept import ErrorCount

ELSEWHERE = (
    "Rows from elsewhere.",
    "The bound is about rows that come from the same source as the certified rows. Another place, time or "
    "way of measuring can change the error rate.",
)
PEEKING = (
    "A look at the certified rows.",
    "The bound fails if columns, settings or the model were chosen by how well they did on these rows.",
)
TRAINING = (
    "Training on the certified rows.",
    "The bound fails if the classifier was trained on these rows, or chosen by how well it did on them.",
)
WRONG_LABELS = (
    "Wrong labels.",
    "An answer counts as right if it is the label in the table, whether or not that label is true.",
)
CHANGES = (
    "Changes afterwards.",
    "The certificate covers this classifier only. Once it is retrained, compressed or given another "
    "threshold, the certificate no longer applies.",
)
AVERAGE = (
    "A group that differs.",
    "The bound is about the average over all rows. It can be wrong more often in some group, and any "
    "single answer can be wrong.",
)
OTHER_GROUPS = (
    "A group that is not listed.",
    "The groups below have bounds. It can be wrong more often in other groups, and any single answer can "
    "be wrong.",
)


class Fact(NamedTuple):
    """One answer: its id in the page, the question, a few words, and what they mean."""

    name: str
    question: str
    answer: str
    meaning: str


@dataclass(frozen=True)
class FirstScreen:
    """The first screen.

    Attributes
    ----------
    headline : tuple of 3 str
        Words before the number, the number, words after it.
    facts : tuple of Fact
    chart : Bars
        The bound beside the measured rate and always the same answer.
    breaks : tuple of (str, str)
        What would make the bound wrong, each with a word and a sentence.
    """

    headline: tuple[str, str, str]
    facts: tuple[Fact, ...]
    chart: Bars
    breaks: tuple[tuple[str, str], ...]


def first_screen(certificate: Certificate, tested: ErrorCount | None = None) -> FirstScreen:
    """Return the first screen; all its numbers are from the certificate, or were counted on the test set."""
    groups = OTHER_GROUPS if certificate.groups is not None else AVERAGE
    known = certificate.of_network or isinstance(certificate.subject, FittedSubject)
    looked = PEEKING if known else TRAINING
    return FirstScreen(
        _headline(certificate),
        (
            _confidence(certificate),
            _rows(certificate),
            *_majority(certificate),
            *_labels(certificate),
            *_answered(certificate),
        ),
        _chart(certificate, tested),
        (ELSEWHERE, groups, looked, WRONG_LABELS, CHANGES),
    )


def percents(share: float) -> str:
    """Write a counted share as a percentage.

    Examples
    --------
    >>> from pbgnet.report.first_screen import percents
    >>> percents(11 / 285), percents(0.0)
    ('3.9 %', '0.0 %')
    """
    return f"{100 * share:.1f} %"


def at_most(value: float) -> str:
    """Write a bound as a percentage, rounded up."""
    return f"{percent_up(value)} %"


def _headline(certificate: Certificate) -> tuple[str, str, str]:
    rate, hamming = certificate.error_rate.value, certificate.hamming_loss
    if rate < 1:
        before, after = ("Any label wrong on", "of rows") if hamming else ("Wrong", "of the time")
        return f"{before} at most", at_most(rate), after
    if hamming is not None and hamming.value < 1:
        return "At most", at_most(hamming.value), "of labels wrong"
    return "Nothing is proved", "", ""


def _confidence(certificate: Certificate) -> Fact:
    meaning = f"A certificate made this way is wrong in at most {percent(certificate.delta)} of 100 cases."
    if certificate.n_priors > 1:
        kind = "networks" if certificate.of_network else "classifiers"
        meaning += f" That includes the choice among {certificate.n_priors} {kind}."
    return Fact("sure", "How sure is that?", f"{percent(certificate.confidence)} % confidence", meaning)


def _rows(certificate: Certificate) -> Fact:
    inputs, subject = certificate.inputs, certificate.subject
    n = f"{inputs.n:,} {'row' if inputs.n == 1 else 'rows'}"
    question = "Where does it come from?"
    if isinstance(subject, DisagreementSubject):
        certified = subject.reference.claim.evidence.n
        meaning = f"It disagrees on {inputs.n_errors:,} of them with a model certified on {certified:,} rows."
        return Fact("rows", question, f"{n} without labels", meaning)
    wrong = "any label wrong on" if certificate.of_labels else "wrong on"
    meaning = f"It is {wrong} {inputs.n_errors:,} of them: {percents(inputs.empirical_error_rate)}."
    if certificate.of_labels:
        meaning = meaning.replace("It is any", "It has any")
    if isinstance(subject, FittedSubject) or certificate.error_rate.predictor == "prior's vote":
        return Fact("rows", question, f"{n} it has not seen", meaning)
    if certificate.of_network:
        meaning += " It also learned from them, which the bound takes into account."
    return Fact("rows", question, f"{n}", meaning)


def _majority(certificate: Certificate) -> tuple[Fact, ...]:
    majority = certificate.majority
    if majority is None:
        return ()
    meaning = f"Always answering {majority.answer} is wrong on {majority.n_errors:,} of the same rows."
    return (Fact("trivial", "Compared with what?", percents(majority.error_rate), meaning),)


def _labels(certificate: Certificate) -> tuple[Fact, ...]:
    claim = certificate.hamming_loss
    if claim is None or claim.value >= 1 or certificate.error_rate.value >= 1:
        return ()
    meaning = "This counts every label of every row by itself."
    return (Fact("each-label", "And label by label?", f"at most {at_most(claim.value)} wrong", meaning),)


def _answered(certificate: Certificate) -> tuple[Fact, ...]:
    claim, share = certificate.answered_error_rate, certificate.answered_share
    if claim is None or share is None:
        return ()
    if certificate.threshold is None:
        meaning = "No threshold could be certified, so it answers no row."
        return (Fact("selected", "And if it answers only when sure?", "nothing is proved", meaning),)
    meaning = f"It then answers {percents(share)} of these rows and leaves the others to you."
    limit = f"at most {answered_percent(claim)} %"
    return (Fact("selected", "And if it answers only when sure?", limit, meaning),)


def _chart(certificate: Certificate, tested: ErrorCount | None) -> Bars:
    rate, bars = certificate.error_rate.value, []
    if rate < 1:
        bars.append(Bar("Proved: at most", rate, at_most(rate), "certified"))
    if not isinstance(certificate.subject, DisagreementSubject):
        measured = certificate.inputs.empirical_error_rate
        bars.append(Bar("Measured on these rows", measured, percents(measured), "measured"))
    if tested is not None:
        share = tested.n_errors / tested.n_rows
        bars.append(Bar(tested.name, share, percents(share), "measured"))
    if (majority := certificate.majority) is not None:
        words = f"Always answering {majority.answer}"
        bars.append(Bar(words, majority.error_rate, percents(majority.error_rate), "trivial"))
    what = "Rows with any wrong label" if certificate.of_labels else "Wrong answers"
    return Bars("chart-first", what, bars)
