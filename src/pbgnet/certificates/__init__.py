"""Certificates: issued, written, read and verified, with nothing of training in sight.

`certify` makes a `CertifiedModel` from a trained network and the user's table; `save_model` and
`load_model` keep it in a folder without pickle; `verify` recomputes every number in it, and says
what it has to take on trust.
"""

from pbgnet.certificates.certificate import (
    BoundInputs,
    BoundRecord,
    Certificate,
    Fingerprints,
    HeldOutRecord,
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
)
from pbgnet.certificates.evaluation import Evaluation, evaluate
from pbgnet.certificates.fingerprints import (
    DataFingerprints,
    describe_data,
    fingerprint_array,
    fingerprint_data,
    fingerprint_json,
    fingerprint_labels,
    fingerprint_split,
    fingerprint_table,
    fingerprint_tensors,
)
from pbgnet.certificates.issue import issue_certificate
from pbgnet.certificates.model import CertifiedModel, certify
from pbgnet.certificates.split import check_split, draw_prior_rows
from pbgnet.certificates.storage import load_model, save_model
from pbgnet.certificates.verification import VerificationReport, VerificationStep, verify

__all__ = [
    "BoundInputs",
    "BoundRecord",
    "Certificate",
    "CertifiedModel",
    "DataFingerprints",
    "Evaluation",
    "Fingerprints",
    "HeldOutRecord",
    "PreprocessingRecord",
    "PriorRecord",
    "SplitRecord",
    "VerificationReport",
    "VerificationStep",
    "certify",
    "check_split",
    "describe_data",
    "draw_prior_rows",
    "evaluate",
    "fingerprint_array",
    "fingerprint_data",
    "fingerprint_json",
    "fingerprint_labels",
    "fingerprint_split",
    "fingerprint_table",
    "fingerprint_tensors",
    "issue_certificate",
    "load_model",
    "save_model",
    "verify",
]
