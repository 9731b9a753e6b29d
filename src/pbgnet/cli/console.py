"""Printing for people: text that cannot manipulate a terminal, and plain tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pbgnet.certificates import Certificate, CertifiedModel, CertifiedPredictions, Claim
    from pbgnet.report import ErrorCount

# Width of tables if the output is not a terminal.
PLAIN_WIDTH = 110

# Characters of the longest bar, and of that in a narrow terminal.
BAR, SHORTEST_BAR = 40, 10

MOST_CLASSES = 10
"""Up to this many classes, all bounds are printed; of more, and of pairs of classes, the largest few."""

LARGEST = 5

HOW_CERTIFIED = {
    "auto": "the better of two ways, each at half of delta",
    "seeger": "PAC-Bayes: twice the kl bound on the linear loss",
    "mixture": "PAC-Bayes: twice Catoni's bound on the linear loss",
    "vote": "PAC-Bayes: a bound on the vote of several networks",
    "held-out": "errors counted on rows it was not trained on",
    "disagreement": "rows counted on which it differs from a certified vote",
}
"""Types of certificates in a few words; what users can choose has a sentence in `pbgnet.choices`."""


def printable(text: str) -> str:
    """Replace control characters, which could recolour or rewrite what the terminal shows.

    A line break is shown as backslash and n: a name with one must not look like a line of its own.
    """
    shown = (r"\n" if c == "\n" else c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown)


def echo(text: str = "") -> None:
    """Print a line."""
    typer.echo(printable(text))


def console() -> "Console":
    """Return where tables are printed; created again each time, because standard output may be replaced."""
    from rich.console import Console

    made = Console(highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = PLAIN_WIDTH
    return made


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns; long values are not broken."""
    listed = list(rows)
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        echo(f"  {name:<{width}}  {value}")


def bars(rows: Iterable[tuple[str, float, str]]) -> None:
    """Print names and values with bars of characters; the longest fills its column.

    In a narrow terminal bars are shorter, so that no line is broken.
    """
    listed = list(rows)
    width = max((len(name) for name, _, _ in listed), default=0)
    largest = max((value for _, value, _ in listed), default=0.0)
    longest = max(SHORTEST_BAR, min(BAR, console().width - width - 13))
    for name, value, text in listed:
        length = round(longest * value / largest) if largest > 0 else 0
        echo(f"  {name:<{width}}  {text:>7}  {'#' * length}".rstrip())


def show_certificate(
    model: "CertifiedModel | CertifiedPredictions",
    tested: "ErrorCount | None" = None,
    others: "Mapping[str, Claim] | None" = None,
) -> None:
    """Print what is proved and where it falls short, its numbers, and bars of them.

    `tested` is what was counted on a test set, `others` the results of other classifiers on the same rows.
    """
    echo(model.certificate.summary)
    for sentence in model.certificate.shortcomings:
        echo()
        echo(f"NOTE WELL: {sentence}")
    echo()
    pairs(_numbers(model))
    echo()
    _show_bars(model, tested, others or {})
    echo()
    echo(f"The exact statement: {model.certificate.statement}")
    echo()


def _numbers(model: "CertifiedModel | CertifiedPredictions") -> Sequence[tuple[str, str]]:
    """Return the numbers that a reader needs first, bounds rounded up."""
    from pbgnet.certificates import CertifiedModel, DisagreementSubject, round_up

    certificate = model.certificate
    inputs, loss = certificate.inputs, certificate.expected_loss
    tried = "priors" if certificate.of_network else "classifiers"
    shared = f", shared between {certificate.n_priors} {tried}" if certificate.n_priors > 1 else ""
    of_rows = "rows with any wrong label" if certificate.of_labels else "the error rate"
    rows = [(f"bound on {of_rows}", round_up(certificate.error_rate.value))]
    if certificate.hamming_loss is not None:
        rows.append(("bound on the share of wrong labels", round_up(certificate.hamming_loss.value)))
    rows += _of_classes(certificate.per_label, "labels")
    rows += _of_classes(certificate.class_conditional, "classes")
    if certificate.balanced_error_rate is not None:
        rows.append(("  balanced, mean of the classes", round_up(certificate.balanced_error_rate)))
    rows += _of_classes(certificate.confusion, "pairs")
    rows += _of_groups(certificate)
    rows += _of_answers(certificate)
    if loss is not None:
        rows.append((f"bound on the {loss.quantity}", round_up(loss.value)))
    what = "any wrong label" if certificate.of_labels else "error rate"
    what = "disagreement" if isinstance(certificate.subject, DisagreementSubject) else what
    rows.append(
        (f"{what} on the rows", f"{inputs.empirical_error_rate:.4f}  ({inputs.n_errors} of {inputs.n})")
    )
    if (majority := certificate.majority) is not None:
        value = f"{majority.error_rate:.4f}  ({majority.n_errors} of {majority.n})"
        told = f"most frequent class of the {majority.chosen_on}; counted, not guaranteed"
        rows.append((f"  always {majority.answer} there", f"{value}  {told}"))
    if isinstance(model, CertifiedModel):
        subject, n_others = certificate.network, model.prior_rows.size
        rows.append(("linear loss on the rows", f"{subject.empirical_risk:.4f}"))
        if certificate.error_rate.predictor != "prior's vote":  # which has none
            rows.append(("divergence from the prior", f"{subject.divergence:.4g} nats"))
        rows.append(("rows", f"{inputs.n} certified, {n_others} for the prior and preprocessing"))
    elif model.split is not None:
        n_others = model.split.prior_rows.size
        rows.append(("rows", f"{inputs.n} certified, {n_others} for training and preprocessing"))
    if loss is not None and not isinstance(model, CertifiedModel):
        rows.append((f"{loss.quantity} on the rows", f"{loss.empirical_risk:.4f}"))
    return (
        *rows,
        ("how it was certified", _how(certificate.choices.certificate)),
        ("confidence", f"{100 * certificate.confidence:g} %{shared}"),
    )


