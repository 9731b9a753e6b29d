"""A certificate for another classifier, from how often it disagrees with a certified vote."""

import math
from typing import Any

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.asking import ask
from pbgnet.certificates.classifier.issuing import issue_for_answers
from pbgnet.certificates.classifier.predictions import (
    CertifiedPredictions,
    exported_network,
    fingerprint_predictions,
)
from pbgnet.certificates.classifier.seen_rows import refuse_rows_of_fit, refuse_seen_rows
from pbgnet.certificates.data import KeptRows, TableFacts, count_duplicates, unchanged_data
from pbgnet.certificates.format import Certificate, Choices, DisagreementSubject, ReferenceRecord
from pbgnet.certificates.network import CertifiedModel, delta_of
from pbgnet.certificates.routes import Measured, make_claim
from pbgnet.exceptions import DomainError, DtypeError, OptionError
from pbgnet.preprocessing import count_rows
from pbgnet.validation import positive_real

CHOICES = Choices("disagreement", (), (), ("disagreement",))
"""Nothing is chosen, and nothing else is claimed."""


def certify_by_disagreement(
    certified_model: CertifiedModel,
    predict: Any,
    X: Any,  # noqa: N803
    *,
    delta_share: float = 0.5,
    confidence: float | None = None,
    training_data: Any = None,
    n_models: int = 1,
) -> CertifiedPredictions:
    """Certify another classifier through its disagreement with a certified one, on rows without labels.

    `R(f) <= R(vote) + P(f and vote differ)`: the first term comes from the certificate of the vote, at a
    smaller share of delta; the second is the upper Clopper-Pearson limit for the number of rows on which they
    differ. Use it for an exported network, a smaller one, or one in lower precision.

    Parameters
    ----------
    certified_model : CertifiedModel
        Or a fitted estimator with `certified_model_`.
    predict : classifier or callable
        The other classifier, from raw rows to the labels of the certified model. A
        `pbgnet.export.OnnxClassifier` is recorded by its kind, precision and weights.
    X : DataFrame, ndarray, scipy sparse matrix or source, shape (m, d)
        Rows without labels, independent draws from the same distribution. Neither classifier may have been
        trained on them.
    delta_share : float, default=0.5
        Share of delta for the disagreement; the rest is for the vote. Choose it before you look at the rows.
    confidence : float, optional
        Confidence of the result. Default: that of the vote's certificate.
    training_data : table, or pair of table and labels, optional
        Rows the two classifiers were trained on, to check that no row of X is among them.
    n_models : int, default=1
        Number of classifiers among which you choose by looking at these rows; they share the part of delta
        that the disagreement has.

    Returns
    -------
    CertifiedPredictions

    Raises
    ------
    UncertifiedError
        If the certified model does not match its certificate, or a classifier changes the rows in place.
        Only `verify`, with its data, can tell whether that certificate is right.
    PriorLeakageError
        If the model or the classifier has seen one of the rows.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_by_disagreement, certify_network
    >>> from pbgnet.networks import AggregatedNetwork
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, X, y, classes=("no", "yes"), prior=PriorRecord("zero"),
    ...                         prior_rows=[], certified_rows=range(200))
    >>> fresh = np.linspace(-0.9, 0.9, 400)[:, None]
    >>> shipped = certify_by_disagreement(model, lambda X: np.where(X[:, 0] > 0, "yes", "no"), fresh)
    >>> shipped.certificate.inputs.n_errors, shipped.certificate.error_rate.route
    (0, 'disagreement')
    """
    model = getattr(certified_model, "certified_model_", certified_model)
    if not isinstance(model, CertifiedModel):
        raise DtypeError(
            "certified_model must be a certified model, such as certified_model_ of a fitted estimator; got "
            f"{type(certified_model).__name__}."
        )
    if not positive_real("delta_share", delta_share) < 1.0:
        raise DomainError(f"delta_share must be between 0 and 1, got {delta_share!r}.")
    model.require_own_certificate()
    if count_rows(X) == 0:
        raise DomainError(
            "There are no rows to compare the classifiers on. Pass at least one row; labels are not needed."
        )
    if model.inputs.has_several_labels:
        raise OptionError(
            "Classifiers that answer with several labels cannot be compared this way. Use certify to count "
            "the errors of such a classifier on rows with known labels."
        )
    known = model.inputs.classes
    facts = TableFacts.of(X)
    with unchanged_data(X, None, facts) as data:
        refuse_seen_rows(certified_model, X, None, training_data, facts)
        refuse_rows_of_fit(model, X)
        refuse_rows_of_fit(predict, X)
        vote, answers = ask(model, X, known, "The certified vote"), ask(predict, X, known)
    confidence = model.certificate.confidence if confidence is None else confidence
    delta, confidence = delta_of(confidence), float(confidence)
    share = math.nextafter(delta * delta_share, 0.0)
    reference = _reference(model.certificate, math.nextafter(delta - share, 0.0))
    measured = Measured(answers != vote, reference_bound=reference.claim.value)
    claim = make_claim("classifier", "disagreement", measured, delta=split_delta(share, n_models))
    exported, rows = exported_network(predict), KeptRows.of(X, facts)
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=(claim,),
        choices=CHOICES,
        data=data,
        measured=measured,
        n_duplicates=count_duplicates(facts.exact),
        subject=DisagreementSubject(
            fingerprint_predictions(known.labels, answers, vote),
            rows.fingerprint(),
            reference,
            None if exported is None else exported.fingerprint(),
        ),
    )
    return CertifiedPredictions(certificate, known.labels, answers, rows, vote, exported)


def _reference(certificate: Certificate, delta: float) -> ReferenceRecord:
    """State the bound on the vote again, at another total share of delta.

    Choices for it were paid for by dividing its delta; another delta is divided in the same way.
    """
    n_priors, n_shares = certificate.n_priors, certificate.choices.n_shares
    claim = certificate.error_rate.at(split_delta(delta, n_priors * n_shares))
    return ReferenceRecord(certificate.seal, claim, n_priors, n_shares)
