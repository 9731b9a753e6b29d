"""The sentences of a certificate. They belong to version 1 of its schema: new words, new version."""

from decimal import ROUND_CEILING, Decimal

__all__ = [
    "PREDICTOR_NOT_COVERED",
    "PREDICTOR_OF_ERROR_RATE",
    "PREDICTOR_OF_VALUE",
    "assumptions",
    "round_up",
    "statement",
]

PREDICTOR_OF_VALUE = (
    "The aggregate: the average of the binary activated network over its Gaussian posterior, under the "
    "linear loss; equally the chance that one network drawn from the posterior errs."
)
PREDICTOR_OF_ERROR_RATE = (
    "The vote: the deterministic classifier that answers with the sign of the aggregate."
)
PREDICTOR_NOT_COVERED = (
    "The plain sign network with the posterior's mean weights; nothing is proved about it."
)

PREPROCESSING = {
    "none": "The features were used as given, with no preprocessing.",
    "inside": (
        "The preprocessing is inside the proof: it was fitted on rows set apart from the certified ones."
    ),
    "outside": (
        "The preprocessing is outside the proof: the bound holds only if it was fixed without looking at "
        "the certified rows."
    ),
}
SPLITS = {
    "drawn": "The rows of the prior were drawn at random, from the seed stated, without looking at any row.",
    "given": (
        "The rows of the prior were chosen by the user, who vouches that the choice does not depend on the "
        "certified rows' labels."
    ),
}
PRIORS = {
    "random": "The prior was drawn at random, from the seed stated, without looking at any row.",
    "zero": "The prior is zero and saw no row.",
    "pretrained": "The prior was trained on the prior rows alone and never saw a certified row.",
    "given": "The prior was given by the user, who vouches that it does not depend on the certified rows.",
}


def round_up(value: float, digits: int = 4) -> str:
    """Write a number with that many decimals, rounded up: a bound may grow in print, never shrink.

    Examples
    --------
    >>> from pbgnet.certificates.words import round_up
    >>> round_up(0.04001), round_up(0.04)
    ('0.0401', '0.0401')
    >>> round_up(0.25)
    '0.2500'
    """
    # Decimal(float) is exact: the double nearest to 0.04 lies above it, hence 0.0401.
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))


def statement(confidence: float, n: int, value: float, error_rate_bound: float) -> str:
    """Return the sentence a person reads.

    Examples
    --------
    >>> from pbgnet.certificates.words import statement
    >>> statement(0.95, 11377, 0.04009, 0.08018)
    'With confidence 95 %, over the draw of the 11377 certified rows, the expected linear loss of the
     aggregate is at most 0.0401, so the error rate of its vote is at most 0.0802.'
    """
    percent = format((Decimal(repr(confidence)) * 100).normalize(), "f")
    if error_rate_bound < 1:
        consequence = f"so the error rate of its vote is at most {round_up(error_rate_bound)}"
    else:
        consequence = "which says nothing about the error rate of its vote"
    return (
        f"With confidence {percent} %, over the draw of the {n} certified rows, the expected linear loss of "
        f"the aggregate is at most {round_up(value)}, {consequence}."
    )


def assumptions(
    n_priors: int, prior_kind: str, preprocessing_status: str, preprocessing: str, split: str = "none"
) -> tuple[str, ...]:
    """Return what must be true for the statement to hold.

    Examples
    --------
    >>> from pbgnet.certificates.words import assumptions
    >>> assumptions(1, "zero", "none", "")[2]
    'One prior was possible: no other could have been chosen after looking at the certified rows.'
    """
    if n_priors == 1:
        count = "One prior was possible: no other could have been chosen after looking at the certified rows."
    else:
        count = (
            f"At most {n_priors} priors could have been chosen after looking at the certified rows (other "
            "widths, depths, seeds or pre-trainings count); the confidence holds for all of them together."
        )
    detail = f" ({preprocessing.strip().rstrip('.')})" if preprocessing.strip() else ""
    return (
        "The certified rows are independent draws from one distribution, that of the rows to be classified.",
        PRIORS[prior_kind],
        *([SPLITS[split]] if split in SPLITS else []),
        count,
        PREPROCESSING[preprocessing_status].rstrip(".") + detail + ".",
        "The numbers speak of the aggregate and of its vote, not of the plain sign network.",
    )
