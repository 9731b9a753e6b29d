"""Classifiers for scikit-learn that come with a certificate."""

from pbgnet.estimators.alternatives import compare_classifiers
from pbgnet.estimators.certified_pipeline import CertifiedPipeline, make_certified_pipeline
from pbgnet.estimators.held_out_pipeline import HeldOutPipeline
from pbgnet.estimators.multilabel_classifier import PBGNetMultilabelClassifier
from pbgnet.estimators.pbgd_classifier import PBGDClassifier
from pbgnet.estimators.pbgnet_classifier import PBGNetClassifier

__all__ = [
    "CertifiedPipeline",
    "HeldOutPipeline",
    "PBGDClassifier",
    "PBGNetClassifier",
    "PBGNetMultilabelClassifier",
    "compare_classifiers",
    "make_certified_pipeline",
]
