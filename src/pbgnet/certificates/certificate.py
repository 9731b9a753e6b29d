"""The certificate: what was proved, from which numbers, about which predictor, on which rows.

Its JSON form is versioned, and every version stays readable. The sentences in it are made from its
numbers; `verify` compares the two, so a change of wording is a new version of the schema.
"""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pbgnet.certificates import sentences
from pbgnet.certificates.claim import Choices, Claim, ReferenceRecord
from pbgnet.certificates.fingerprints import fingerprint_json
from pbgnet.certificates.parts import (
    AggregationRecord,
    BoundInputs,
    Fingerprints,
    NetworkRecord,
    OpenProbability,
    PositiveCount,
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
    Versions,
    Words,
)
from pbgnet.certificates.records import Limits, Record, parse_json
from pbgnet.certificates.version1 import Version1
from pbgnet.exceptions import DamagedFileError, DomainError

__all__ = ["SCHEMA", "SCHEMA_VERSION", "Certificate"]

SCHEMA = "pbgnet-certificate"
SCHEMA_VERSION = 2
HEAD = ("schema", "version", "statement", "assumptions", "seal")
"""Keys of the JSON form, in all versions, that are made from the others."""


@dataclass(frozen=True)
class Certificate(Record):
    """A proved bound on the risk of a classifier, with all it rests on.

    Made by `certify`, `certify_network` and `certify_by_disagreement`; read with `Certificate.from_json`;
    checked by `verify`.

    Attributes
    ----------
    confidence, delta : float
        The claims may fail with probability delta = 1 - confidence over the draw of the rows.
    n_priors : int
        Number of priors (without a network: of classifiers) among which the choice was made; each pays a
        share of delta.
    delta_per_prior : float
        The share.
    claims : tuple of Claim
        What is proved, all of it together at the confidence.
    alternatives : tuple of Claim
        For comparison: what other routes give on the same rows, each valid by itself had it been chosen
        beforehand.
    choices : Choices
        What was chosen where, and what it cost.
    inputs : BoundInputs
        What was measured.
    network, aggregation, prior, preprocessing
        What was certified; None where it is not a network of this package.
    split : SplitRecord
    reference : ReferenceRecord or None
        What a disagreement is with.
    n_rows_total : int
        Number of rows of the table given: prior rows, certified rows and any others.
    fingerprints, versions
    issued_at : str
        UTC, ISO 8601.
    version : int
        Of the schema; a certificate that was read is written back in its own version.
    written : Words or None
        The sentences and the seal found in the file this certificate was read from.

    Examples
    --------
    >>> from pbgnet.certificates import Certificate
    >>> Certificate.from_json("{}")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: The content lacks the key schema.
    """

    confidence: OpenProbability
    delta: OpenProbability
    n_priors: PositiveCount
    delta_per_prior: OpenProbability
    claims: tuple[Claim, ...]
    alternatives: tuple[Claim, ...]
    choices: Choices
    inputs: BoundInputs
    network: NetworkRecord | None
    aggregation: AggregationRecord | None
    prior: PriorRecord | None
    split: SplitRecord
    preprocessing: PreprocessingRecord | None
    reference: ReferenceRecord | None
    n_rows_total: PositiveCount
    fingerprints: Fingerprints
    versions: Versions
    issued_at: Annotated[str, Limits(pattern=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")]
    version: Annotated[int, Limits(low=1, high=SCHEMA_VERSION)] = SCHEMA_VERSION
    written: Words | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(claim.quantity == "error rate" and claim.given_class is None for claim in self.claims) != 1:
            raise DomainError("claims must hold exactly one bound on the error rate over all rows.")
        parts = (self.network, self.aggregation, self.prior, self.preprocessing)
        if len({part is None for part in parts}) > 1:
            raise DomainError("network, aggregation, prior and preprocessing belong together.")
        for claim in self.claims:
            if (claim.predictor == "classifier") != (self.network is None) or "discarded" in claim.predictor:
                raise DomainError(f"claims cannot speak of {claim.predictor}, which is not what is deployed.")
            if (claim.route == "disagreement") != (self.reference is not None):
                raise DomainError("a disagreement needs its reference, and no other route has one.")

    @property
    def error_rate(self) -> Claim:
        """The bound on the error rate of the classifier that is deployed."""
        return next(c for c in self.claims if c.quantity == "error rate" and c.given_class is None)

    @property
    def linear_loss(self) -> Claim | None:
        """The bound on its expected linear loss, where one is claimed."""
        return next((c for c in self.claims if c.quantity == "linear loss"), None)

    @property
    def expected_loss(self) -> Claim | None:
        """The bound on its expected linear, or other, loss, where one is claimed."""
        return next((c for c in self.claims if c.quantity != "error rate"), None)

    @property
    def class_conditional(self) -> tuple[Claim, ...]:
        """The bounds on the error rate among rows of one class, where they are claimed."""
        return tuple(claim for claim in self.claims if claim.given_class is not None)

    def alternative(self, quantity: str, route: str) -> Claim | None:
        """Return what another route gives, for comparison.

        Parameters
        ----------
        quantity : {"error rate", "linear loss"}
        route : str
            Such as "clopper-pearson"; see `pbgnet.certificates.claim.ROUTES`.
        """
        return next((c for c in self.alternatives if (c.quantity, c.route) == (quantity, route)), None)

    @property
    def statement(self) -> str:
        """The sentence a person reads; its numbers are rounded up."""
        return self._version1().sentences()[0] if self.version == 1 else sentences.statement(self)

    @property
    def predictors(self) -> tuple[str, ...]:
        """Which predictors the numbers speak of, and which they do not, one sentence each."""
        return self._version1().sentences()[1] if self.version == 1 else sentences.predictors(self)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the statement to hold, one sentence each."""
        return self._version1().sentences()[2] if self.version == 1 else sentences.assumptions(self)

    @property
    def seal(self) -> str:
        """The fingerprint of everything else in the certificate.

        It makes `verify` notice a field edited by hand that nothing else depends on, such as a
        description or a version. It is no security: whoever changes a field can make a new seal.
        """
        return fingerprint_json(self._unsealed())

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON-able values, sentences first and the seal last."""
        return {**self._unsealed(), "seal": self.seal}

    def _unsealed(self) -> dict[str, Any]:
        head = {
            "schema": SCHEMA,
            "version": self.version,
            "statement": self.statement,
            "assumptions": list(self.assumptions),
        }
        if self.version == 1:
            return {**head, **self._version1().to_dict()}
        content = super().to_dict()
        del content["written"], content["version"]
        said = {"predictors": list(self.predictors), "comparison": sentences.COMPARISON}
        return {**head, **said, **content}

    def _version1(self) -> Version1:
        return Version1.of(self)

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a certificate of any version from parsed JSON; see `Record.from_dict`."""
        if not isinstance(data, dict):
            return super().from_dict(data, where)  # which says what is wrong
        if absent := [key for key in HEAD if key not in data]:
            raise DamagedFileError(f"The content lacks the key {absent[0]}.")
        schema, version = data["schema"], data["version"]
        if schema != SCHEMA:
            raise DamagedFileError(f"schema must be {SCHEMA!r}, got {schema!r:.60}.")
        if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
            raise DamagedFileError(
                f"version must be 1 to {SCHEMA_VERSION}, got {version!r:.60}. A newer pbgnet may read it."
            )
        if "written" in data:
            raise DamagedFileError("The content has the unknown key written.")
        content = {key: value for key, value in data.items() if key not in HEAD}
        words = {key: data[key] for key in ("statement", "assumptions", "seal")}
        if version == 1:
            old = Version1.from_dict(content, where)
            said = list(old.predictors.to_dict().values())
            written = Words.from_dict({**words, "predictors": said}, where)
            return cls(**old.to_current(), reference=None, version=1, written=written)
        for key in ("predictors", "comparison"):
            if key not in content:
                raise DamagedFileError(f"The content lacks the key {key}.")
        if content.pop("comparison") != sentences.COMPARISON:
            raise DamagedFileError("comparison is not the sentence of this version.")
        words["predictors"] = content.pop("predictors")
        return super().from_dict({**content, "version": version, "written": words}, where)

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
