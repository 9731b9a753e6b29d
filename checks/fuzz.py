"""``python -m checks.fuzz``: damaged and forged folders are refused, or say and answer what they always did.

Each case changes the files of a genuine folder at random, and may seal the certificate again, as a forger
would. Then the folder is loaded and verified. A fault is an error that is none of ours, a folder that is
verified or loaded and claims or answers something else, or one that takes longer than its time. It is printed
as a line of JSON: put that into the corpus of the tests, and mend the fault.
"""

import argparse
import dataclasses
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from checks.mutations import Change, draw_change, make
from checks.originals import ORIGINALS, Original
from pbgnet.certificates import CertifiedModel, CertifiedPredictions, Claim, load_certified, verify
from pbgnet.exceptions import PBGNetError

PATIENCE = 10.0
"""Seconds of processor time that a folder may take."""


@dataclasses.dataclass(frozen=True)
class Case:
    """Changes to make in the folder of an original."""

    original: str
    changes: list[Change]
    reseal: bool = False

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(dataclasses.asdict(self))


class Fuzzer:
    """Genuine folders, and what comes of changing them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.originals: dict[str, Original] = {name: make_one() for name, make_one in ORIGINALS.items()}
        self.answers = {
            name: answers_of(original.certified, original.data[0])
            for name, original in self.originals.items()
        }
        self.folders = {
            name: original.save(place / "originals" / name) for name, original in self.originals.items()
        }

    def draw(self, rng: random.Random) -> Case:
        """Draw a case: one change as a rule, up to three."""
        name = rng.choice(sorted(self.originals))
        count = rng.choice([1, 1, 1, 2, 3])
        changes = [draw_change(self.folders[name], rng) for _ in range(count)]
        return Case(name, changes, rng.random() < 0.5)

    def outcome(self, case: Case) -> tuple[str, str]:
        """Return what happened, and what is wrong with it; "" if nothing."""
        folder = self.place / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folders[case.original], folder)
        make(case.changes, folder, case.reseal)
        try:
            with time_limit(PATIENCE), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._judge(case.original, folder)
        except Exception as error:
            return "broke", f"{type(error).__name__}: {str(error)[:200]}"

    def _judge(self, name: str, folder: Path) -> tuple[str, str]:
        original = self.originals[name]
        try:
            loaded = load_certified(folder)
        except PBGNetError:
            loaded = None
        if loaded is not None and answers_of(loaded, original.data[0]) != self.answers[name]:
            return "loaded", "it was loaded and answers otherwise"
        try:
            report = verify(folder, *original.data, **original.given)
        except PBGNetError:
            return "refused by verify", ""
        unforeseen = [
            step.detail for step in report.failures if step.detail.startswith(("TypeError", "AttributeError"))
        ]
        if unforeseen:
            return "failed", f"a step met an unforeseen error: {unforeseen[0]}"
        if not report.ok:
            return "not verified" if loaded is None else "loaded, not verified", ""
        found = load_certified(folder, check=False)
        if found.certificate.statement != original.certified.certificate.statement:
            return "verified", f"it was verified and states {found.certificate.statement!r}"
        if answers_of(found, original.data[0]) != self.answers[name]:
            return "verified", "it was verified and answers otherwise"
        if _beside(found) != _beside(original.certified):
            return "verified", f"it was verified with {_beside(found)!r} beside it"
        for stated, genuine in zip(_kept(found), _kept(original.certified), strict=True):
            if stated.value < genuine.value * (1 - 1e-11):
                return "verified", f"it was verified with a bound of {stated.value!r}, not {genuine.value!r}"
        return "verified, the same", ""


def _kept(certified: CertifiedModel | CertifiedPredictions) -> list[Claim]:
    """Return what is claimed or compared and can be recomputed: not of a posterior that was not kept."""
    certificate = certified.certificate
    others = [each for each in certificate.alternatives if not each.discarded]
    return [*certificate.claims, *others]


def _beside(certified: CertifiedModel | CertifiedPredictions) -> tuple[Any, ...]:
    """Return what stands beside the claims, or follows from them."""
    certificate = certified.certificate
    return (
        certificate.yardstick,
        certificate.shortcomings,
        certificate.balanced_error_rate,
        certificate.groups,
        certificate.largest_group_difference,
    )


def answers_of(certified: CertifiedModel | CertifiedPredictions, X: Any) -> str:  # noqa: N803
    """Return all answers, to the last bit."""
    if isinstance(certified, CertifiedModel):
        outputs = np.asarray(certified.decision_function(X))
        return f"{certified.classes}{outputs.tobytes().hex()}{certified.predict(X).tolist()}"
    return f"{certified.classes}{np.asarray(certified.predictions).tolist()}"


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` after some processor time, so that a busy machine does not matter.

    Without a limit where the system has no such alarms.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def read_corpus(path: Path) -> list[Case]:
    """Read cases, one a line."""
    return [Case(**json.loads(line)) for line in path.read_text().splitlines() if line.strip()]


def fuzz(fuzzer: Fuzzer, seconds: float, seed: int) -> tuple[Counter[str], list[str]]:
    """Try cases for a time; return how many came out how, and the faults."""
    rng, until = random.Random(seed), time.monotonic() + seconds
    outcomes, faults = Counter[str](), []
    while time.monotonic() < until:
        case = fuzzer.draw(rng)
        outcome, fault = fuzzer.outcome(case)
        outcomes[outcome] += 1
        if fault:
            faults.append(f"{fault}\n    {case.to_json()}")
    return outcomes, faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Try cases, and return 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m checks.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        outcomes, faults = fuzz(Fuzzer(Path(place)), options.seconds, options.seed)
    for fault in faults:
        print(f"FAULT: {fault}")
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    print(f"{outcomes.total()} folders: {told}; {len(faults)} faults.")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
