"""Classifiers for scikit-learn that come with a certificate."""

from pbgnet.estimators.certified_pipeline import CertifiedPipeline, make_certified_pipeline
from pbgnet.estimators.pbgd_classifier import PBGDClassifier
from pbgnet.estimators.pbgnet_classifier import PBGNetClassifier

__all__ = ["CertifiedPipeline", "PBGDClassifier", "PBGNetClassifier", "make_certified_pipeline"]
