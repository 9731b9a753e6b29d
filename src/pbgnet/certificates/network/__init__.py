"""pbgnet's own networks: evaluated exactly, certified by the routes, and stored as models."""

from pbgnet.certificates.network.certifying import certify_network, certify_prepared
from pbgnet.certificates.network.evaluation import LARGEST_ERROR, TOLERANCE, Answers, certifiable, evaluate
from pbgnet.certificates.network.issue import (
    classes_never_answered,
    learned_from,
    majority_of,
    now,
    prior_problem,
    situation_of,
    software,
)
from pbgnet.certificates.network.model import CertifiedModel
from pbgnet.certificates.network.strategy import (
    Proposal,
    Situation,
    candidate_names,
    chosen_on_prior_rows,
    expected_divergence,
    others_than,
    propose,
    unions,
)
from pbgnet.certificates.network.terms import Terms, check_class_size, delta_of

__all__ = [
    "LARGEST_ERROR",
    "TOLERANCE",
    "Answers",
    "CertifiedModel",
    "Proposal",
    "Situation",
    "Terms",
    "candidate_names",
    "certifiable",
    "certify_network",
    "certify_prepared",
    "check_class_size",
    "chosen_on_prior_rows",
    "classes_never_answered",
    "delta_of",
    "evaluate",
    "expected_divergence",
    "learned_from",
    "majority_of",
    "now",
    "others_than",
    "prior_problem",
    "propose",
    "situation_of",
    "software",
    "unions",
]
