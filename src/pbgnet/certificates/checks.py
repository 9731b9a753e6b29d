"""The checks `verify` runs, one function each, and the order they are listed in."""

import functools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation.fourier import DEFAULT_TOLERANCE
from pbgnet.bounds import split_delta
from pbgnet.certificates.certificate import SCHEMA, SCHEMA_VERSION, Certificate, Predictors
from pbgnet.certificates.evaluation import Evaluation, evaluate
from pbgnet.certificates.fingerprints import (
    fingerprint_data,
    fingerprint_split,
    fingerprint_tensors,
    label_values,
)
from pbgnet.certificates.inputs import encode_labels
from pbgnet.certificates.issue import bound_record, delta_of, held_out_record, prior_evaluation
from pbgnet.certificates.model import CertifiedModel
from pbgnet.exceptions import UncertifiedError
from pbgnet.networks import initial_weights
from pbgnet.preprocessing import TablePreprocessor, take_rows

__all__ = ["CHECKS", "Outcome", "Subject"]

RELATIVE = 1e-9
"""Recomputed numbers may differ by this much, for other machines round differently."""


@dataclass(frozen=True)
class Outcome:
    """What a check expected and found."""

    expected: str
    found: str
    ok: bool
    detail: str = ""


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


def _same(expected: object, found: object, detail: str = "") -> Outcome:
    ok = expected == found
    return Outcome(str(expected), str(found), ok, "" if ok else detail)


def _close(expected: float, found: float, absolute: float = 0.0, relative: float = RELATIVE) -> Outcome:
    ok = math.isclose(expected, found, rel_tol=relative, abs_tol=absolute)
    return Outcome(repr(expected), repr(found), ok)


def check_schema(subject: Subject) -> Outcome:
    """Reading it checked the schema; the constants that the words rest on are compared here."""
    expected = (f"{SCHEMA} {SCHEMA_VERSION}", Predictors(), DEFAULT_TOLERANCE[torch.float64])
    certificate = subject.certificate
    found = (f"{SCHEMA} {SCHEMA_VERSION}", certificate.predictors, certificate.aggregation.tolerance)
    if found[1:] == expected[1:]:
        return Outcome(expected[0], found[0], True)
    return Outcome(repr(expected[1:]), repr(found[1:]), False, "the predictors or the tolerance were changed")


def check_statement(subject: Subject) -> Outcome:
    """Compare the sentences in the file with those its numbers make."""
    certificate, written = subject.certificate, subject.certificate.written
    if written is None or (written.statement, written.assumptions) == (
        certificate.statement,
        certificate.assumptions,
    ):
        return Outcome(certificate.statement, certificate.statement, True)
    changed = "statement" if written.statement != certificate.statement else "assumptions"
    return Outcome(
        str(getattr(certificate, changed)),
        str(getattr(written, changed)),
        False,
        f"the {changed} in the file are not those its numbers make",
    )


def check_network(subject: Subject) -> Outcome:
    """Compare the sizes of the network."""
    record, found = subject.certificate.network, subject.model.network.architecture
    return _same(
        (record.n_features, record.hidden_layer_sizes, record.intercept),
        (found.n_features, found.hidden_layer_sizes, found.intercept),
    )


def check_posterior(subject: Subject) -> Outcome:
    """Fingerprint the posterior's weights."""
    found = fingerprint_tensors(list(subject.model.network.weights))
    return _same(subject.certificate.fingerprints.posterior, found, "a weight of the posterior was changed")


def check_prior(subject: Subject) -> Outcome:
    """Fingerprint the prior's weights."""
    found = fingerprint_tensors(subject.model.network.prior_weights)
    return _same(subject.certificate.fingerprints.prior, found, "a weight of the prior was changed")


def check_preprocessing(subject: Subject) -> Outcome:
    """Fingerprint classes, feature names and preprocessor."""
    expected = subject.certificate.fingerprints.preprocessing
    if expected is None:
        return Outcome("not stated", "not stated", True, "the certificate has no fingerprint of it")
    found = subject.model.inputs.fingerprint()
    return _same(expected, found, "classes, feature names or the preprocessor were changed")


def check_data(subject: Subject) -> Outcome:
    """Fingerprint all rows, features and labels."""
    detail = "a value, a label, a column or the order of rows differs from the table given to fit"
    return _same(subject.certificate.fingerprints.data, fingerprint_data(subject.X, subject.y), detail)


