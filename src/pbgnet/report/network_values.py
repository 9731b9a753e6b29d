"""What the page of a network shows."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from pbgnet.certificates import (
    Answers,
    Certificate,
    CertifiedModel,
    Claim,
    LabelledRows,
    PreparedTable,
    evaluate,
    round_up,
)
from pbgnet.exceptions import PBGNetWarning
from pbgnet.networks import Code
from pbgnet.pages import Bar, Bars
from pbgnet.report.answering import answering_chart, answering_numbers
from pbgnet.report.calibration import Bin, margin_chart, reliability_bins, reliability_chart
from pbgnet.report.class_facts import (
    KeyNumber,
    error_words,
    listed,
    rate_numbers,
    routes,
    title,
)
from pbgnet.report.columns import column_effects, effect_sections, points
from pbgnet.report.comparison import comparison_charts
from pbgnet.report.confusion import confusion_matrix
from pbgnet.report.curves import CURVES, PHASES, Record, curve_chart
from pbgnet.report.group_chart import group_numbers
from pbgnet.report.kept import ErrorCount
from pbgnet.report.label_calibration import label_bins, label_margins, label_reliability
from pbgnet.report.label_errors import label_errors

MOST_LISTED = 12  # columns whose importance is shown
WITHOUT_ANSWERS: dict[str, Any] = {"errors": None, "margins": "", "reliability": {}, "bins": []}


def network_values(
    model: CertifiedModel,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike | None,
    tested: ErrorCount | None,
    others: Mapping[str, Claim],
    *,
    columns: bool = True,
) -> dict[str, Any]:
    """Return what the page of a network shows; which columns matter only where it is asked for."""
    certificate = model.certificate
    answers, subject = _certified_answers(model, X, y), certificate.network
    of_labels = certificate.of_labels
    hamming_loss = float(answers.wrong_labels.mean()) if of_labels and answers is not None else None
    of_answers = _values_of_labels if of_labels else _values_of_classes
    return {
        "told": title(model.classes, of_labels),
        "lead": _lead(model),
        "predictors": certificate.predictors[:-1],
        "not_covered": certificate.predictors[-1],
        "candidates": [],
        "numbers": _key_numbers(model),
        "proof_numbers": _proof_numbers(model),
        "comparison": comparison_charts(certificate, tested, others, hamming_loss),
        "answering": answering_chart(certificate),
        **({"effects": []} if X is None or not columns else _effect_values(model, X)),
        "curves": [chart for curve in CURVES if (chart := curve_chart(curve, history))],
        "phases": {
            phase: PHASES[phase] for record in history if (phase := str(record.get("phase"))) in PHASES
        },
        **(WITHOUT_ANSWERS if answers is None else of_answers(model, answers)),
        "n_classes": len(model.inputs.classes),
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


def _values_of_classes(model: CertifiedModel, answers: Answers) -> dict[str, Any]:
    """Return which errors are made, margins and calibration."""
    right, n_classes = answers.answered == answers.truth, len(model.classes)
    bins = reliability_bins(model.inputs.shares(answers.output), right)
    classes = model.inputs.classes
    return {
        "errors": confusion_matrix(model.certificate, classes, answers.truth, answers.answered),
        "margins": margin_chart(answers.margins, right, n_classes),
        "reliability": {"Calibration": reliability_chart(bins, n_classes)},
        "bins": [_bin_texts(bin) for bin in bins],
    }


def _values_of_labels(model: CertifiedModel, answers: Answers) -> dict[str, Any]:
    """Return the same for several labels, each of which has its own vote."""
    labels = model.inputs.classes
    bins = label_bins(answers, labels.names)
    return {
        "errors": label_errors(model.certificate, labels, answers.truth, answers.answered),
        "margins": label_margins(answers),
        "reliability": {f"Calibration of {name}": chart for name, chart in label_reliability(bins).items()},
        "bins": [(name, *_bin_texts(bin)) for name, found in bins.items() for bin in found],
    }


def _effect_values(model: CertifiedModel, X: Any) -> dict[str, Any]:  # noqa: N803
    """Return what the page says about columns, thresholds and categories."""
    effects, names = column_effects(model, X), model.inputs.classes.names
    return {
        "answer": names[1],
        "n_varied": effects.n_rows,
        "effects": effect_sections(effects, names, model.inputs.has_several_labels),
        "importances": Bars(
            "chart-columns",
            "How much each column moves the answers",
            [
                Bar(name, value, points(value, sign=False), "measured")
                for name, value in effects.importances[:MOST_LISTED]
            ],
        ),
        "n_columns": len(effects.importances),
    }


def _certified_answers(
    model: CertifiedModel,
    X: Any,  # noqa: N803
    y: ArrayLike | None,
) -> Answers | None:
    """Return the answers on the certified rows: known if just certified, otherwise from the table."""
    if model.answers is not None or X is None or y is None:
        return model.answers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)  # they were given when the model was made
        table = PreparedTable(LabelledRows(X, y), model.inputs, model.split)
        return evaluate(model.network, *table.certified, model.inputs.code)


def _lead(model: CertifiedModel) -> str:
    network = model.network.architecture
    several = network.n_members is not None and network.n_members > 1
    return f"{network.n_members} binary activated networks" if several else "A binary activated network"


def _key_numbers(model: CertifiedModel) -> tuple[KeyNumber, ...]:
    """Return the numbers that need no theory."""
    certificate, inputs = model.certificate, model.certificate.inputs
    unseen = certificate.error_rate.predictor == "prior's vote"
    certified = "certified rows, which it has not seen" if unseen else "certified rows"
    others = "prior rows, which it was trained on" if unseen else "prior rows, for prior and preprocessing"
    return (
        *rate_numbers(certificate),
        *group_numbers(certificate),
        *answering_numbers(certificate),
        ("confidence", f"{100 * certificate.confidence:g} %", _confidence_words(certificate), False),
        ("measured", f"{inputs.empirical_error_rate:.4f}", error_words(certificate), False),
        *_majority_number(certificate),
        ("certified-rows", str(inputs.n), certified, False),
        ("prior-rows", str(model.prior_rows.size), others, False),
    )


def _proof_numbers(model: CertifiedModel) -> tuple[KeyNumber, ...]:
    """Return the numbers that the proof uses."""
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


def _majority_number(certificate: Certificate) -> tuple[KeyNumber, ...]:
    majority = certificate.majority
    if majority is None:
        return ()
    words = f"error rate of always answering {majority.answer}: {majority.n_errors} of {majority.n}"
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
    sizes = "-".join(map(str, (network.n_features, *network.hidden_layer_sizes, network.n_outputs)))
    code, coded = model.inputs.code, []
    if isinstance(code, Code) and code.n_outputs > 1:
        coded = [("Code", f"{code.name}: any two classes differ in {code.nearest.min()} outputs or more")]
    images = [] if network.patches is None else [("Images", str(network.patches))]
    return [
        ("Labels" if model.inputs.has_several_labels else "Classes", listed(model.classes)),
        *images,
        ("Columns", shown or f"{network.n_features}, without names"),
        ("Network", f"{sizes}{', with intercepts' if network.intercept else ''}"),
        *coded,
        ("Computed by", f"{aggregation.method}, each layer to within {aggregation.tolerance:g}"),
        (
            "Proved numerical error",
            f"{subject.numerical_error:.1e} of the linear loss, included in the bound",
        ),
        ("Routes", routes(certificate)),
        ("Asked for", certificate.choices.certificate),
        ("Prior", f"{record.how}: {record.description}" if record.description else record.how),
        ("Issued", certificate.issued_at),
        ("Versions", ", ".join(f"{name} {value}" for name, value in vars(certificate.versions).items())),
    ]
