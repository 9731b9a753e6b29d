"""Certificates: issued, written, read and verified, with nothing of training in sight.

`certify` counts the errors of any classifier on rows it has never seen, and may average a loss;
`certify_network` makes a `CertifiedModel` from a trained network and the user's table;
`certify_by_disagreement` compares another classifier with a certified one. All are saved in folders
without pickle. `verify` recomputes every number, and says what it has to take on trust.
"""

from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.claim import Choices, Claim, Evidence, ReferenceRecord, Settings, Union
from pbgnet.certificates.classifier import certify
from pbgnet.certificates.disagreement import certify_by_disagreement
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
from pbgnet.certificates.model import CertifiedModel, certify_network
from pbgnet.certificates.parts import (
    BoundInputs,
    Fingerprints,
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
)
from pbgnet.certificates.prediction_storage import load_certified, load_predictions, save_predictions
from pbgnet.certificates.predictions import CertifiedPredictions
from pbgnet.certificates.split import check_split, draw_prior_rows
from pbgnet.certificates.storage import load_model, save_model
from pbgnet.certificates.terms import CERTIFICATES, Terms
from pbgnet.certificates.verification import VerificationReport, VerificationStep, verify

__all__ = [
    "CERTIFICATES",
    "BoundInputs",
    "Certificate",
    "CertifiedModel",
    "CertifiedPredictions",
    "Choices",
    "Claim",
    "DataFingerprints",
    "Evaluation",
    "Evidence",
    "Fingerprints",
    "PreprocessingRecord",
    "PriorRecord",
    "ReferenceRecord",
    "Settings",
    "SplitRecord",
    "Terms",
    "Union",
    "VerificationReport",
    "VerificationStep",
    "certify",
    "certify_by_disagreement",
    "certify_network",
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
    "load_certified",
    "load_model",
    "load_predictions",
    "save_model",
    "save_predictions",
    "verify",
]