def _how(name: str) -> str:
    """Say in plain words by which type of certificate the bound was found, and its name."""
    told = HOW_CERTIFIED.get(name)
    return name if told is None else f"{told} ({name})"


def _of_answers(certificate: "Certificate") -> list[tuple[str, str]]:
    """Return what is certified of rows that are answered, where not all are."""
    from pbgnet.certificates import round_up

    claim, unanswered = certificate.answered_error_rate, certificate.unanswered_rate
    if claim is None or unanswered is None:
        return []
    if certificate.threshold is None:
        return [("rows it answers", "none: no threshold is certified")]
    answered = f"{100 * (certificate.answered_share or 0.0):.1f} % of the certified rows"
    return [
        ("bound among answered rows", certificate.answered_limit),
        ("bound on the share left unanswered", round_up(unanswered.value)),
        ("answered", f"{answered}, those with a score of at least {certificate.threshold:.6g}"),
    ]


def _of_classes(claims: "Sequence[Claim]", kind: str) -> list[tuple[str, str]]:
    """Return the bounds on classes, on pairs of them, or on labels; of many, the largest."""
    from pbgnet.certificates import round_up

    ordered = sorted(claims, key=lambda claim: -claim.value)
    shown = claims if len(claims) <= MOST_CLASSES else ordered[:LARGEST]
    told = []
    for claim in shown:
        answered = "" if claim.answered is None else f", answered {claim.answered}"
        one = f"label {claim.label}" if claim.label is not None else f"class {claim.given_class}"
        told.append((f"  in {one}{answered}", round_up(claim.value)))
    if others := ordered[len(shown) :]:
        told.append((f"  in each of the {len(others)} other {kind}", round_up(others[0].value)))
    return told


def _of_groups(certificate: "Certificate") -> list[tuple[str, str]]:
    """Return the certified interval of each group, with its rows, and the largest difference; all groups."""
    from pbgnet.certificates import round_down, round_up

    small = {size.name for size in certificate.small_groups}
    told = [
        (
            f"  in group {group.name}",
            f"{round_down(group.lower)} to {round_up(group.upper)}  ({group.n_errors} of {group.n})"
            + ("  small" if group.name in small else ""),
        )
        for group in certificate.by_group
    ]
    if (difference := certificate.largest_group_difference) is not None:
        told.append(("  between any two groups, at most", round_up(difference)))
    return told


def _show_bars(
    model: "CertifiedModel | CertifiedPredictions",
    tested: "ErrorCount | None",
    others: "Mapping[str, Claim]",
) -> None:
    """Print all bounds as bars, with what was measured and what is trivial."""
    from pbgnet.report import error_rate_bars, hamming_bars, loss_bars

    certificate = model.certificate
    echo("Rows with any wrong label:" if certificate.of_labels else "Error rate:")
    bars((bar.name, bar.value, bar.text) for bar in error_rate_bars(certificate, tested, others))
    if hamming := hamming_bars(certificate):
        echo("Share of wrong labels, the Hamming loss:")
        bars((bar.name, bar.value, bar.text) for bar in hamming)
    if loss := loss_bars(certificate):
        quantity = "linear loss" if certificate.expected_loss is None else certificate.expected_loss.quantity
        echo(f"{quantity[0].upper()}{quantity[1:]}:")
        bars((bar.name, bar.value, bar.text) for bar in loss)
    if others:
        echo(
            "Alternatives are other classifiers on the same rows. Picking the best of them "
            "afterwards costs confidence."
        )
    if certificate.alternatives:
        echo("Those for comparison hold for a classifier chosen in advance, but not all at the same time.")
