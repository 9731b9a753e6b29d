"""What a certificate is: its records, and how versions of it are written, read and worded."""

from pbgnet.certificates.format.certificate import (
    Certificate,
    Choices,
    CountedRows,
    Fingerprints,
    Software,
    Union,
    certificate_schema,
    differences,
)
from pbgnet.certificates.format.numbers import round_up
from pbgnet.certificates.format.subjects import (
    MOST_SAMPLES,
    AggregationRecord,
    ClassifierSubject,
    DisagreementSubject,
    NetworkRecord,
    NetworkSubject,
    PreprocessingRecord,
    PriorRecord,
    ReferenceRecord,
)

__all__ = [
    "MOST_SAMPLES",
    "AggregationRecord",
    "Certificate",
    "Choices",
    "ClassifierSubject",
    "CountedRows",
    "DisagreementSubject",
    "Fingerprints",
    "NetworkRecord",
    "NetworkSubject",
    "PreprocessingRecord",
    "PriorRecord",
    "ReferenceRecord",
    "Software",
    "Union",
    "certificate_schema",
    "differences",
    "round_up",
]
