"""What an exported file says about itself: texts beside the graph, readable by every runtime."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Self

from pbgnet.certificates import Certificate, DisagreementSubject, ExportedNetwork, Inputs
from pbgnet.exceptions import DamagedFileError, PBGNetError
from pbgnet.records import parse_json
from pbgnet.validation import check_name, positive_int

FORMAT, FORMAT_VERSION = "pbgnet-onnx", "1"
DTYPES = ("float32", "float64")
FILE_SEAL = "file_fingerprint"
UNSEALED = "0" * 64
# A key and its value in the file: the value is field 2 of its entry (0x12) and 64 (0x40) bytes long.
SEAL = re.compile(FILE_SEAL.encode() + rb"\x12\x40([0-9a-f]{64})")

COVERS = {
    "aggregate": (
        "The certificate covers the vote, which is the label this file predicts, up to "
        "rounding: it may differ from the certified label where two classes tie to within "
        "the precision of the file."
    ),
    "sign": (
        "The certificate covers the vote of the aggregate, not this file, which contains the "
        "plain sign network with the same weights (or the mean of one per member). Certify "
        "this file through its disagreement with the vote."
    ),
}
OF_THIS_FILE = "The certificate covers this file, through its disagreement with a certified vote."
ANSWERS_ALL = (
    " This file predicts a label for every row: to use what is certified about answered "
    "rows, leave out the rows whose score is below the certified threshold."
)
NO_CERTIFICATE = "There is no certificate: nothing is proved about this network."


@dataclass(frozen=True)
class Metadata:
    """What a file contains beside its graph."""

    network: str
    dtype: str
    architecture: str
    inputs: Inputs  # classes, feature names and preprocessor
    numeric_columns: tuple[str, ...] | None  # columns of the input `x`, if the input is a table
    text_columns: tuple[str, ...] | None  # and of the input `text`
    missing_text: str | None  # what means "missing" in `text`
    workspace: int  # numbers the largest layer holds simultaneously for one row
    weights_fingerprint: str  # of the weights in the file; in float64 that of the certificate's posterior
    covers: str  # what the certificate says about this file, and what it does not
    statement: str  # of the certificate; empty without one, like what follows
    seal: str
    certificate: str  # as JSON

    @property
    def exported_network(self) -> ExportedNetwork:
        """What a certificate of exactly this network states about it."""
        return ExportedNetwork(self.network, self.dtype, self.weights_fingerprint, self.inputs.fingerprint())

    def to_texts(self) -> dict[str, str]:
        """Return the entries of the file; its seal has not been set yet."""
        content = self.inputs.to_dict()
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "network": self.network,
            "dtype": self.dtype,
            "architecture": self.architecture,
            "statement": self.statement,
            "covers": self.covers,
            "classes": json.dumps(content["classes"]["values"]),
            "feature_names": json.dumps(content["feature_names"]),
            "numeric_columns": json.dumps(self.numeric_columns),
            "text_columns": json.dumps(self.text_columns),
            "missing_text": json.dumps(self.missing_text),
            "workspace": json.dumps(self.workspace),
            "inputs": json.dumps(content),
            "weights_fingerprint": self.weights_fingerprint,
            "certificate_seal": self.seal,
            "certificate": self.certificate,
            FILE_SEAL: UNSEALED,
        }

    @classmethod
    def from_texts(cls, texts: dict[str, str]) -> Self:
        """Read the entries of a file; raise `DamagedFileError` for anything that `to_texts` did not write."""
        found = texts.get("format"), texts.get("format_version")
        if found != (FORMAT, FORMAT_VERSION):
            raise DamagedFileError(
                f"The file is not {FORMAT!r} of version {FORMAT_VERSION}, but {found[0]!r:.60} of "
                f"version {found[1]!r:.20}."
            )
        try:
            numeric, text = (_columns(texts, key) for key in ("numeric_columns", "text_columns"))
            return cls(
                network=check_name("network", texts["network"], COVERS),
                dtype=check_name("dtype", texts["dtype"], DTYPES),
                architecture=texts["architecture"],
                inputs=Inputs.from_dict(parse_json(texts["inputs"])),
                numeric_columns=numeric,
                text_columns=text,
                missing_text=parse_json(texts["missing_text"]),
                workspace=positive_int("workspace", parse_json(texts["workspace"])),
                weights_fingerprint=texts["weights_fingerprint"],
                covers=texts["covers"],
                statement=texts["statement"],
                seal=texts["certificate_seal"],
                certificate=texts["certificate"],
            )
        except (KeyError, TypeError, ValueError, PBGNetError) as error:
            raise DamagedFileError(f"The description of the file cannot be read: {error!s:.120}") from error


def _columns(texts: dict[str, str], key: str) -> tuple[str, ...] | None:
    """Read the names of columns, or null."""
    names = parse_json(texts[key])
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise DamagedFileError(f"{key} must be a list of texts, or null, got {names!r:.60}.")
    return None if names is None else tuple(names)


def coverage(network: str, certificate: Certificate | None) -> str:
    """Return what a certificate says about an exported network, and what it does not."""
    if certificate is None:
        return NO_CERTIFICATE
    told = OF_THIS_FILE if isinstance(certificate.subject, DisagreementSubject) else COVERS[network]
    return told if certificate.answered_error_rate is None else told + ANSWERS_ALL


def seal_file(content: bytes) -> bytes:
    """Put the fingerprint of a file into the place that `Metadata.to_texts` left for it.

    Like the seal of a certificate, it detects damage and manual changes; it is not a security feature.
    """
    return _with_seal(content, hashlib.sha256(content).hexdigest())


def check_seal(content: bytes) -> None:
    """Raise `DamagedFileError` unless a file is as it was written."""
    found = SEAL.search(content)
    if found is None:
        raise DamagedFileError("The file was not written by pbgnet, or is incomplete.")
    if hashlib.sha256(_with_seal(content, UNSEALED)).hexdigest() != found[1].decode():
        raise DamagedFileError("The file was changed after it was written; export the model again.")


def _with_seal(content: bytes, fingerprint: str) -> bytes:
    found = SEAL.search(content)
    assert found is not None
    return content[: found.start(1)] + fingerprint.encode() + content[found.end(1) :]
