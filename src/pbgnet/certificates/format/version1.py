"""Version 1 of the format: how a certificate is written and read, and all its sentences.

New words, or another form, are a new version: one more module like this one.
"""

from typing import TYPE_CHECKING, Any

from pbgnet.bounds import percent, round_up
from pbgnet.certificates.format import version1_outputs
from pbgnet.certificates.format.class_words import told_by_class, told_of_cells
from pbgnet.certificates.format.group_words import groups_settled, small_groups_told, statement_of_groups
from pbgnet.certificates.format.selection_words import (
    SCORE_OF_ROW,
    THRESHOLDS_SETTLED,
    bounded_answers,
)
from pbgnet.certificates.format.subjects import (
    ClassifierSubject,
    DisagreementSubject,
    FittedSubject,
    NetworkSubject,
    PreprocessingRecord,
)
from pbgnet.certificates.format.version1_words import (
    AGGREGATE_OF_TREE,
    COMPARISON,
    EXPORTED,
    FITTED,
    LOSS_OF_ROW,
    LOSS_SETTLED,
    LOSS_WORDS,
    MOST_NAMED,
    NAMED,
    NOT_COVERED,
    NOT_KEPT,
    OWN_LOSS,
    PREDICTOR_WORDS,
    PREPROCESSING_WORDS,
    PRIOR_KEPT,
    PRIOR_WORDS,
    SPLIT_WORDS,
    SUBJECTS,
)
from pbgnet.exceptions import DamagedFileError

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate

WORDS = ("statement", "assumptions", "predictors", "comparison", "yardstick", "shortcomings")
"""Keys of the sentences, which are made from the other content."""


def write(certificate: "Certificate", content: dict[str, Any]) -> dict[str, Any]:
    """Put the sentences before the content."""
    return {
        "statement": statement(certificate),
        "assumptions": list(assumptions(certificate)),
        "predictors": list(predictors(certificate)),
        "comparison": COMPARISON,
        "yardstick": yardstick(certificate),
        "shortcomings": list(shortcomings(certificate)),
        **content,
    }


def read(data: dict[str, Any]) -> dict[str, Any]:
    """Take the sentences and the seal apart from the content."""
    keys = (*WORDS, "seal")
    if absent := [key for key in keys if key not in data]:
        raise DamagedFileError(f"The certificate lacks the key {absent[0]}.")
    content = {key: value for key, value in data.items() if key not in keys}
    return {**content, "written": {key: data[key] for key in keys}}


def statement(certificate: "Certificate") -> str:
    """Return the sentence a person reads."""
    rate, loss = certificate.error_rate, certificate.linear_loss if certificate.of_network else None
    confidence = percent(certificate.confidence)
    if isinstance(certificate.subject, DisagreementSubject):
        return _disagreement(certificate, confidence)
    rows = "row" if rate.evidence.n == 1 else "rows"
    head = (
        f"With {confidence} % confidence over the draw of the {rate.evidence.n} certified "
        f"{rows}{_sign_vectors(certificate)}, "
    )
    if certificate.of_labels:
        return f"{head}{version1_outputs.bounded_labels(certificate)}."
    if loss is not None:
        bounded = f"the expected linear loss of the aggregate is at most {round_up(loss.value)}, "
        if rate.value < 1:
            bounded += f"so the error rate of its vote is at most {round_up(rate.value)}"
        else:
            bounded += "which says nothing about the error rate of its vote"
    elif rate.value < 1:
        bounded = f"{SUBJECTS[rate.predictor]} is at most {round_up(rate.value)}"
    else:
        bounded = f"nothing is proved about {SUBJECTS[rate.predictor]}"
    return f"{head}{bounded}{_further_claims(certificate)}."


def predictors(certificate: "Certificate") -> tuple[str, ...]:
    """Say which predictors the claims speak of, and which one they do not."""
    named = dict.fromkeys(claim.predictor for claim in certificate.claims)
    words = dict(PREDICTOR_WORDS)
    subject = certificate.subject
    if isinstance(subject, NetworkSubject):
        words |= version1_outputs.predictor_words(certificate)
        if len(subject.network.hidden_layer_sizes) > 1:
            words["aggregate"] = AGGREGATE_OF_TREE
    if certificate.has_discarded:
        words["prior's vote"] += NOT_KEPT
    if isinstance(subject, DisagreementSubject) and subject.exported is not None:
        words["classifier"] = EXPORTED
    if isinstance(subject, ClassifierSubject) and subject.name is not None:
        words["classifier"] = NAMED.format(name=subject.name)
    if isinstance(subject, FittedSubject):
        words["classifier"] = FITTED.format(
            classifier=subject.fit.classifier, library=subject.fit.library, n=subject.n_prior_rows
        )
    covered = tuple(words[name] for name in named)
    if certificate.of_network:
        return (*covered, NOT_COVERED)
    loss = certificate.expected_loss
    if loss is None:
        return covered
    return (*covered, LOSS_WORDS.get(loss.quantity, f"The {loss.quantity} {OWN_LOSS}"))


