"""What a monitor keeps between two batches, as JSON: small, read strictly, and tied to one certificate."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pbgnet.exceptions import DamagedFileError
from pbgnet.monitoring.change import ChangeDetector
from pbgnet.monitoring.claims import WatchedClaim
from pbgnet.monitoring.ids import read_fingerprints
from pbgnet.records import LONGEST_LIST, Limits, OpenProbability, Record, Sha256

SCHEMA, VERSION = "pbgnet-monitor", 1


@dataclass(frozen=True)
class WaitingRecord(Record):
    """A row whose label has not arrived: its id, its answer (as Python writes it), its group, if answered."""

    id: str
    answer: str
    group: str | None
    answered: bool


@dataclass(frozen=True)
class MonitorState(Record):
    """The whole state except for the test of change, which is stored separately.

    Attributes
    ----------
    certificate : str
        Seal of the monitored certificate.
    alpha : float
    claims : tuple of WatchedClaim
    waiting : tuple of WaitingRecord
    seen : str
        Fingerprints of the ids of rows that were counted.
    tables : tuple of str
        Fingerprints of the files that were read as a whole.
    """

    certificate: Sha256
    alpha: OpenProbability
    claims: Annotated[tuple[WatchedClaim, ...], Limits(longest=2**16)]
    waiting: tuple[WaitingRecord, ...] = ()
    seen: str = ""
    tables: tuple[Sha256, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fingerprints(self.seen)


MOST_WAITING = LONGEST_LIST
"""Most rows that can wait for their labels."""


def write_state(state: MonitorState, change: ChangeDetector | None) -> str:
    """Return the whole state as JSON text."""
    content = {
        "schema": SCHEMA,
        "version": VERSION,
        **state.to_dict(),
        "change": None if change is None else change.to_dict(),
    }
    return json.dumps(content, ensure_ascii=True, allow_nan=False) + "\n"


def read_state(data: Any) -> tuple[MonitorState, ChangeDetector | None]:
    """Read parsed JSON that `write_state` wrote; raise `DamagedFileError` for anything else."""
    if not isinstance(data, dict) or (data.get("schema"), data.get("version")) != (SCHEMA, VERSION):
        raise DamagedFileError(f"it is not {SCHEMA!r} of version {VERSION}.")
    if "change" not in data:
        raise DamagedFileError("The content lacks the key change.")
    rest = {key: value for key, value in data.items() if key not in ("schema", "version", "change")}
    change = data["change"]
    return MonitorState.from_dict(rest), None if change is None else ChangeDetector.from_dict(change)
