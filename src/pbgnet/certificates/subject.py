"""What a check works on and what it returns; shared by the checks of `verify`."""

import functools
import math
import warnings
from dataclasses import dataclass
from typing import Any

from pbgnet.bounds import split_delta
from pbgnet.certificates.arguments import Situation
from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.evaluation import Answers, Evaluation, answer
from pbgnet.certificates.fingerprints import fingerprint_features, label_values
from pbgnet.certificates.issue import learned_from, prior_network, situation_of
from pbgnet.certificates.model import CertifiedModel, ReadTable
from pbgnet.certificates.parts import PreprocessingRecord, PriorRecord
from pbgnet.certificates.predictions import CertifiedPredictions
from pbgnet.certificates.row_losses import Loss
from pbgnet.certificates.strategy import Plan, plan_settings
from pbgnet.certificates.terms import Terms
from pbgnet.exceptions import UncertifiedError
from pbgnet.preprocessing.tables import as_table, count_rows

__all__ = [
    "RELATIVE",
    "TIES_ON_TRUST",
    "NetworkSubject",
    "Outcome",
    "PredictionSubject",
    "Subject",
    "close",
    "count_agrees",
    "same",
]

RELATIVE = 1e-9
"""Recomputed numbers may differ by this much, for other machines round differently."""

# So many rows within the numerical error of a tie may be counted otherwise on another machine. A network
# that was trained has none; with more, a forged count could hide behind them.
MOST_TIES = 3

TIES_ON_TRUST = "rows within the numerical error of a tie count otherwise here; the stated count is on trust"


@dataclass(frozen=True)
class Outcome:
    """What a check expected and found; `trusted` where it could not recompute what it is about."""

    expected: str
    found: str
    ok: bool
    detail: str = ""
    trusted: bool = False


class Subject:
    """A certificate and the data it is to be verified against; expensive things are computed once."""

    def __init__(self, certificate: Certificate, X: Any, y: Any) -> None:  # noqa: N803
        self.certificate, self.given, self.y = certificate, X, y

    @property
    def X(self) -> Any:  # noqa: N802
        """The rows."""
        return self.given

    @functools.cached_property
    def n_rows(self) -> int:
        """Number of labels given, or of rows where there are none, as for a disagreement."""
        return count_rows(self.X) if self.y is None else int(label_values(self.y).size)

    @property
    def terms(self) -> Terms:
        """What was asked, as far as the certificate tells."""
        stated, aggregation = self.certificate, self.certificate.aggregation
        sampled = aggregation is not None and aggregation.method == "monte_carlo"
        return Terms(
            confidence=stated.confidence,
            n_priors=stated.n_priors,
            certificate=stated.choices.certificate,
            class_conditional=bool(stated.class_conditional),
            aggregation=aggregation.method if aggregation is not None else "fourier",
            n_samples=aggregation.n_samples if aggregation is not None and sampled else None,
            seed=aggregation.seed if aggregation is not None and sampled else None,
        )


class NetworkSubject(Subject):
    """A network with its certificate."""

    def __init__(self, model: CertifiedModel, X: Any, y: Any) -> None:  # noqa: N803
        super().__init__(model.certificate, X, y)
        self.model = model

    @functools.cached_property
    def X(self) -> Any:  # noqa: N802
        """The rows; a list of them is read cell by cell if it was certified so, as by an estimator."""
        table = as_table(self.given)
        if table is self.given or fingerprint_features(table) == self.certificate.fingerprints.features:
            return table
        return self.given

    @property
    def prior_record(self) -> PriorRecord:
        """What is said about the prior; no network is without."""
        assert self.certificate.prior is not None
        return self.certificate.prior

    @property
    def preprocessing_record(self) -> PreprocessingRecord:
        """What is said about the preprocessing; no network is without."""
        assert self.certificate.preprocessing is not None
        return self.certificate.preprocessing

    @property
    def has_learned_prior(self) -> bool:
        """Whether something could be chosen on the prior rows."""
        return learned_from(self.prior_record, self.model.prior_rows)

    @property
    def table(self) -> ReadTable:
        """The data, to read rows from."""
        sizes = self.model.network.architecture
        return ReadTable(self.X, label_values(self.y), self.model.inputs, sizes.n_features)

    @functools.cached_property
    def situation(self) -> Situation:
        """What posterior and prior answer on the certified rows."""
        rows = self.model.certified_rows
        if int(rows.max()) >= self.n_rows:
            raise UncertifiedError("a certified row lies beyond the end of the table")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when the model was made
            certified = self.table.examples(rows)
        return situation_of(self.model.network, certified, None, self.model.inputs.class_names, self.terms)

    @functools.cached_property
    def apart(self) -> Answers | None:
        """What the prior answers on the prior rows, where it was learned."""
        rows = self.model.prior_rows
        if not self.has_learned_prior:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return answer(prior_network(self.model.network), *self.table.examples(rows))

    @functools.cached_property
    def plan(self) -> Plan:
        """What the prior rows, or the stored margins on some of them, choose."""
        stated = self.certificate
        share = split_delta(stated.delta_per_prior, stated.choices.n_shares)
        return plan_settings(self.apart, stated.inputs.n, share, self.model.prior_margins)

    def n_errors(self, evaluation: Evaluation) -> int:
        """Return the count of errors as the version of the certificate counts."""
        return evaluation.n_wrong if self.certificate.version == 1 else evaluation.n_errors

    @functools.cached_property
    def evaluation(self) -> Evaluation:
        """The deployed network on the certified rows."""
        return self.situation.posterior.evaluation()


class PredictionSubject(Subject):
    """The answers of a classifier with their certificate, and where given the classifier and its loss.

    `reference_failures` are the steps that failed when the certified vote was verified; None if it was not.
    """

    def __init__(
        self,
        certified: CertifiedPredictions,
        X: Any,  # noqa: N803
        y: Any,
        model: Any = None,
        reference: CertifiedModel | None = None,
        reference_failures: tuple[str, ...] | None = None,
        loss: Loss | None = None,
    ) -> None:
        super().__init__(certified.certificate, X, y)
        self.certified, self.model, self.reference = certified, model, reference
        self.reference_failures, self.loss = reference_failures, loss


def same(expected: object, found: object, detail: str = "") -> Outcome:
    """Compare two values exactly; the detail is given where they differ."""
    ok = expected == found
    return Outcome(str(expected), str(found), ok, "" if ok else detail)


def close(expected: float, found: float, absolute: float = 0.0, relative: float = RELATIVE) -> Outcome:
    """Compare two numbers up to rounding."""
    ok = math.isclose(expected, found, rel_tol=relative, abs_tol=absolute)
    return Outcome(repr(expected), repr(found), ok)


def count_agrees(stated: int, found: int, n_ties: int) -> bool:
    """Whether two counts of errors differ by no more than a few rows that are ties to rounding.

    Examples
    --------
    >>> from pbgnet.certificates.subject import count_agrees
    >>> count_agrees(7, 8, n_ties=0), count_agrees(7, 8, n_ties=1), count_agrees(0, 80, n_ties=100)
    (False, True, False)
    """
    return abs(stated - found) <= min(n_ties, MOST_TIES)