def check_split(subject: Subject) -> Outcome:
    """Fingerprint which rows are which."""
    found = fingerprint_split(subject.model.prior_rows, subject.model.certified_rows)
    return _same(subject.certificate.fingerprints.split, found, "prior or certified rows were changed")


def check_rows(subject: Subject) -> Outcome:
    """See that no row is both prior and certified, all are in the table, and their number is as stated."""
    prior, certified = subject.model.prior_rows, subject.model.certified_rows
    n = subject.certificate.inputs.n
    expected = f"{n} certified rows in the table, none of them a prior row"
    problems = []
    if certified.size != n:
        problems.append(f"{certified.size} certified rows")
    if common := np.intersect1d(prior, certified).size:
        problems.append(f"{common} rows in both parts")
    if _distinct(prior) < prior.size or _distinct(certified) < certified.size:
        problems.append("rows named twice")
    if max(_largest(prior), _largest(certified)) >= subject.n_rows:
        problems.append(f"rows beyond the end of the table of {subject.n_rows}")
    if subject.certificate.prior.kind == "pretrained" and subject.certificate.prior.n_rows > prior.size:
        problems.append(f"a prior trained on {subject.certificate.prior.n_rows} of {prior.size} prior rows")
    unused = subject.n_rows - prior.size - certified.size
    detail = f"{unused} rows of the table are in neither part" if unused > 0 else ""
    return Outcome(expected, ", ".join(problems) or expected, not problems, detail)


def check_refit(subject: Subject) -> Outcome:
    """Fit the preprocessor again on the prior rows alone."""
    status, preprocessor = subject.certificate.preprocessing.status, subject.model.preprocessor
    if status != "inside":
        ok = preprocessor is None or status == "outside"
        note = "there is none" if status == "none" else "it is outside the proof, as the certificate says"
        return Outcome(status, status if ok else "a preprocessor", ok, note)
    if preprocessor is None:
        return Outcome("a preprocessor", "none", False, "the certificate says that there is one")
    again = TablePreprocessor(max_categories=preprocessor.max_categories)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given when the model was made
        again.fit(take_rows(subject.X, subject.model.prior_rows))
    difference = _difference(preprocessor.to_dict(), again.to_dict())
    expected = f"what {subject.model.prior_rows.size} prior rows give"
    detail = f"it was not fitted on the prior rows alone: {difference}" if difference else ""
    return Outcome(expected, "another one" if difference else expected, not difference, detail)


def check_regeneration(subject: Subject) -> Outcome:
    """Make the prior again where nothing but its seed made it."""
    record, network = subject.certificate.prior, subject.model.network
    if record.kind in ("pretrained", "given"):
        note = (
            "not repeated: that it was trained on the prior rows alone is taken on trust"
            if record.kind == "pretrained"
            else "not repeated: that it does not depend on the certified rows is taken on trust"
        )
        return Outcome(f"a {record.kind} prior", f"a {record.kind} prior", True, note)
    options: dict[str, Any] = {"initialisation": "zero"}
    if record.kind == "random":
        if record.seed is None:
            return Outcome("a seed", "none", False, "a random prior without its seed cannot be repeated")
        generator = torch.Generator().manual_seed(record.seed)
        options = {"initialisation": record.initialisation or "xavier_normal", "generator": generator}
    sizes = network.architecture
    again = initial_weights(
        sizes.n_features, sizes.hidden_layer_sizes, intercept=sizes.intercept, dtype=torch.float64, **options
    )
    # Training in float32 keeps the prior in float32: the same numbers, rounded.
    rounded = [weight.float().double() for weight in again]
    stored = network.prior_weights
    ok = any(all(map(torch.equal, stored, candidate)) for candidate in (again, rounded))
    source = "zeros" if record.kind == "zero" else f"the weights drawn from seed {record.seed}"
    return Outcome(source, source if ok else "other weights", ok)


def check_risk(subject: Subject) -> Outcome:
    """Recompute the empirical risk; two computations may differ by the error of both."""
    inputs, found = subject.certificate.inputs, subject.evaluation
    slack = 2.0 * min(inputs.numerical_error, found.numerical_error * (1 + RELATIVE)) + 1e-12
    return _close(inputs.empirical_risk, found.risk, absolute=slack, relative=0.0)


def check_error_rate(subject: Subject) -> Outcome:
    """Recount the errors; rows whose output is within the numerical error of 0 may go either way."""
    inputs, found = subject.certificate.inputs, subject.evaluation
    ok = abs(inputs.n_errors - found.n_errors) <= found.n_ties
    ok &= inputs.empirical_error_rate == inputs.n_errors / inputs.n
    return Outcome(
        f"{inputs.n_errors} errors, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} errors, rate {found.error_rate!r}",
        ok,
    )


