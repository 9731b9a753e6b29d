"""What is stored beside a certificate and shown on its page; none of it is part of the proof."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pbgnet.certificates import CertifiedModel, CertifiedPredictions, Claim, count_on_rows
from pbgnet.exceptions import DamagedFileError, DomainError
from pbgnet.files import load_record, read_json, save_record, standing_folder, write_whole
from pbgnet.records import Count, OpenProbability, PositiveCount, Record, Sha256

ABOUT, ABOUT_SCHEMA = "about.json", "pbgnet-about"
TEST_SET, TEST_SCHEMA = "test.json", "pbgnet-test"
COMPARED, COMPARED_SCHEMA = "compared.json", "pbgnet-compared"
HISTORY = "history.json"


class ErrorCount(NamedTuple):
    """Errors of a classifier on a test set, its rows, and how many of them are also in the training table."""

    n_errors: int
    n_rows: int
    n_seen: int = 0

    @property
    def name(self) -> str:
        """The count in words."""
        seen = f", {self.n_seen} of them in the training table" if self.n_seen else ""
        return f"Measured on {self.n_rows} test rows{seen}"


@dataclass(frozen=True)
class About(Record):
    """Texts for the header of a page, from the user.

    Attributes
    ----------
    data : str or None
        Name of the data, for example the file's name.
    contact : str or None
        Whom to ask about the classifier.
    """

    data: str | None = None
    contact: str | None = None


@dataclass(frozen=True)
class TestSet(Record):
    """A count of errors on rows that should not have been used for training or certifying.

    Attributes
    ----------
    n_rows, n_errors : int
    n_seen : int
        Rows whose features are equal to those of a row of the training table.
    model : str
        Fingerprint of the weights that answered, or of the answers if the classifier is not stored.
    """

    __test__ = False  # not a test, despite its name

    n_rows: PositiveCount
    n_errors: Count
    n_seen: Count
    model: str

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_errors", "n_seen"):
            if getattr(self, name) > self.n_rows:
                raise DomainError(
                    f"{name} must be at most n_rows, got {getattr(self, name)} of {self.n_rows}."
                )

    @property
    def counts(self) -> ErrorCount:
        """What is shown beside the bounds."""
        return ErrorCount(self.n_errors, self.n_rows, self.n_seen)

    def payload(self) -> dict[str, int]:
        """Return the counts as plain values."""
        return {"rows": self.n_rows, "errors": self.n_errors, "rows_of_the_training_table": self.n_seen}


@dataclass(frozen=True)
class Comparison(Record):
    """Errors of other classifiers on the same rows: alternatives that are not part of the proof.

    `certificate` is the seal of the certificate they were compared with.
    """

    names: tuple[str, ...]
    n_errors: tuple[Count, ...]
    n_rows: PositiveCount
    delta: OpenProbability
    certificate: Sha256

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.names) != len(self.n_errors) or max(self.n_errors, default=0) > self.n_rows:
            raise DomainError("There must be one count of errors per name, of at most all rows.")

    @property
    def named(self) -> dict[str, Claim]:
        """The bounds by the names of the classifiers."""
        rows = np.arange(self.n_rows)
        counted = zip(self.names, self.n_errors, strict=True)
        return {name: count_on_rows(rows < n_errors, self.delta) for name, n_errors in counted}

    def payload(self) -> list[dict[str, Any]]:
        """Return errors and bounds as plain values."""
        return [
            {"classifier": name, **claim.evidence.to_dict(), "bound": claim.value}
            for name, claim in self.named.items()
        ]


@dataclass(frozen=True, eq=False)
class Kept:
    """Everything that a page shows besides the certificate, the stored files and the table.

    Attributes
    ----------
    about : About
    history : sequence of dict
        The history of the training, as estimators keep it in ``history_``; NaN is left out.
    tested : TestSet or None
    compared : Comparison or None
    """

    about: About = About()
    history: Sequence[Mapping[str, Any]] = ()
    tested: TestSet | None = None
    compared: Comparison | None = None

    @classmethod
    def of_folder(cls, folder: Path, certified: CertifiedModel | CertifiedPredictions) -> "Kept":
        """Read what is stored beside a certificate; records of another certificate are left out."""
        path, certificate = standing_folder(folder), certified.certificate
        tested = load_record(TestSet, path / TEST_SET, TEST_SCHEMA)
        compared = load_record(Comparison, path / COMPARED, COMPARED_SCHEMA)
        if tested is not None and tested.model != identity_of(certified):
            tested = None
        stated = (certificate.seal, certificate.inputs.n)
        if compared is not None and (compared.certificate, compared.n_rows) != stated:
            compared = None
        about = load_record(About, path / ABOUT, ABOUT_SCHEMA)
        history = read_json(path / HISTORY, _records) if (path / HISTORY).is_file() else ()
        return cls(about or About(), history, tested, compared)

    def write(self, folder: Path) -> None:
        """Write all existing records into a folder."""
        if self.about != About():
            save_record(folder / ABOUT, ABOUT_SCHEMA, self.about)
        if self.history:
            write_whole(folder / HISTORY, json.dumps([_finite(record) for record in self.history]) + "\n")
        if self.tested is not None:
            save_record(folder / TEST_SET, TEST_SCHEMA, self.tested)
        if self.compared is not None:
            save_record(folder / COMPARED, COMPARED_SCHEMA, self.compared)


def identity_of(certified: CertifiedModel | CertifiedPredictions) -> str:
    """Return the fingerprint of the weights, or of the answers if the classifier is not stored."""
    subject = certified.certificate.subject
    return str(getattr(subject, "posterior_weights", None) or getattr(subject, "answers", ""))


def _finite(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if isinstance(value, str) or math.isfinite(value)}


def _records(content: object) -> list[dict[str, Any]]:
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise DamagedFileError("it must be a list of records. Remove it.")
    return content
