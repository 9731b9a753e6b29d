"""The page: sections in the order a careful reader asks for them."""

import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates import Certificate, CertifiedModel
from pbgnet.certificates.inputs import encode_labels
from pbgnet.certificates.words import round_up
from pbgnet.exceptions import PBGNetWarning
from pbgnet.files import replace_file
from pbgnet.preprocessing import take_rows
from pbgnet.report import words
from pbgnet.report.bars import claim_name
from pbgnet.report.calibration import margin_chart, reliability_bins, reliability_chart
from pbgnet.report.comparison import comparison, yardsticks
from pbgnet.report.curves import CURVES, PHASES, Record, curve_chart
from pbgnet.report.sections import facts, paragraph, section
from pbgnet.report.style import STYLE
from pbgnet.report.svg import escape, tag

__all__ = ["render_report", "write_report"]

# Even a mistake in escaping could load nothing and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_report(
    model: CertifiedModel,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    tested: tuple[int, int] | None = None,
) -> str:
    """Return the report of a model as one HTML page, with no outside parts and no scripts.

    Parameters
    ----------
    model : CertifiedModel
    history : sequence of dict
        The course of training, as estimators keep it in ``history_``; may be empty.
    X : DataFrame, ndarray or scipy sparse matrix, shape (N, d)
        The whole table given to fit.
    y : array_like, shape (N,)
        Its labels.
    tested : pair of int, optional
        Number of errors on a test set, and of its rows; then shown beside the bounds.

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
    certificate = model.certificate
    output, signs = _certified_outputs(model, X, y)
    sections = (
        _statement(model),
        _key_numbers(model),
        comparison(certificate, yardsticks(signs, tested)),
        _training(history),
        _calibration(output, signs),
        _assumptions(certificate),
        _verification(),
        _provenance(model),
    )
    head = (
        '<meta charset="utf-8">'
        + f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        + '<meta name="viewport" content="width=device-width, initial-scale=1">'
        + tag("title", f"Certificate: {escape(_classes(model))}")
        + tag("style", STYLE)
    )
    body = tag("main", _header(model) + "".join(sections) + _footer(certificate))
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'


def write_report(
    path: str | os.PathLike[str],
    model: CertifiedModel,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    tested: tuple[int, int] | None = None,
) -> Path:
    """Write the report into a file, whole or not at all; see `render_report`."""
    page = render_report(model, history, X, y, tested=tested)
    with replace_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    return Path(path)


def _certified_outputs(
    model: CertifiedModel,
    X: Any,  # noqa: N803
    y: ArrayLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the aggregate and the label, -1 or 1, of each certified row."""
    rows = model.certified_rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)  # they were given when the model was made
        output = model.decision_function(take_rows(X, rows))
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    return output, encode_labels(labels[rows], model.classes)


def _classes(model: CertifiedModel) -> str:
    return f"{model.classes[0]} or {model.classes[1]}"


def _header(model: CertifiedModel) -> str:
    network = model.network.architecture
    hidden = " and ".join(map(str, network.hidden_layer_sizes)) or "no"
    lead = (
        f"A binary activated network that tells {model.classes[0]!r} from {model.classes[1]!r}, with a proof "
        f"of how often it may err. {network.n_features} inputs, {hidden} hidden neurons, issued "
        f"{model.certificate.issued_at[:10]}."
    )
    return tag("header", tag("h1", "A classifier with a certificate") + tag("p", escape(lead), class_="lead"))


def _statement(model: CertifiedModel) -> str:
    certificate = model.certificate
    return section(
        "What is proved",
        tag("blockquote", escape(certificate.statement), id="statement"),
        *(paragraph(sentence) for sentence in certificate.predictors[:-1]),
        class_="statement",
    )


def _key_numbers(model: CertifiedModel) -> str:
    certificate, inputs = model.certificate, model.certificate.inputs
    numbers = (
        (
            "error-rate",
            round_up(certificate.error_rate.value),
            f"bound on the error rate of the {certificate.error_rate.predictor}",
            True,
        ),
        *_second_number(certificate),
        ("risk", f"{inputs.empirical_risk:.4f}", "linear loss on the certified rows", False),
        (
            "errors",
            f"{inputs.empirical_error_rate:.4f}",
            f"error rate there: {inputs.n_errors} of {inputs.n}",
            False,
        ),
        ("divergence", f"{inputs.divergence:.2f}", "divergence from the prior, in nats", False),
        ("confidence", f"{100 * certificate.confidence:g} %", _confidence_words(certificate), False),
        ("certified-rows", str(inputs.n), "certified rows", False),
        ("prior-rows", str(model.prior_rows.size), "other rows, for prior and preprocessing", False),
    )
    items = "".join(
        tag(
            "div",
            tag("dt", escape(meaning)) + tag("dd", escape(value), id=name),
            **({"class_": "strong"} if bold else {}),
        )
        for name, value, meaning, bold in numbers
    )
    return section("Key numbers", tag("dl", items, class_="numbers"))


def _second_number(certificate: Certificate) -> tuple[tuple[str, str, str, bool], ...]:
    """Return the bounds on the classes, on the linear loss, or the route, whichever there is."""
    if certificate.class_conditional:
        return tuple(
            (f"class-{k}", round_up(claim.value), f"bound on it in class {claim.given_class}", True)
            for k, claim in enumerate(certificate.class_conditional)
        )
    if certificate.linear_loss is not None:
        value = round_up(certificate.linear_loss.value)
        return (("bound", value, "bound on the expected linear loss", True),)
    return (("route", claim_name(certificate.error_rate), "route to the bound", True),)


