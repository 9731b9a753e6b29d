"""What the checks of `verify` work on: a certificate with what was certified, and the given data."""

import functools
import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier import CertifiedPredictions, Loss, Scores
from pbgnet.certificates.data import (
    Classes,
    Groups,
    LabelledRows,
    PreparedTable,
    Split,
    TableFacts,
    fingerprint_features,
    target_values,
)
from pbgnet.certificates.format import Certificate, FittedSubject, NetworkSubject, Wanted
from pbgnet.certificates.network import (
    Answers,
    CertifiedModel,
    Situation,
    Terms,
    expected_divergence,
    learned_from,
    situation_of,
)
from pbgnet.certificates.routes import Foresight, SelectionSettings
from pbgnet.exceptions import PBGNetError, UncertifiedError
from pbgnet.preprocessing import as_table, count_rows, take_rows


class Case(ABC):
    """A certificate and the data it is to be verified against; expensive things are computed once."""

    def __init__(self, certificate: Certificate, X: Any, y: Any, groups: Any = None) -> None:  # noqa: N803
        self.certificate, self.given, self.y, self.given_groups = certificate, X, y, groups

    @property
    def X(self) -> Any:  # noqa: N802
        """The rows."""
        return self.given

    @property
    def certified_rows(self) -> NDArray[np.int64]:
        """The certified rows of the table: all, unless it was split."""
        return np.arange(self.n_rows)

    def read_groups(self) -> Groups | None:
        """Read the group of each row of the table again: from the stated column, or as given."""
        stated = self.certificate.groups
        told = self.given_groups if stated is None or stated.column is None else stated.column
        return None if told is None else Groups.of(told, self.X)

    @functools.cached_property
    def certified_groups(self) -> Groups | None:
        """The group of each certified row; None if there are none, or they cannot be read.

        A separate step reports that; only the steps about groups need them.
        """
        try:
            groups = self.read_groups()
            return None if groups is None else groups.take(self.certified_rows)
        except (PBGNetError, IndexError):
            return None

    @property
    def claimed_groups(self) -> tuple[str, ...]:
        """The groups that occur in the certified rows, according to the certificate."""
        return () if self.certificate.groups is None else self.certificate.groups.claimed

    @property
    @abstractmethod
    def certified_columns(self) -> tuple[str, ...] | None:
        """The names of the columns of the certified table, where it has names."""

    @property
    @abstractmethod
    def certified_hashes(self) -> NDArray[np.uint64]:
        """The hash of each row of the certified table."""

    @property
    def known_classes(self) -> Classes | None:
        """The classes of the labels; None if a row may have several labels, or none is needed."""
        return None

    @functools.cached_property
    def facts(self) -> TableFacts:
        """What one walk through the rows finds."""
        return TableFacts.of(self.X)

    @functools.cached_property
    def n_rows(self) -> int:
        """Number of labels given, or of rows where there are none, as for a disagreement."""
        return count_rows(self.X) if self.y is None else len(target_values(self.y))


class NetworkCase(Case):
    """A network with its certificate."""

    def __init__(self, model: CertifiedModel, X: Any, y: Any, groups: Any = None) -> None:  # noqa: N803
        super().__init__(model.certificate, X, y, groups)
        self.model = model

    @property
    def certified_rows(self) -> NDArray[np.int64]:
        """Those of the model."""
        return self.model.certified_rows

    @property
    def certified_columns(self) -> tuple[str, ...] | None:
        """Those of the model."""
        return self.model.feature_names

    @property
    def certified_hashes(self) -> NDArray[np.uint64]:
        """Those of the model."""
        return self.model.row_fingerprints

    @property
    def known_classes(self) -> Classes | None:
        """Those of the model."""
        return None if self.several_labels else self.model.inputs.classes

    @functools.cached_property
    def X(self) -> Any:  # noqa: N802
        """The rows; a list of rows is read cell by cell if it was certified that way, as by an estimator."""
        return as_certified(self.given, self.certificate)

    @functools.cached_property
    def stated_and_found(self) -> dict[str, tuple[str, str, str]]:
        """What the certificate says about the model itself, and what is found."""
        return self.model.stated_and_found()

    @property
    def subject(self) -> NetworkSubject:
        """What the certificate says about the network."""
        return self.certificate.network

    @functools.cached_property
    def split(self) -> Split:
        """The rows of the model, chosen as the certificate says."""
        split, stated = self.model.split, self.subject.split
        return split if split.record == stated else Split(split.prior_rows, split.certified_rows, stated)

    @property
    def terms(self) -> Terms:
        """What was requested, as far as the certificate shows."""
        stated, aggregation = self.certificate, self.subject.aggregation
        sampled = aggregation.method == "monte_carlo"
        return Terms(
            confidence=stated.confidence,
            n_priors=stated.n_priors,
            certificate=stated.choices.certificate,
            class_conditional=bool(stated.class_conditional),
            confusion=bool(stated.confusion),
            per_label=bool(stated.per_label),
            aggregation=aggregation.method,
            n_samples=aggregation.n_samples if sampled else None,
            seed=aggregation.seed if sampled else None,
            max_error=self.stated_selection.target,
            coverage=self.stated_selection.coverage,
            keep_prior=bool(stated.choices.keeps_prior),
        )

    @property
    def stated_selection(self) -> SelectionSettings:
        """What was requested for answered rows; a target and a coverage of None if all are answered."""
        claim = self.certificate.answered_error_rate
        settings = None if claim is None else claim.settings
        return settings if isinstance(settings, SelectionSettings) else SelectionSettings((0.0,))

    @property
    def wanted(self) -> Wanted:
        """What must have been requested, besides the error rate over all rows."""
        names, several = self.model.inputs.classes.names, self.several_labels
        return Wanted.stated(self.certificate.claims, names, self.claimed_groups, several_labels=several)

    @property
    def several_labels(self) -> bool:
        """Whether the model answers with several labels, rather than one class."""
        return self.model.inputs.has_several_labels

    @property
    def has_learned_prior(self) -> bool:
        """Whether something could be chosen on the prior rows."""
        return learned_from(self.subject.prior, self.model.prior_rows)

    @functools.cached_property
    def rows(self) -> LabelledRows:
        """The data as they are given."""
        return LabelledRows(self.X, self.y, self.facts)

    @functools.cached_property
    def table(self) -> PreparedTable:
        """The data, prepared."""
        return PreparedTable(self.rows, self.model.inputs, self.split)

    @functools.cached_property
    def situation(self) -> Situation:
        """The answers of posterior and prior on the certified rows, and margins on prior rows."""
        if int(self.model.certified_rows.max()) >= self.n_rows:
            raise UncertifiedError("a certified row is beyond the end of the table")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when the model was made
            found = situation_of(
                self.model.network, self.table, self.subject.prior, self.terms, self.model.prior_margins
            )
        return replace(found, groups=self.certified_groups)

    @functools.cached_property
    def foresight(self) -> Foresight:
        """What was known when settings were chosen."""
        stated = self.certificate
        share = split_delta(stated.delta_per_prior, stated.choices.n_shares)
        return Foresight(
            stated.inputs.n,
            share,
            self.situation.margins,
            distance=self.situation.prior.distance,
            divergence=expected_divergence(bool(stated.choices.keeps_prior)),
            scores=self.situation.scores,
            max_error=self.stated_selection.target,
            coverage=self.stated_selection.coverage,
        )

    @property
    def answers(self) -> Answers:
        """The deployed network on the certified rows."""
        return self.situation.posterior


