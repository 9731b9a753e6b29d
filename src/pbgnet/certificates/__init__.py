"""Certificates: issued, written, read and verified, with nothing of training in sight.

`certify` counts the errors of any classifier on rows it has never seen, and may average a loss;
`certify_network` makes a `CertifiedModel` from a trained network and the user's table;
`certify_by_disagreement` compares another classifier with a certified one. All are saved in folders
without pickle. `verify` recomputes every number, and says what it has to take on trust.

Its rooms, each seeing those before it: `data` (rows, labels, fingerprints, the split), `routes` (arguments
for a bound), `format` (what a certificate is), `network`, `classifier`, `store`, `verify`.
"""

from pbgnet.certificates.classifier import (
    CertifiedPredictions,
    ExportedNetwork,
    certify,
    certify_by_disagreement,
)
from pbgnet.certificates.data import (
    DUPLICATES_ADVICE,
    Classes,
    Inputs,
    LabelledRows,
    PreparedTable,
    Split,
    SplitRecord,
    by_hash_of,
    describe_data,
    draw_prior_rows,
    earliest_by,
    fingerprint_features,
    fingerprint_tensors,
    label_values,
)
from pbgnet.certificates.format import (
    Certificate,
    DisagreementSubject,
    PreprocessingRecord,
    PriorRecord,
    certificate_schema,
    round_up,
)
from pbgnet.certificates.network import (
    Answers,
    CertifiedModel,
    Terms,
    certifiable,
    certify_network,
    certify_prepared,
    delta_of,
    evaluate,
)
from pbgnet.certificates.routes import CANDIDATES, FIXED_GRID, ROUTES, Claim, Foresight, make_claim
from pbgnet.certificates.store import (
    CERTIFICATE,
    FOLDER_FILES,
    load_certified,
    load_model,
    load_predictions,
    save_model,
    save_predictions,
    write_model,
)
from pbgnet.certificates.verification import VerificationReport, VerificationStep, verify

__all__ = [
    "CANDIDATES",
    "CERTIFICATE",
    "DUPLICATES_ADVICE",
    "FIXED_GRID",
    "FOLDER_FILES",
    "ROUTES",
    "Answers",
    "Certificate",
    "CertifiedModel",
    "CertifiedPredictions",
    "Claim",
    "Classes",
    "DisagreementSubject",
    "ExportedNetwork",
    "Foresight",
    "Inputs",
    "LabelledRows",
    "PreparedTable",
    "PreprocessingRecord",
    "PriorRecord",
    "Split",
    "SplitRecord",
    "Terms",
    "VerificationReport",
    "VerificationStep",
    "by_hash_of",
    "certifiable",
    "certificate_schema",
    "certify",
    "certify_by_disagreement",
    "certify_network",
    "certify_prepared",
    "delta_of",
    "describe_data",
    "draw_prior_rows",
    "earliest_by",
    "evaluate",
    "fingerprint_features",
    "fingerprint_tensors",
    "label_values",
    "load_certified",
    "load_model",
    "load_predictions",
    "make_claim",
    "round_up",
    "save_model",
    "save_predictions",
    "verify",
    "write_model",
]