def check_numerical_error(subject: Subject) -> Outcome:
    """Recompute the proved numerical error."""
    return _close(subject.certificate.inputs.numerical_error, subject.evaluation.numerical_error)


def check_divergence(subject: Subject) -> Outcome:
    """Recompute the divergence."""
    return _close(subject.certificate.inputs.divergence, subject.evaluation.divergence)


def check_delta(subject: Subject) -> Outcome:
    """Recompute delta from the confidence, and its share per prior."""
    certificate = subject.certificate
    delta = delta_of(certificate.confidence)
    return _same(
        (certificate.delta, certificate.delta_per_prior),
        (delta, split_delta(delta, certificate.n_priors)),
        f"with confidence {certificate.confidence} and {certificate.n_priors} priors",
    )


def check_bound(subject: Subject) -> Outcome:
    """Recompute the bound from its stated inputs, each of which is checked by a step of its own."""
    stated = subject.certificate.bound
    found = bound_record(subject.certificate.inputs, subject.delta_per_prior, stated.constant)
    return _close(stated.value, found.value)


def check_error_rate_bound(subject: Subject) -> Outcome:
    """See that the bound on the error rate is twice the bound on the risk, at most 1."""
    bound = subject.certificate.bound
    return _close(bound.error_rate_bound, min(1.0, 2.0 * bound.value), relative=0.0)


def check_held_out(subject: Subject) -> Outcome:
    """Recompute the test-set bounds of the prior's classifier."""
    stated = subject.certificate.held_out
    evaluation = prior_evaluation(subject.model.network, *subject.certified)
    found = held_out_record(evaluation, subject.delta_per_prior)
    slack = 2.0 * evaluation.numerical_error + 1e-12
    # The bounds are recomputed from the stated risk and errors, which are compared with those found.
    restated = replace(
        evaluation,
        risk=stated.empirical_risk,
        n_errors=min(stated.n_errors, evaluation.n),
        numerical_error=stated.numerical_error,
    )
    again = held_out_record(restated, subject.delta_per_prior)
    ok = (
        abs(stated.empirical_risk - evaluation.risk) <= slack
        and abs(stated.n_errors - evaluation.n_errors) <= evaluation.n_ties
        and math.isclose(stated.numerical_error, evaluation.numerical_error, rel_tol=RELATIVE)
        and math.isclose(stated.risk_bound, again.risk_bound, rel_tol=RELATIVE)
        and math.isclose(stated.error_rate_bound, again.error_rate_bound, rel_tol=RELATIVE)
    )
    return Outcome(str(stated), str(found), ok)


CHECKS: dict[str, Callable[[Subject], Outcome]] = {
    "schema": check_schema,
    "statement": check_statement,
    "network": check_network,
    "posterior weights": check_posterior,
    "prior weights": check_prior,
    "preprocessing": check_preprocessing,
    "data": check_data,
    "split": check_split,
    "certified rows": check_rows,
    "preprocessing refitted": check_refit,
    "prior regenerated": check_regeneration,
    "empirical risk": check_risk,
    "error rate": check_error_rate,
    "numerical error": check_numerical_error,
    "divergence": check_divergence,
    "delta": check_delta,
    "bound": check_bound,
    "error rate bound": check_error_rate_bound,
    "held-out comparison": check_held_out,
}


def _largest(rows: NDArray[np.int64]) -> int:
    return int(rows.max()) if rows.size else -1


def _distinct(rows: NDArray[np.int64]) -> int:
    return int(np.unique(rows).size)


def _difference(stored: Any, again: Any, where: str = "") -> str:
    """Name the first place where two JSON-able values differ; floats may differ by rounding."""
    if isinstance(stored, float) and isinstance(again, float):
        same = math.isclose(stored, again, rel_tol=RELATIVE)
        return "" if same else f"{where} is {stored!r}, refitted {again!r}"
    if isinstance(stored, dict) and isinstance(again, dict) and set(stored) == set(again):
        parts = [_difference(stored[key], again[key], f"{where} {key}".strip()) for key in stored]
        return next(filter(None, parts), "")
    if isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        parts = [
            _difference(a, b, f"{where}[{k}]") for k, (a, b) in enumerate(zip(stored, again, strict=True))
        ]
        return next(filter(None, parts), "")
    return "" if stored == again else f"{where} is {stored!r:.80}, refitted {again!r:.80}"