def assumptions(certificate: "Certificate") -> tuple[str, ...]:
    """Return what must be true for the statement to hold."""
    rows = "unlabelled" if isinstance(certificate.subject, DisagreementSubject) else "certified"
    return (
        f"The {rows} rows are independent draws from a single distribution, the same one as the rows you "
        "will classify.",
        *_duplicates(certificate, rows),
        *(_of_network(certificate) if certificate.of_network else _of_classifier(certificate)),
        *groups_settled(certificate),
        *_choices(certificate),
        *(() if certificate.answered_error_rate is None else (THRESHOLDS_SETTLED, SCORE_OF_ROW)),
    )


def yardstick(certificate: "Certificate") -> str:
    """Say how often always the same answer errs on the certified rows."""
    majority = certificate.majority
    if majority is None:
        return "Without labels, the error rate of always giving the same answer is unknown on these rows."
    if certificate.of_labels:
        return version1_outputs.yardstick_of_labels(certificate)
    alone = ""
    if majority.chosen_on == "certified rows":
        alone = " There are no prior rows, so this answer was chosen on the same rows it is counted on."
    return (
        f"For comparison, counted and not certified: always answering {majority.answer}, the most frequent "
        f"class of the {majority.chosen_on}, is wrong on {majority.n_errors} of {majority.n} rows, a rate of "
        f"{majority.error_rate:.4f}.{alone}"
    )


def shortcomings(certificate: "Certificate") -> tuple[str, ...]:
    """Say where the classifier is not shown to be of use."""
    inputs, majority, told = certificate.inputs, certificate.majority, []
    if majority is not None and not certificate.beats_majority:
        told.append(
            f"The bound of {round_up(certificate.error_rate.value)} is no better than always answering "
            f"{majority.answer}, which is wrong on {majority.n_errors} of the {majority.n} certified rows, a "
            f"rate of {majority.error_rate:.4f}. The classifier is wrong on {inputs.n_errors} of them."
        )
    if missing := inputs.never_answered:
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        kind = ("Labels", "A label") if certificate.of_labels else ("Classes", "A class")
        classes = (
            f"{kind[0]} that certified rows have are"
            if len(missing) > 1
            else f"{kind[1]} that certified rows have is"
        )
        told.append(f"{classes} never given as an answer on them: {', '.join(missing[:MOST_NAMED])}{more}.")
    return (*told, *small_groups_told(certificate))


def _further_claims(certificate: "Certificate") -> str:
    """Return what is claimed of each class and group, and of the loss of a classifier."""
    claims, told, open_end = certificate.class_conditional, "", ""
    answered = certificate.answered_error_rate
    something = certificate.error_rate.value < 1 or bool(claims) or bool(certificate.by_group)
    something = something or (answered is not None and answered.value < 1)
    if claims:
        told += f"; it is {told_by_class(claims, round_up)}"
    if (balanced := certificate.balanced_error_rate) is not None:
        told += f", so the balanced error rate, the mean over the classes, is at most {round_up(balanced)}"
    if certificate.confusion:
        told += f"; {told_of_cells(certificate.confusion, round_up)}"
    told += statement_of_groups(certificate)  # of all their rows, so before those that are answered
    told += bounded_answers(certificate)
    if not certificate.of_network and (loss := certificate.expected_loss) is not None:
        if loss.value < 1:
            told += f"; its expected {loss.quantity} is at most {round_up(loss.value)}"
        else:
            open_end = f"{'; nothing is proved' if something else ', nor'} about its expected {loss.quantity}"
    return told + (", all of this together" if told and something else "") + open_end


def _sign_vectors(certificate: "Certificate") -> str:
    """Name the other thing that was drawn, where the empirical risk is a sampled one."""
    draws = certificate.network.aggregation.n_samples if certificate.of_network else None
    if draws is None:
        return ""
    return f" and of the {draws} {'sign vector' if draws == 1 else 'sign vectors'} per row"


def _disagreement(certificate: "Certificate", confidence: str) -> str:
    rate, subject = certificate.error_rate, certificate.subject
    assert isinstance(subject, DisagreementSubject)
    reference = subject.reference
    head = (
        f"With {confidence} % confidence over the draws of the {reference.claim.evidence.n} previously "
        f"certified rows and of {rate.evidence.n} rows without labels, "
    )
    if rate.value >= 1:
        return f"{head}nothing is proved about the error rate of the classifier."
    return (
        f"{head}the error rate of the classifier is at most {round_up(rate.value)}: at most "
        f"{round_up(reference.claim.value)} for the certified vote, plus the rest for the "
        f"{certificate.inputs.n_errors} rows on which the two disagree."
    )


