"""What is stored about finished runs: a line of JSON each, in a file that is always complete."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pbgnet.exceptions import DamagedFileError
from pbgnet.files import locked, write_whole
from pbgnet.records import NonNegative, PositiveCount, Probability, Record, parse_json


@dataclass(frozen=True)
class FinishedRun(Record):
    """A run and its results; see `ComparedRun` for its description.

    Attributes
    ----------
    run : str
        Fingerprint of its description.
    code : str
        Version and fingerprint of the code that ran it.
    certified : float
        Upper bound on the error rate, at 95 %; for several labels, that of rows with any wrong label.
    route : str
        How it is proved.
    test_error : float
    certified_hamming, test_hamming : float or None
        The same for the share of wrong labels, if there are several.
    n_prior, n_certified, n_test : int
        Numbers of rows.
    seconds : float
        Duration of the fit, certificate included.
    machine : str
    finished : str
        Date and time, UTC.
    """

    run: str
    code: str
    certified: Probability
    route: str
    test_error: Probability
    certified_hamming: Probability | None
    test_hamming: Probability | None
    n_prior: PositiveCount
    n_certified: PositiveCount
    n_test: PositiveCount
    seconds: NonNegative
    machine: str
    finished: str


def read_finished(paths: Iterable[Path]) -> list[FinishedRun]:
    """Return the content of files, in their order; a file that does not exist is empty."""
    return [run for path in paths for run in _read(path)]


def append_finished(path: Path, run: FinishedRun) -> None:
    """Add a run to a file; if the process is killed, the file has the run or does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        lines = [json.dumps(one.to_dict()) for one in [*_read(path), run]]
        write_whole(path, "".join(f"{line}\n" for line in lines))


def _read(path: Path) -> list[FinishedRun]:
    if not path.exists():
        return []
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} is not a file of finished runs: it is not text.") from error
    for number, line in enumerate(lines, start=1):
        try:
            found.append(FinishedRun.from_dict(parse_json(line)))
        except DamagedFileError as error:
            raise DamagedFileError(
                f"Line {number} of {path} is not a finished run: {error} Remove the line; the run "
                "will be repeated."
            ) from error
    return found
