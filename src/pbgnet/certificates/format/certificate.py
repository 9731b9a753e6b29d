"""The certificate: what was proved, from which numbers, about which predictor, on which rows.

Its JSON form is versioned: a module such as `version1` defines how a version is read, written and worded. The
sentences are made from the numbers; `verify` compares the two, so new words are a new version.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, Self

from pbgnet.certificates.data import GroupSize, GroupsRecord, fingerprint_json
from pbgnet.certificates.format import version1
from pbgnet.certificates.format.contents import CountedRows, Fingerprints, Software, Words
from pbgnet.certificates.format.delta_plan import DeltaPlan, delta_plan
from pbgnet.certificates.format.group_words import GroupLimits, limits_of_groups, small_groups
from pbgnet.certificates.format.majority import MajorityAnswer
from pbgnet.certificates.format.selection_words import answered_limit, answered_share, certified_threshold
from pbgnet.certificates.format.shares import FEW, Choices
from pbgnet.certificates.format.subjects import DisagreementSubject, NetworkSubject, Subject
from pbgnet.certificates.format.summary import certificate_card, summary
from pbgnet.certificates.routes import (
    ANSWERED_ERROR_RATE,
    COUNTED,
    ERROR_RATE,
    HAMMING_LOSS,
    LINEAR_LOSS,
    MOST_CLAIMS,
    UNANSWERED_RATE,
    Claim,
)
from pbgnet.exceptions import DamagedFileError, DomainError, OptionError
from pbgnet.records import (
    ABSENT_IF_NONE,
    Limits,
    OpenProbability,
    PositiveCount,
    Probability,
    Record,
    parse_json,
)

SCHEMA = "pbgnet-certificate"

VERSIONS: dict[int, ModuleType] = {1: version1}
"""Readers, writers and words; the last is what certificates are issued in."""


@dataclass(frozen=True)
class Certificate(Record):
    """A proved bound on the error rate of a classifier, with everything it depends on.

    `fit`, `certify`, `certify_network`, `certify_selective` and `certify_by_disagreement` make one;
    `Certificate.from_json` reads one; `verify` checks one.

    Attributes
    ----------
    confidence, delta : float
        The probability, over the draw of the rows, that any claim fails is at most delta = 1 - confidence.
    n_priors : int
        Number of priors (or of classifiers that are not networks) among which the choice was made; they
        share delta.
    delta_per_prior : float
        The share of each.
    claims : tuple of Claim
        What is proved; all claims hold at the same time with the stated confidence.
    alternatives : tuple of Claim
        For comparison: what other bounds give on the same rows. Each would hold had it been chosen in
        advance.
    choices : Choices
        What was chosen where, and what it cost.
    inputs : CountedRows
        What was counted.
    majority : MajorityAnswer or None
        How often always giving the most frequent answer is wrong on the same rows: counted, not guaranteed.
        None if the rows have no labels.
    balanced_error_rate : float or None
        Bound on the mean of the error rates of the classes, if these are claimed. It is the mean of their
        bounds and costs no confidence.
    groups : GroupsRecord or None
        The groups whose error rates are bounded, and how many certified rows each has.
    largest_group_difference : float or None
        Bound on the largest difference between the error rates of two groups. It follows from their limits
        and costs no confidence.
    subject : NetworkSubject, ClassifierSubject, FittedSubject or DisagreementSubject
        What was certified.
    n_rows_total : int
        Number of rows of the whole table: prior rows, certified rows and any others.
    fingerprints : Fingerprints
    versions : Software
    issued_at : str
        UTC, ISO 8601.
    version : int
        Version of the format; a certificate read from a file keeps its version.
    written : Words or None
        The sentences and the seal in the file this certificate was read from.

    Examples
    --------
    >>> from pbgnet.certificates import Certificate
    >>> Certificate.from_json("{}")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: The certificate lacks the key schema.
    """

    confidence: OpenProbability
    delta: OpenProbability
    n_priors: PositiveCount
    delta_per_prior: OpenProbability
    claims: Annotated[tuple[Claim, ...], Limits(longest=MOST_CLAIMS)]
    alternatives: Annotated[tuple[Claim, ...], FEW]
    choices: Choices
    inputs: CountedRows
    majority: MajorityAnswer | None
    balanced_error_rate: Probability | None
    subject: Subject
    n_rows_total: PositiveCount
    fingerprints: Fingerprints
    versions: Software
    issued_at: Annotated[str, Limits(pattern=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")]
    groups: GroupsRecord | None = field(default=None, metadata=ABSENT_IF_NONE)
    largest_group_difference: Probability | None = field(default=None, metadata=ABSENT_IF_NONE)
    version: Annotated[int, Limits(low=1, high=max(VERSIONS))] = max(VERSIONS)
    written: Words | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(claim.quantity == ERROR_RATE and claim.overall for claim in self.claims) != 1:
            raise DomainError("claims must contain exactly one bound on the error rate over all rows.")
        known = () if self.groups is None else self.groups.claimed
        for claim in self.claims:
            if claim.group is not None and claim.group not in known:
                raise DomainError(
                    f"claims: one is about group {claim.group:.60}, but no certified row belongs to it."
                )
            if (claim.predictor == "classifier") == self.of_network or claim.discarded:
                raise DomainError(
                    f"claims cannot be about {claim.predictor}, which is not the deployed classifier."
                )
            if (claim.route == "disagreement") != isinstance(self.subject, DisagreementSubject):
                raise DomainError("A disagreement needs a reference, and no other route may have one.")

    @property
    def of_network(self) -> bool:
        """Whether it is about a network of pbgnet."""
        return isinstance(self.subject, NetworkSubject)

    @property
    def network(self) -> NetworkSubject:
        """The subject, if it is a network."""
        if not isinstance(self.subject, NetworkSubject):
            raise DomainError("This certificate is for a classifier that is not a pbgnet network.")
        return self.subject

    @property
    def error_rate(self) -> Claim:
        """The bound on the error rate of the deployed classifier.

        For several labels, on the share of rows with any wrong label.
        """
        return next(c for c in self.claims if c.quantity == ERROR_RATE and c.overall)

    @property
    def hamming_loss(self) -> Claim | None:
        """The bound on the share of wrong labels, which every certificate of several labels claims."""
        return next((c for c in self.claims if c.quantity == HAMMING_LOSS), None)

    @property
    def of_labels(self) -> bool:
        """Whether rows have several labels, rather than one class."""
        return self.hamming_loss is not None

    @property
    def per_label(self) -> tuple[Claim, ...]:
        """The bounds on the error rate of each of several labels, if they are claimed."""
        return tuple(claim for claim in self.claims if claim.label is not None)

    @property
    def linear_loss(self) -> Claim | None:
        """The bound on its expected linear loss, if one is claimed."""
        return next((c for c in self.claims if c.quantity == LINEAR_LOSS), None)

    @property
    def expected_loss(self) -> Claim | None:
        """The bound on its expected linear, or other, loss, if one is claimed."""
        return next((c for c in self.claims if c.quantity not in (*COUNTED, HAMMING_LOSS)), None)

    @property
    def answered_error_rate(self) -> Claim | None:
        """The bound on the error rate among answered rows, if not all rows are answered."""
        return next((c for c in self.claims if c.quantity == ANSWERED_ERROR_RATE), None)

    @property
    def unanswered_rate(self) -> Claim | None:
        """The bound on the share of unanswered rows, if not all rows are answered."""
        return next((c for c in self.claims if c.quantity == UNANSWERED_RATE), None)

    @property
    def threshold(self) -> float | None:
        """Rows whose score is at least this are answered; None if no threshold is certified."""
        claim = self.answered_error_rate
        return None if claim is None else certified_threshold(claim)

    @property
    def answered_limit(self) -> str:
        """The bound on the error rate of answered rows as text; "" if all rows are answered."""
        claim = self.answered_error_rate
        return "" if claim is None else answered_limit(claim)

    @property
    def answered_share(self) -> float | None:
        """The share of certified rows that are answered, a count and not a claim; None if all are."""
        claim = self.answered_error_rate
        return None if claim is None else answered_share(claim)

    def require_selection(self) -> float | None:
        """Return `threshold`, or raise `OptionError` if none was requested."""
        if self.answered_error_rate is None:
            raise OptionError(
                "This certificate is for a classifier that answers every row. To let it abstain, set "
                "max_error or coverage before fit, or use certify_selective."
            )
        return self.threshold

    @property
    def has_discarded(self) -> bool:
        """Whether a posterior was trained but not kept, because its prior is what is deployed."""
        return any(claim.discarded for claim in self.alternatives)

    @property
    def class_conditional(self) -> tuple[Claim, ...]:
        """The bounds on the error rate among rows of one class, if they are claimed."""
        return tuple(c for c in self.claims if c.given_class is not None and c.answered is None)

    @property
    def confusion(self) -> tuple[Claim, ...]:
        """The bounds on cells of the confusion matrix, if they are claimed.

        Each bounds how often rows of a class are answered with another one. With two classes that is the
        error rate of the class.
        """
        return tuple(claim for claim in self.claims if claim.answered is not None)

    @property
    def by_group(self) -> tuple[GroupLimits, ...]:
        """The limits of the error rate in each group, if they are claimed."""
        return limits_of_groups(self.claims)

    @property
    def small_groups(self) -> tuple[GroupSize, ...]:
        """The groups with so few certified rows that little can be said about them, whatever their errors."""
        if self.groups is None:
            return ()
        share = next((claim.delta for claim in self.claims if claim.group is not None), self.delta)
        return small_groups(self.groups, share)

    @property
    def delta_plan(self) -> DeltaPlan:
        """Which sentence has which share of delta, so that all hold together."""
        return delta_plan(self)

    def alternative(self, quantity: str, route: str) -> Claim | None:
        """Return the result of another route, for comparison; see `pbgnet.certificates.ROUTES`."""
        return next((c for c in self.alternatives if (c.quantity, c.route) == (quantity, route)), None)

    @property
    def summary(self) -> str:
        """What is proved in plain words, its bounds rounded up; `statement` is the exact sentence."""
        return summary(self)

    def __str__(self) -> str:
        """Return the summary, as `print` shows it."""
        return self.summary

    def _repr_html_(self) -> str:
        """Return the card that notebooks show."""
        from pbgnet.pages import render_card

        return render_card(certificate_card(self))

    def words_of(self, claim: Claim) -> str:
        """Return a few words for a claim; if posterior and prior are the same, only for its route."""
        alone = self.error_rate.predictor == "prior's vote" and not self.has_discarded
        return claim.words.removesuffix(", prior alone") if alone else claim.words

    @property
    def statement(self) -> str:
        """The exact sentence; its numbers are rounded up."""
        return str(self._format.statement(self))

    @property
    def predictors(self) -> tuple[str, ...]:
        """Which predictors the numbers are about, and which not, one sentence each."""
        return tuple(self._format.predictors(self))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the statement to hold, one sentence each."""
        return tuple(self._format.assumptions(self))

    @property
    def comparison(self) -> str:
        """What the alternatives are, in a sentence."""
        return str(self._format.COMPARISON)

    @property
    def yardstick(self) -> str:
        """How often always giving the same answer would be wrong on the same rows, in a sentence."""
        return str(self._format.yardstick(self))

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """Where the classifier is not shown to be useful, one sentence each; empty if it is."""
        return tuple(self._format.shortcomings(self))

    @property
    def beats_majority(self) -> bool:
        """Whether the bound is below what always the same answer errs on these rows, where that is known."""
        return self.majority is None or self.error_rate.value < self.majority.error_rate

    @property
    def _format(self) -> ModuleType:
        return VERSIONS[self.version]

    @property
    def seal(self) -> str:
        """The fingerprint of everything else in the certificate.

        With it, `verify` notices if a field was edited by hand that nothing else depends on, such as a
        description or a version. It is not a security feature: anyone who changes a field can make a new
        seal.
        """
        return fingerprint_json(self._unsealed())

    @property
    def seals(self) -> tuple[str, str, str]:
        """The seal in the file, if there is one, that of the content, and what a difference means."""
        seal = self.seal
        return (
            seal if self.written is None else self.written.seal,
            seal,
            "a field of the certificate was edited",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values for JSON, sentences first and the seal last."""
        return {**self._unsealed(), "seal": self.seal}

    def _unsealed(self) -> dict[str, Any]:
        content = super().to_dict()
        del content["written"], content["version"]
        return {"schema": SCHEMA, "version": self.version, **self._format.write(self, content)}

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a certificate of any version from parsed JSON; see `Record.from_dict`."""
        if not isinstance(data, dict):
            return super().from_dict(data, where)  # which says what is wrong
        for key in ("schema", "version", "seal"):
            if key not in data:
                raise DamagedFileError(f"The certificate lacks the key {key}.")
        schema, version = data["schema"], data["version"]
        if schema != SCHEMA:
            raise DamagedFileError(f"schema must be {SCHEMA!r}, got {schema!r:.60}.")
        if type(version) is not int or version not in VERSIONS:
            raise DamagedFileError(
                f"version must be from 1 to {max(VERSIONS)}, got {version!r:.60}. A newer version of pbgnet "
                "may be able to read it."
            )
        for key in ("written", "kind"):
            if key in data:
                raise DamagedFileError(f"The certificate has the unknown key {key}.")
        content = {key: value for key, value in data.items() if key not in ("schema", "version")}
        return super().from_dict({**VERSIONS[version].read(content), "version": version}, where)

    def to_json(self) -> str:
        """Return the certificate as JSON text; floats are written exactly."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a certificate, strictly.

        Raises
        ------
        DamagedFileError
            If the text is not a certificate of a known version; the message names the key.
        """
        return cls.from_dict(parse_json(text))


def differences(compared: Mapping[str, tuple[str, str, str]]) -> str:
    """Name where stated and found values differ, and what that means; "" if nowhere."""
    return "; ".join(
        f"{name} ({detail})" for name, (said, found, detail) in compared.items() if said != found
    )
