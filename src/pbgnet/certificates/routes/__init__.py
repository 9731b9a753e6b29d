"""Routes to a bound: each an object in a file of its own, all in one registry."""

from pbgnet.certificates.routes.base import (
    ERROR_RATE,
    EXPECTED_DIVERGENCE,
    HAMMING_LOSS,
    LINEAR_LOSS,
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
from pbgnet.certificates.routes.registry import CANDIDATES, HELD_OUT_LOSS, ROUTES, candidates_of

__all__ = [
    "ANY_ERROR",
    "CANDIDATES",
    "ERROR_RATE",
    "EXPECTED_DIVERGENCE",
    "FIXED_GRID",
    "HAMMING_LOSS",
    "HELD_OUT_LOSS",
    "LINEAR_LOSS",
    "LOSS_QUANTITY",
    "MOST_CLAIMS",
    "ROUTES",
    "Claim",
    "Event",
    "Evidence",
    "Foresight",
    "Measured",
    "Route",
    "Sample",
    "Settings",
    "balanced_bound",
    "candidates_of",
    "class_events",
    "label_events",
    "make_claim",
]
