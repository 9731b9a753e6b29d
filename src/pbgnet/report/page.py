"""What the page of a model shows; ``page.html`` has its sections in the order a careful reader asks."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from numpy.typing import ArrayLike

from pbgnet.certificates import (
    Answers,
    Certificate,
    CertifiedModel,
    CertifiedPredictions,
    Claim,
    LabelledRows,
    PreparedTable,
    describe_data,
    evaluate,
    round_up,
)
from pbgnet.exceptions import DomainError, LabelError, PBGNetWarning, ShapeError, UncertifiedError
from pbgnet.files import as_path, write_whole
from pbgnet.pages import render_page
from pbgnet.report.bars import ErrorCount
from pbgnet.report.calibration import Bin, margin_chart, reliability_bins, reliability_chart
from pbgnet.report.classifier_values import alternative_texts, classifier_values
from pbgnet.report.comparison import comparison_charts, verdict
from pbgnet.report.curves import CURVES, PHASES, Record, curve_chart
from pbgnet.report.effect_charts import effect_sections, points
from pbgnet.report.effects import column_effects
from pbgnet.validation import check_kind, positive_int

Tested = tuple[int, int] | tuple[int, int, int]
MOST_LISTED = 40  # columns whose importance is told in numbers
KeyNumber = tuple[str, str, str, bool]  # its name in the page, text, meaning, and whether it is in colour


def render_report(
    model: CertifiedModel | CertifiedPredictions,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    tested: Tested | None = None,
    compared: Mapping[str, Claim] | None = None,
) -> str:
    """Return the report of a model as one HTML page, with no outside parts and no scripts.

    Parameters
    ----------
    model : CertifiedModel or CertifiedPredictions
        Of a classifier that is known by its answers, there is less to show.
    history : sequence of dict
        The course of training, as estimators keep it in ``history_``; may be empty.
    X : DataFrame, ndarray or scipy sparse matrix, shape (N, d)
        The whole table given to fit.
    y : array_like, shape (N,)
        Its labels.
    tested : tuple of 2 or 3 int, optional
        Number of errors on a test set, of its rows, and of those of them that are rows of X as well; then
        shown beside the bounds.
    compared : mapping of str to Claim, optional
        What other classifiers give on the same rows, from `pbgnet.estimators.compare_classifiers`: shown as
        alternatives, which are no claims of the certificate.

    Raises
    ------
    UncertifiedError
        If X and y are not the table given to fit.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network
    >>> from pbgnet.networks import AggregatedNetwork
    >>> from pbgnet.report import render_report
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, X, y, classes=("no", "yes"), prior=PriorRecord("zero"),
    ...                 prior_rows=[], certified_rows=range(200))
    >>> model.certificate.statement in render_report(model, [], X, y)
    True
    """
    _check_arguments(model, history, tested)
    _check_table(model, X, y)
    others, counted = dict(compared or {}), None if tested is None else ErrorCount(*tested)
    if isinstance(model, CertifiedPredictions):
        shown = classifier_values(model, counted, others)
    else:
        shown = _network_values(model, history, X, y, counted, others)
    return render_page(
        __file__,
        version=model.certificate.versions.pbgnet,
        certificate=model.certificate,
        verdict=verdict(model.certificate, others),
        alternatives=[alternative_texts(name, claim) for name, claim in others.items()],
        **shown,
    )


def _network_values(
    model: CertifiedModel,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike,
    tested: ErrorCount | None,
    others: Mapping[str, Claim],
) -> dict[str, Any]:
    """Return what the page of a network shows."""
    certificate = model.certificate
    answers, subject = _certified_answers(model, X, y), certificate.network
    output, signs = answers.output, answers.labels
    bins = reliability_bins(output, signs)
    return {
        "title": f"Certificate: {model.classes[0]} or {model.classes[1]}",
        "heading": "A classifier with a certificate",
        "lead": _lead(model),
        "predictors": certificate.predictors[:-1],
        "not_covered": certificate.predictors[-1],
        "candidates": [],
        "numbers": _key_numbers(model),
        "proof_numbers": _proof_numbers(model),
        "comparison": comparison_charts(certificate, tested, others),
        **_effect_values(model, X),
        "curves": [chart for curve in CURVES if (chart := curve_chart(curve, history))],
        "phases": {
            phase: PHASES[phase] for record in history if (phase := str(record.get("phase"))) in PHASES
        },
        "margins": margin_chart(output * signs),
        "reliability": reliability_chart(bins),
        "bins": [_bin_texts(bin) for bin in bins],
        "origin": _origin(model),
        "fingerprints": [
            (name.capitalize(), value or "not stated")
            for name, value in {
                **vars(certificate.fingerprints),
                "prior": subject.prior_weights,
                "posterior": subject.posterior_weights,
                "inputs": subject.inputs,
            }.items()
        ],
    }


def _effect_values(model: CertifiedModel, X: Any) -> dict[str, Any]:  # noqa: N803
    """Return what the page says of columns, thresholds and categories."""
    effects, answer = column_effects(model, X), repr(model.classes[1])
    return {
        "answer": answer,
        "n_varied": effects.n_rows,
        "effects": effect_sections(effects, answer),
        "importances": [
            (name, points(value, sign=False)) for name, value in effects.importances[:MOST_LISTED]
        ],
        "n_columns": len(effects.importances),
    }


def write_report(
    path: str | os.PathLike[str],
    model: CertifiedModel | CertifiedPredictions,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    tested: Tested | None = None,
    compared: Mapping[str, Claim] | None = None,
) -> Path:
    """Write the report into a file, whole or not at all; see `render_report`."""
    target = as_path(path)
    return write_whole(target, render_report(model, history, X, y, tested=tested, compared=compared))


def _check_arguments(model: object, history: object, tested: object) -> None:
    """Raise for what is no model, no course of training, or no count of errors."""
    advice = "Of a fitted estimator, pass its certified_model_, or certified_predictions_."
    check_kind("model", model, CertifiedModel, CertifiedPredictions, advice=advice)
    check_kind("history", history, list, tuple)
    for record in cast("Sequence[object]", history):
        check_kind("A record of the history", record, Mapping)
    if tested is None:
        return
    if not isinstance(tested, list | tuple) or len(tested) not in (2, 3):
        raise ShapeError(f"tested must be counts of errors, rows and perhaps rows seen, got {tested!r:.60}.")
    counts, n_rows = ErrorCount(*tested), positive_int("The number of rows in tested", tested[1])
    for what, count in (("errors", counts.n_errors), ("rows in the training table", counts.n_seen)):
        if count != 0 or isinstance(count, bool):
            positive_int(f"The number of {what} in tested", count)
        if count > n_rows:
            raise DomainError(f"tested counts {count} {what} among {n_rows} rows.")


def _check_table(
    model: CertifiedModel | CertifiedPredictions,
    X: Any,  # noqa: N803
    y: ArrayLike,
) -> None:
    """Raise `UncertifiedError` unless a table is the one that the certificate speaks of."""
    if y is None:
        raise LabelError("A report needs the labels of the table given to fit; y is None.")
    stated, found = model.certificate.fingerprints, describe_data(X, y)
    if (stated.features, stated.labels) != (found.features, found.labels):
        raise UncertifiedError(
            "X and y are not the table that the certificate speaks of; pass the whole table given to fit."
        )


def _certified_answers(
    model: CertifiedModel,
    X: Any,  # noqa: N803
    y: ArrayLike,
) -> Answers:
    """Return what the model answers on the certified rows: known if it was just certified."""
    if model.answers is not None:
        return model.answers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)  # they were given when the model was made
        table = PreparedTable(LabelledRows(X, y), model.inputs, model.split)
        return evaluate(model.network, *table.certified)


def _lead(model: CertifiedModel) -> str:
    network = model.network.architecture
    hidden = " and ".join(map(str, network.hidden_layer_sizes)) or "no"
    several = network.n_members is not None and network.n_members > 1
    ensemble = f"An ensemble of {network.n_members} binary activated networks"
    what = ensemble if several else "A binary activated network"
    return (
        f"{what} that tells {model.classes[0]!r} from {model.classes[1]!r}, with a proof of how often it may "
        f"err. {network.n_features} inputs, {hidden} hidden neurons{' each' if several else ''}, issued "
        f"{model.certificate.issued_at[:10]}."
    )


def _key_numbers(model: CertifiedModel) -> tuple[KeyNumber, ...]:
    """Return the numbers that need no theory."""
    certificate, inputs = model.certificate, model.certificate.inputs
    errors = f"error rate on the certified rows: {inputs.n_errors} of {inputs.n}"
    unseen = certificate.error_rate.predictor == "prior's vote"
    certified = "certified rows, which it has not seen" if unseen else "certified rows"
    others = "other rows, which it learned from" if unseen else "other rows, for prior and preprocessing"
    return (
        ("error-rate", round_up(certificate.error_rate.value), "bound on the error rate", True),
        *(
            (f"class-{k}", round_up(claim.value), f"bound on it in class {claim.given_class}", True)
            for k, claim in enumerate(certificate.class_conditional)
        ),
        *_balanced_number(certificate),
        ("confidence", f"{100 * certificate.confidence:g} %", _confidence_words(certificate), False),
        ("errors", f"{inputs.empirical_error_rate:.4f}", errors, False),
        *_majority_number(certificate),
        ("certified-rows", str(inputs.n), certified, False),
        ("prior-rows", str(model.prior_rows.size), others, False),
    )


def _proof_numbers(model: CertifiedModel) -> tuple[KeyNumber, ...]:
    """Return the numbers that the proof is made of."""
    certificate, subject = model.certificate, model.certificate.network
    loss = certificate.linear_loss
    bound = (
        () if loss is None else (("bound", round_up(loss.value), "bound on the expected linear loss", True),)
    )
    return (
        *bound,
        ("route", certificate.words_of(certificate.error_rate), "route to the bound", False),
        ("risk", f"{subject.empirical_risk:.4f}", "linear loss on the certified rows", False),
        ("divergence", f"{subject.divergence:.2f}", "divergence from the prior, in nats", False),
    )


def _balanced_number(certificate: Certificate) -> tuple[KeyNumber, ...]:
    if certificate.balanced_error_rate is None:
        return ()
    value = round_up(certificate.balanced_error_rate)
    return (("balanced", value, "bound on the balanced error rate, their mean", True),)


def _majority_number(certificate: Certificate) -> tuple[KeyNumber, ...]:
    majority = certificate.majority
    if majority is None:
        return ()
    words = f"error rate there of always answering {majority.answer}: {majority.n_errors} of {majority.n}"
    return (("majority", f"{majority.error_rate:.4f}", words, False),)


def _confidence_words(certificate: Certificate) -> str:
    if certificate.n_priors == 1:
        return "confidence"
    return f"confidence, shared between {certificate.n_priors} priors"


def _bin_texts(bin: Bin) -> tuple[str, ...]:
    low, high = math.floor(1000 * bin.interval[0]) / 1000, round_up(bin.interval[1], 3)
    return (
        f"{bin.low:.2f} to {bin.high:.2f}",
        str(bin.count),
        str(bin.right),
        f"{bin.accuracy:.3f}",
        f"{low:.3f} to {high}",
    )


def _origin(model: CertifiedModel) -> list[tuple[str, str]]:
    certificate = model.certificate
    network, subject = model.network.architecture, certificate.network
    aggregation, record = subject.aggregation, subject.prior
    names = model.feature_names or ()
    shown = ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
    sizes = "-".join(map(str, (network.n_features, *network.hidden_layer_sizes, 1)))
    return [
        ("Classes", f"{model.classes[0]!r} and {model.classes[1]!r}"),
        ("Columns", shown or f"{network.n_features}, without names"),
        ("Network", f"{sizes}{', with intercepts' if network.intercept else ''}"),
        ("Computed by", f"{aggregation.method}, each layer to within {aggregation.tolerance:g}"),
        (
            "Proved numerical error",
            f"{subject.numerical_error:.1e} of the linear loss, included in the bound",
        ),
        ("Routes", ", ".join(f"{claim.quantity} by {claim.route}" for claim in certificate.claims)),
        ("Asked for", certificate.choices.certificate),
        ("Prior", f"{record.how}: {record.description}" if record.description else record.how),
        ("Issued", certificate.issued_at),
        ("Versions", ", ".join(f"{name} {value}" for name, value in vars(certificate.versions).items())),
    ]
