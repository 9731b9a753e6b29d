"""What a certificate is: its records, and how its versions are written, read and worded."""

from pbgnet.bounds import percent, percent_up, round_down, round_up
from pbgnet.certificates.format.certificate import Certificate, differences
from pbgnet.certificates.format.claim_list import Claimed, Wanted, class_events
from pbgnet.certificates.format.contents import CountedRows, Fingerprints, Software
from pbgnet.certificates.format.majority import MajorityAnswer, never_answered
from pbgnet.certificates.format.schema import certificate_schema
from pbgnet.certificates.format.selection_words import answered_percent
from pbgnet.certificates.format.shares import Choices, Union
from pbgnet.certificates.format.subjects import (
    MOST_MEMBERS,
    MOST_SAMPLES,
    AggregationRecord,
    CandidateRecord,
    ClassifierSubject,
    DisagreementSubject,
    FitRecord,
    FittedSubject,
    NetworkRecord,
    NetworkSubject,
    PreprocessingRecord,
    PriorRecord,
    ReferenceRecord,
    check_subject_name,
)

__all__ = [
    "MOST_MEMBERS",
    "MOST_SAMPLES",
    "AggregationRecord",
    "CandidateRecord",
    "Certificate",
    "Choices",
    "Claimed",
    "ClassifierSubject",
    "CountedRows",
    "DisagreementSubject",
    "Fingerprints",
    "FitRecord",
    "FittedSubject",
    "MajorityAnswer",
    "NetworkRecord",
    "NetworkSubject",
    "PreprocessingRecord",
    "PriorRecord",
    "ReferenceRecord",
    "Software",
    "Union",
    "Wanted",
    "answered_percent",
    "certificate_schema",
    "check_subject_name",
    "class_events",
    "differences",
    "never_answered",
    "percent",
    "percent_up",
    "round_down",
    "round_up",
]
