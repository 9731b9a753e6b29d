"""Classes, or labels, in words and numbers, for any number of them."""

from collections.abc import Sequence

from pbgnet.certificates import Certificate, round_up

MOST_NAMED = 10
"""Most classes that are listed by name."""

MOST_NUMBERS = 4
"""Up to this many classes, their bounds are key numbers; for more, only the largest is."""

KeyNumber = tuple[str, str, str, bool]
"""Its name in the page, text, meaning, and whether it is coloured."""


def listed(labels: Sequence[object]) -> str:
    """Name the classes, or the first few if there are many.

    Examples
    --------
    >>> from pbgnet.report.class_facts import listed
    >>> listed(("no", "yes")), listed(range(12))
    ("'no' and 'yes'", '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    names = [repr(label) for label in labels[:MOST_NAMED]]
    if len(labels) > MOST_NAMED:
        return f"{', '.join(names)} and {len(labels) - MOST_NAMED} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def short(text: str, most: int) -> str:
    """Cut a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def title(labels: Sequence[object], several_labels: bool = False) -> str:
    """Return what the classifier distinguishes, for the title of the page.

    Examples
    --------
    >>> from pbgnet.report.class_facts import title
    >>> title(("no", "yes")), title(range(12)), title(("wet", "warm"), several_labels=True)
    ('no or yes', '12 classes', 'wet and warm')
    """
    if len(labels) > MOST_NUMBERS:
        return f"{len(labels)} {'labels' if several_labels else 'classes'}"
    joint = " and " if several_labels else " or "
    names = [str(label) for label in labels]
    return joint.join(filter(None, [", ".join(names[:-1]), names[-1]]))


def class_numbers(certificate: Certificate) -> tuple[KeyNumber, ...]:
    """Return the bounds on the error rates of the classes, or the largest if many, and on their mean."""
    claims = certificate.class_conditional
    if not claims:
        return ()
    if len(claims) <= MOST_NUMBERS:
        numbers = [
            (
                f"class-{k}",
                round_up(claim.value),
                f"bound on the error rate in class {claim.given_class}",
                True,
            )
            for k, claim in enumerate(claims)
        ]
    else:
        worst = max(claims, key=lambda claim: claim.value)
        told = f"largest bound on the error rate in a class, {worst.given_class}"
        numbers = [("worst-class", round_up(worst.value), told, True)]
    if (balanced := certificate.balanced_error_rate) is not None:
        told = "bound on the balanced error rate, the mean of the classes"
        numbers.append(("balanced", round_up(balanced), told, True))
    return tuple(numbers)


def rate_numbers(certificate: Certificate) -> tuple[KeyNumber, ...]:
    """Return the bounds on the error rate and, for several labels, on the share of wrong ones and on each."""
    words = "bound on the rows with any wrong label" if certificate.of_labels else "bound on the error rate"
    numbers = [("error-rate", round_up(certificate.error_rate.value), words, True)]
    if (hamming := certificate.hamming_loss) is not None:
        numbers.append(("hamming-loss", round_up(hamming.value), "bound on the share of wrong labels", True))
    if claims := certificate.per_label:
        worst = max(claims, key=lambda claim: claim.value)
        told = f"largest bound on the error rate of a label, {worst.label}"
        numbers.append(("worst-label", round_up(worst.value), told, True))
    return (*numbers, *class_numbers(certificate))


def error_words(certificate: Certificate) -> str:
    """Say what was counted on the certified rows."""
    inputs = certificate.inputs
    what = "rows with any wrong label" if certificate.of_labels else "error rate on the certified rows"
    return f"{what}: {inputs.n_errors} of {inputs.n}"


def routes(certificate: Certificate) -> str:
    """Name what is bounded by which route, each once, for any number of classes."""
    return ", ".join(dict.fromkeys(f"{claim.quantity} by {claim.route}" for claim in certificate.claims))
