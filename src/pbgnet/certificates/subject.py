"""What a check works on and what it returns; shared by the checks of `verify`."""

import functools
import math
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pbgnet.bounds import split_delta
from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.evaluation import Evaluation, evaluate
from pbgnet.certificates.fingerprints import label_values
from pbgnet.certificates.inputs import encode_labels
from pbgnet.certificates.issue import delta_of
from pbgnet.certificates.model import CertifiedModel
from pbgnet.exceptions import UncertifiedError
from pbgnet.preprocessing import take_rows

__all__ = ["RELATIVE", "Outcome", "Subject", "close", "same"]

RELATIVE = 1e-9
"""Recomputed numbers may differ by this much, for other machines round differently."""


@dataclass(frozen=True)
class Outcome:
    """What a check expected and found; `trusted` where it could not recompute what it is about."""

    expected: str
    found: str
    ok: bool
    detail: str = ""
    trusted: bool = False


class Subject:
    """A model and the data it is to be verified against; expensive things are computed once."""

    def __init__(self, model: CertifiedModel, X: Any, y: Any) -> None:  # noqa: N803
        self.model, self.X, self.y = model, X, y

    @property
    def certificate(self) -> Certificate:
        """What is to be verified."""
        return self.model.certificate

    @property
    def delta_per_prior(self) -> float:
        """The share of delta that the confidence and the number of priors leave."""
        return split_delta(delta_of(self.certificate.confidence), self.certificate.n_priors)

    @functools.cached_property
    def n_rows(self) -> int:
        """Number of labels given, and so of rows."""
        return int(label_values(self.y).size)

    @functools.cached_property
    def certified(self) -> tuple[Any, Tensor]:
        """Features and labels of the certified rows."""
        rows = self.model.certified_rows
        if int(rows.max()) >= self.n_rows:
            raise UncertifiedError("a certified row lies beyond the end of the table")
        table = take_rows(self.X, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when the model was made
            features = self.model.inputs.features(table, self.model.network.architecture.n_features)
        labels = encode_labels(label_values(self.y)[rows], self.model.classes)
        return features, torch.from_numpy(labels)

    @functools.cached_property
    def evaluation(self) -> Evaluation:
        """The posterior on the certified rows."""
        return evaluate(self.model.network, *self.certified)


def same(expected: object, found: object, detail: str = "") -> Outcome:
    """Compare two values exactly; the detail is given where they differ."""
    ok = expected == found
    return Outcome(str(expected), str(found), ok, "" if ok else detail)


def close(expected: float, found: float, absolute: float = 0.0, relative: float = RELATIVE) -> Outcome:
    """Compare two numbers up to rounding."""
    ok = math.isclose(expected, found, rel_tol=relative, abs_tol=absolute)
    return Outcome(repr(expected), repr(found), ok)
