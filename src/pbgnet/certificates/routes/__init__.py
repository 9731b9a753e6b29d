"""Routes to a bound: each an object in a file of its own, all in one registry."""

from pbgnet.certificates.routes.base import ERROR_RATE, LINEAR_LOSS, Evidence, Foresight, Route, Settings
from pbgnet.certificates.routes.claim import LOSS_QUANTITY, Claim, balanced_bound, make_claim
from pbgnet.certificates.routes.measured import Measured, Sample
from pbgnet.certificates.routes.pac_bayes import FIXED_GRID
from pbgnet.certificates.routes.registry import CANDIDATES, HELD_OUT_LOSS, ROUTES

__all__ = [
    "CANDIDATES",
    "ERROR_RATE",
    "FIXED_GRID",
    "HELD_OUT_LOSS",
    "LINEAR_LOSS",
    "LOSS_QUANTITY",
    "ROUTES",
    "Claim",
    "Evidence",
    "Foresight",
    "Measured",
    "Route",
    "Sample",
    "Settings",
    "balanced_bound",
    "make_claim",
]
