"""Routes to a bound: each an object in a file of its own, all in one registry."""

from pbgnet.certificates.routes.base import (
    ANSWERED_ERROR_RATE,
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
    class_events,
    label_events,
    make_claim,
)
from pbgnet.certificates.routes.measured import Measured, Sample
from pbgnet.certificates.routes.pac_bayes import FIXED_GRID
from pbgnet.certificates.routes.registry import (
    CANDIDATES,
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
    "ANSWERED_ERROR_RATE",
    "ANY_ERROR",
    "CANDIDATES",
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
    "UNANSWERED_RATE",
    "balanced_bound",
    "candidates_of",
    "certified_place",
    "check_selection",
    "class_events",
    "label_events",
    "make_claim",
]