def _duplicates(certificate: "Certificate", rows: str) -> tuple[str, ...]:
    count = certificate.inputs.n_duplicates
    if not count:
        return ()
    whole = certificate.of_network or isinstance(certificate.subject, FittedSubject)
    another = "another row of the table (prior rows included)" if whole else "another one"
    return (
        f"{count} of the {rows} rows repeat {another}. Independent draws may coincide, but copies of the "
        "same case break the assumption above.",
    )


def _of_network(certificate: "Certificate") -> tuple[str, ...]:
    prior, preprocessing = certificate.network.prior, certificate.network.preprocessing
    if certificate.n_priors == 1:
        count = (
            "There was only one possible prior: no other could have been chosen after looking at the "
            "certified rows."
        )
    else:
        count = (
            f"At most {certificate.n_priors} priors could have been chosen after looking at the certified "
            "rows (other widths, depths, seeds and pre-trainings count). The confidence holds for all of "
            "them together."
        )
    return (
        PRIOR_WORDS[prior.how],
        *version1_outputs.settled(certificate),
        *_split(certificate),
        count,
        _preprocessing(preprocessing),
        "The numbers are about the predictors named above, not about the plain sign network.",
    )


def _preprocessing(record: PreprocessingRecord) -> str:
    text = record.description.strip().rstrip(".")
    return PREPROCESSING_WORDS[record.status] + (f" Description: {text}." if text else "")


def _split(certificate: "Certificate") -> tuple[str, ...]:
    inputs, how, left_out = certificate.inputs, certificate.network.split.how, certificate.network.n_left_out
    told = []
    if how in SPLIT_WORDS and certificate.n_rows_total > inputs.n + left_out:
        told.append(SPLIT_WORDS[how].format(column=repr(certificate.network.split.column)))
    if left_out:
        rows = "1 row of the table is" if left_out == 1 else f"{left_out} rows of the table are"
        told.append(
            f"{rows} neither prior rows nor certified rows: the user left them out, and vouches that this "
            "was done without looking at their features or labels."
        )
    return tuple(told)


def _of_classifier(certificate: "Certificate") -> tuple[str, ...]:
    if certificate.n_priors == 1:
        count = "This is a single classifier, not the best of several on these rows."
    else:
        count = (
            f"This is one of at most {certificate.n_priors} classifiers. The confidence holds for all of "
            "them together."
        )
    if isinstance(certificate.subject, DisagreementSubject):
        return (
            "The classifier and the certified vote were fixed before looking at these rows, or do not "
            "depend on them.",
            count,
            "The confidence was divided between the two before looking at these rows.",
            "The certificate of the vote holds at the stated share of delta.",
        )
    fixed: tuple[str, ...] = (
        "The classifier, and everything done to the rows before they reach it, was fixed without looking at "
        "these rows.",
    )
    if isinstance(certificate.subject, FittedSubject):
        fixed = _of_fit(certificate.subject)
    return (
        *fixed,
        *(version1_outputs.settled(certificate) if certificate.of_labels else ()),
        count,
        *(() if certificate.expected_loss is None else (LOSS_SETTLED, LOSS_OF_ROW)),
    )


def _of_fit(subject: FittedSubject) -> tuple[str, ...]:
    split = subject.split
    return (
        SPLIT_WORDS[split.how].format(column=repr(split.column)),
        f"The classifier was fitted only on the {subject.n_prior_rows} prior rows and never saw a certified "
        "row. The fit is not repeated, and is taken on trust.",
        _preprocessing(subject.fit.preprocessing),
    )


def _choices(certificate: "Certificate") -> tuple[str, ...]:
    choices = certificate.choices
    told = []
    if certificate.of_network and len(choices.candidates) == 1:
        route = choices.candidates[0]
        told.append(f"The type of certificate, {route!r}, was chosen before looking at the certified rows.")
        if choices.keeps_prior:
            told.append(PRIOR_KEPT)
    seed = certificate.network.aggregation.seed if certificate.of_network else None
    if seed is not None:
        told.append(f"The seed of the sign vectors, {seed}, was fixed in advance: no other was tried.")
    if choices.on_prior_rows:
        told.append(f"Chosen only on the prior rows, at no cost: {'; '.join(choices.on_prior_rows)}.")
    told += [f"Delta is divided by {union.count} to cover {union.what}." for union in choices.unions]
    return tuple(told)
