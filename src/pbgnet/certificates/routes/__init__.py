"""Routes to a bound: each an object in a file of its own, all in one registry."""

from pbgnet.certificates.routes.base import (
    ACCURACY,
    ANSWERED_ERROR_RATE,
    COUNTED,
    ERROR_RATE,
    HAMMING_LOSS,
    LINEAR_LOSS,
    UNANSWERED_RATE,
    Evidence,
    Foresight,
    Route,
    Settings,
)
from pbgnet.certificates.routes.claim import (
    ANY_ERROR,
    LOSS_QUANTITY,
    MOST_CLAIMS,
    Claim,
    Event,
    balanced_bound,
    largest_difference,
    make_claim,
)
from pbgnet.certificates.routes.measured import Measured, Sample
from pbgnet.certificates.routes.pac_bayes import FIXED_GRID
from pbgnet.certificates.routes.registry import (
    CANDIDATES,
    COUNT_BELOW,
    HELD_OUT_LOSS,
    ROUTES,
    SELECTIVE,
    candidates_of,
)
from pbgnet.certificates.routes.selection import (
    MOST_THRESHOLDS,
    SelectionEvidence,
    SelectionSettings,
    certified_place,
    check_selection,
)

__all__ = [
    "ACCURACY",
    "ANSWERED_ERROR_RATE",
    "ANY_ERROR",
    "CANDIDATES",
    "COUNTED",
    "COUNT_BELOW",
    "ERROR_RATE",
    "FIXED_GRID",
    "HAMMING_LOSS",
    "HELD_OUT_LOSS",
    "LINEAR_LOSS",
    "LOSS_QUANTITY",
    "MOST_CLAIMS",
    "MOST_THRESHOLDS",
    "ROUTES",
    "SELECTIVE",
    "UNANSWERED_RATE",
    "Claim",
    "Event",
    "Evidence",
    "Foresight",
    "Measured",
    "Route",
    "Sample",
    "SelectionEvidence",
    "SelectionSettings",
    "Settings",
    "balanced_bound",
    "candidates_of",
    "certified_place",
    "check_selection",
    "largest_difference",
    "make_claim",
]
