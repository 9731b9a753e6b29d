"""Recomputing a certificate from the saved model and the data: every step, what it expected and found.

Nothing of training is imported. What cannot be recomputed (that a pre-trained prior saw the prior
rows only, that no further priors were tried) is said in the detail of its step.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from pbgnet.certificates import checks
from pbgnet.certificates.model import CertifiedModel
from pbgnet.certificates.storage import load_model
from pbgnet.exceptions import PBGNetError

__all__ = ["VerificationReport", "VerificationStep", "verify"]


@dataclass(frozen=True)
class VerificationStep:
    """One check.

    Attributes
    ----------
    name : str
    expected : str
        What the certificate says.
    found : str
        What was recomputed; "not computed" where an earlier failure made it impossible.
    ok : bool
    detail : str
        Why it failed, or what the step takes on trust.
    """

    name: str
    expected: str
    found: str
    ok: bool
    detail: str = ""

    def __str__(self) -> str:
        line = f"[{'ok' if self.ok else 'FAILED'}] {self.name}"
        if not self.ok:
            line += f": expected {self.expected}, found {self.found}"
        return f"{line} ({self.detail})" if self.detail else line


@dataclass(frozen=True)
class VerificationReport:
    """All steps of a verification.

    Attributes
    ----------
    steps : tuple of VerificationStep
    """

    steps: tuple[VerificationStep, ...]

    @property
    def ok(self) -> bool:
        """Whether every step succeeded."""
        return all(step.ok for step in self.steps)

    @property
    def failures(self) -> tuple[VerificationStep, ...]:
        """The steps that failed."""
        return tuple(step for step in self.steps if not step.ok)

    def __str__(self) -> str:
        verdict = (
            f"The certificate is verified: {len(self.steps)} steps, all as stated."
            if self.ok
            else f"The certificate is NOT verified: {len(self.failures)} of {len(self.steps)} steps failed."
        )
        return "\n".join([*map(str, self.steps), verdict])


def verify(model: CertifiedModel | str | os.PathLike[str], X: Any, y: ArrayLike) -> VerificationReport:  # noqa: N803
    """Recompute everything a certificate says.

    Parameters
    ----------
    model : CertifiedModel or path
        The model, or the folder it was saved in. A folder that cannot be read fails the first step.
    X : DataFrame, ndarray or scipy sparse matrix, shape (N, d)
        The whole table as it was given to fit.
    y : array_like, shape (N,)
        Its labels, as the user has them.

    Returns
    -------
    VerificationReport
        `str` of it is a list a person can read.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify, verify
    >>> from pbgnet.networks import AggregatedNetwork
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array([1, 0] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify(network, X, y, classes=(0, 1), prior=PriorRecord("zero"),
    ...                 prior_rows=[], certified_rows=range(200))
    >>> report = verify(model, X, y)
    >>> report.ok
    True
    >>> y[5] = 1
    >>> [step.name for step in verify(model, X, y).failures]
    ['data', 'empirical risk', 'error rate', 'held-out comparison']
    """
    read = VerificationStep("files", "a readable model", "a readable model", True)
    if not isinstance(model, CertifiedModel):
        try:
            model = load_model(model)
        except PBGNetError as error:
            read = VerificationStep("files", "a readable model", "a damaged one", False, str(error))
            skipped = [_not_computed(name, "the model could not be read") for name in checks.CHECKS]
            return VerificationReport((read, *skipped))
    subject = checks.Subject(model, X, y)
    return VerificationReport((read, *(_run(name, check, subject) for name, check in checks.CHECKS.items())))


def _run(
    name: str, check: Callable[["checks.Subject"], "checks.Outcome"], subject: "checks.Subject"
) -> VerificationStep:
    """Run one check; an error in it is a failed step, and the other steps go on."""
    try:
        outcome = check(subject)
    except PBGNetError as error:
        return _not_computed(name, str(error))
    except Exception as error:  # a damaged table can fail in any way; the report must still be complete
        return _not_computed(name, f"{type(error).__name__}: {str(error)[:200]}")
    return VerificationStep(name, outcome.expected, outcome.found, outcome.ok, outcome.detail)


def _not_computed(name: str, reason: str) -> VerificationStep:
    return VerificationStep(name, "to be recomputed", "not computed", False, reason)
