"""The certificate: what was proved, from which numbers, about which predictor, on which rows.

Its JSON form is versioned. The sentences in it are made from its numbers; `verify` compares the
two, so a change of wording is a new version of the schema.
"""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pbgnet.certificates import words
from pbgnet.certificates.fingerprints import fingerprint_json
from pbgnet.certificates.parts import (
    AggregationRecord,
    BoundInputs,
    BoundRecord,
    Fingerprints,
    HeldOutRecord,
    NetworkRecord,
    OpenProbability,
    PositiveCount,
    Predictors,
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
    Versions,
    Words,
)
from pbgnet.certificates.records import Limits, Record, parse_json
from pbgnet.exceptions import DamagedFileError

__all__ = [
    "SCHEMA",
    "SCHEMA_VERSION",
    "AggregationRecord",
    "BoundInputs",
    "BoundRecord",
    "Certificate",
    "Fingerprints",
    "HeldOutRecord",
    "NetworkRecord",
    "Predictors",
    "PreprocessingRecord",
    "PriorRecord",
    "SplitRecord",
    "Versions",
    "Words",
]

SCHEMA = "pbgnet-certificate"
SCHEMA_VERSION = 1
HEAD = ("schema", "version", "statement", "assumptions", "seal")
"""Keys of the JSON form that are made from the others."""


@dataclass(frozen=True)
class Certificate(Record):
    """A proved bound on the risk of a classifier, with all it rests on.

    Made by `issue_certificate`; read with `Certificate.from_json`; checked by `verify`.

    Attributes
    ----------
    confidence, delta : float
        The bound may fail with probability delta = 1 - confidence over the draw of the rows.
    n_priors : int
        Number of priors among which the choice was made; each pays a share of delta.
    delta_per_prior : float
        The share; what the bound was computed with.
    bound, inputs : BoundRecord, BoundInputs
    loss : {"linear"}
    predictors : Predictors
    network, aggregation, prior, split, preprocessing
        What was certified.
    held_out : HeldOutRecord
    n_rows_total : int
        Number of rows of the table given to fit: prior rows, certified rows and any others.
    fingerprints, versions
    issued_at : str
        UTC, ISO 8601.
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
    bound: BoundRecord
    inputs: BoundInputs
    loss: Annotated[str, Limits(choices=("linear",))]
    predictors: Predictors
    network: NetworkRecord
    aggregation: AggregationRecord
    prior: PriorRecord
    split: SplitRecord
    preprocessing: PreprocessingRecord
    held_out: HeldOutRecord
    n_rows_total: PositiveCount
    fingerprints: Fingerprints
    versions: Versions
    issued_at: Annotated[str, Limits(pattern=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")]
    written: Words | None = field(default=None, compare=False, repr=False)

    @property
    def statement(self) -> str:
        """The sentence a person reads; its numbers are rounded up."""
        return words.statement(self.confidence, self.inputs.n, self.bound.value, self.bound.error_rate_bound)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the statement to hold, one sentence each."""
        return words.assumptions(
            self.n_priors,
            self.prior.kind,
            self.preprocessing.status,
            self.preprocessing.description,
            self.split.how,
        )

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
        content = super().to_dict()
        del content["written"]
        head = {"schema": SCHEMA, "version": SCHEMA_VERSION}
        sentences = {"statement": self.statement, "assumptions": list(self.assumptions)}
        return {**head, **sentences, **content}

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a certificate from parsed JSON; see `Record.from_dict`."""
        if not isinstance(data, dict):
            return super().from_dict(data, where)  # which says what is wrong
        if absent := [key for key in HEAD if key not in data]:
            raise DamagedFileError(f"The content lacks the key {absent[0]}.")
        schema, version = data["schema"], data["version"]
        if schema != SCHEMA:
            raise DamagedFileError(f"schema must be {SCHEMA!r}, got {schema!r:.60}.")
        if type(version) is not int or version != SCHEMA_VERSION:
            raise DamagedFileError(
                f"version must be {SCHEMA_VERSION}, got {version!r:.60}. A newer pbgnet may read it."
            )
        if "written" in data:
            raise DamagedFileError("The content has the unknown key written.")
        written = {key: data[key] for key in ("statement", "assumptions", "seal")}
        content = {key: value for key, value in data.items() if key not in HEAD}
        return super().from_dict({**content, "written": written}, where)

    def to_json(self) -> str:
        """Return the certificate as JSON text; floats are written exactly."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a certificate, strictly.

        Raises
        ------
        DamagedFileError
            If the text is not a certificate of this version; the message names the key.
        """
        return cls.from_dict(parse_json(text))