class AnswersCase(Case):
    """The answers of a classifier with their certificate and, if given, the classifier and its loss.

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
        groups: Any = None,
        scores: Scores | None = None,
    ) -> None:
        super().__init__(certified.certificate, X, y, groups)
        self.certified, self.model, self.reference = certified, model, reference
        self.reference_failures, self.loss, self.scores = reference_failures, loss, scores

    @property
    def certified_columns(self) -> tuple[str, ...] | None:
        """Those stored with the answers."""
        return self.certified.rows.columns

    @property
    def certified_hashes(self) -> NDArray[np.uint64]:
        """Those stored with the answers."""
        return self.certified.rows.fingerprints

    @property
    def asked_rows(self) -> Any:
        """The rows that the classifier answered on."""
        return self.X

    @property
    def true_labels(self) -> Any:
        """Their labels."""
        return self.y

    @property
    def labels_apart(self) -> Any:
        """The labels of rows that are not certified: none."""
        return target_values(self.y)[:0]

    @property
    def wanted(self) -> Wanted:
        """What must have been requested, besides the error rate over all rows."""
        losses = self.certified.losses
        loss = None if losses is None else losses.quantity
        return Wanted.stated(self.certificate.claims, self.classes.names, self.claimed_groups, loss)

    @property
    def known_classes(self) -> Classes | None:
        """Those of the answers."""
        needed = self.certificate.fingerprints.labels is not None and not self.certificate.of_labels
        return self.classes if needed else None

    @property
    def classes(self) -> Classes:
        """The classes that answers are places among."""
        return Classes(self.certified.classes)


class FittedCase(AnswersCase):
    """The answers of a classifier on the rows of a table that it was not fitted on."""

    @functools.cached_property
    def X(self) -> Any:  # noqa: N802
        """The rows; a list of rows is read cell by cell if it was certified that way."""
        return as_certified(self.given, self.certificate)

    @property
    def subject(self) -> FittedSubject:
        """What the certificate says about the classifier."""
        assert isinstance(self.certificate.subject, FittedSubject)
        return self.certificate.subject

    @functools.cached_property
    def split(self) -> Split:
        """The prior rows and the others, chosen as the certificate says."""
        split = self.certified.split
        assert split is not None
        return Split(split.prior_rows, split.certified_rows, self.subject.split)

    @property
    def certified_rows(self) -> NDArray[np.int64]:
        """All but those of the fit."""
        return self.split.certified_rows

    @functools.cached_property
    def rows(self) -> LabelledRows:
        """The data as they are given."""
        return LabelledRows(self.X, self.y, self.facts)

    @functools.cached_property
    def asked_rows(self) -> Any:
        """The certified rows."""
        return take_rows(self.X, self.split.certified_rows)

    @functools.cached_property
    def true_labels(self) -> Any:
        """Their labels."""
        return self.rows.labels[self.split.certified_rows]

    @property
    def labels_apart(self) -> Any:
        """The labels of the rows of the fit."""
        return self.rows.labels[self.split.prior_rows]


def as_certified(given: Any, certificate: Certificate) -> Any:
    """Return a given table as it was certified: a list of rows cell by cell, or as one array."""
    table = as_table(given)
    same_table = table is given or fingerprint_features(table) == certificate.fingerprints.features
    return table if same_table else np.asarray(given)