def _confidence_words(certificate: Certificate) -> str:
    if certificate.n_priors == 1:
        return "confidence"
    return f"confidence, shared between {certificate.n_priors} priors"


def _training(history: Sequence[Record]) -> str:
    charts = [(curve, curve_chart(curve, history)) for curve in CURVES]
    drawn = [tag("h3", escape(curve.title)) + chart for curve, chart in charts if chart]
    if not drawn:
        return section("How it was trained", paragraph("The course of training was not recorded.", "note"))
    phases = dict.fromkeys(str(record.get("phase", "")) for record in history)
    items = "".join(
        tag("li", tag("strong", escape(phase)) + f": {escape(PHASES[phase])}")
        for phase in phases
        if phase in PHASES
    )
    return section(
        "How it was trained",
        tag("div", "".join(tag("div", chart) for chart in drawn), class_="three"),
        tag("ul", items, class_="note") if items else "",
        paragraph(words.PHASE_NOTE, "note"),
    )


def _calibration(output: NDArray[np.float64], signs: NDArray[np.float64]) -> str:
    bins = reliability_bins(output, signs)
    head = "".join(
        tag("th", name, scope="col", class_="number")
        for name in ("share", "rows", "right", "accuracy", "95 % limits")
    )
    rows = "".join(
        tag(
            "tr",
            "".join(
                tag("td", text, class_="number")
                for text in (
                    f"{bin.low:.2f} to {bin.high:.2f}",
                    str(bin.count),
                    str(bin.right),
                    f"{bin.accuracy:.3f}",
                    f"{math.floor(1000 * bin.interval[0]) / 1000:.3f} to {round_up(bin.interval[1], 3)}",
                )
            ),
        )
        for bin in bins
    )
    table = tag("table", tag("thead", tag("tr", head)) + tag("tbody", rows))
    return section(
        "Margins and calibration",
        paragraph(words.CALIBRATION),
        tag(
            "div",
            tag("div", tag("h3", "Margins") + margin_chart(output * signs))
            + tag("div", tag("h3", "Calibration") + reliability_chart(bins)),
            class_="two",
        ),
        paragraph(words.DESCRIPTIVE, "note"),
        tag("details", tag("summary", "The same in numbers") + table),
    )


def _assumptions(certificate: Certificate) -> str:
    delta = f"{certificate.delta:.12g}"
    doubts = (
        f"With probability at most {delta} over the draw of the certified rows, the bound is wrong.",
        *words.NOT_SAID,
        certificate.predictors[-1],
    )
    assumed = "".join(tag("li", escape(sentence)) for sentence in certificate.assumptions)
    unsaid = "".join(tag("li", escape(sentence)) for sentence in doubts)
    return section(
        "What the proof assumes, and what it does not say",
        tag(
            "div",
            tag("div", tag("h3", "It assumes") + tag("ul", assumed, id="assumptions"))
            + tag("div", tag("h3", "It leaves open") + tag("ul", unsaid)),
            class_="two",
        ),
    )


def _verification() -> str:
    return section(
        "Check it yourself",
        paragraph(words.HOW_TO_VERIFY),
        tag("pre", tag("code", "pbgnet verify MODEL DATA")),
        paragraph(words.HOW_TO_READ),
    )


def _provenance(model: CertifiedModel) -> str:
    certificate = model.certificate
    prints, versions = certificate.fingerprints, certificate.versions
    network, aggregation, record = model.network.architecture, certificate.aggregation, certificate.prior
    assert aggregation is not None
    assert record is not None
    names = model.feature_names or ()
    shown = ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
    sizes = "-".join(map(str, (network.n_features, *network.hidden_layer_sizes, 1)))
    prior = f"{record.kind}: {record.description}" if record.description else record.kind
    origin: list[tuple[str, object]] = [
        ("Classes", f"{model.classes[0]!r} and {model.classes[1]!r}"),
        ("Columns", shown or f"{network.n_features}, without names"),
        ("Network", f"{sizes}{', with intercepts' if network.intercept else ''}"),
        (
            "Computed by",
            f"{aggregation.method}, each layer to within {aggregation.tolerance:g}",
        ),
        (
            "Proved numerical error",
            f"{certificate.inputs.numerical_error:.1e} of the linear loss, included in the bound",
        ),
        ("Routes", ", ".join(f"{claim.quantity} by {claim.route}" for claim in certificate.claims)),
        ("Asked for", certificate.choices.certificate),
        ("Prior", prior),
        ("Issued", certificate.issued_at),
        ("Versions", ", ".join(f"{name} {value}" for name, value in vars(versions).items())),
    ]
    fingerprints = [(name.capitalize(), value or "not stated") for name, value in vars(prints).items()]
    return section(
        "Where it comes from",
        facts(origin),
        tag(
            "details", tag("summary", "Fingerprints (SHA-256)") + facts(fingerprints, code=True), open="open"
        ),
    )


def _footer(certificate: Certificate) -> str:
    return tag(
        "footer",
        escape(f"Made by pbgnet {certificate.versions.pbgnet}. This page loads nothing and runs nothing."),
    )
